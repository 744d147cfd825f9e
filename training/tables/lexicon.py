"""What is learnt of words, and how the words of a question are looked at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.tables.sheet import Column
from training.tables.anchors import Anchor, Anchors
from training.tables.spelling import Token, likeness, tokens

Numbers = npt.NDArray[np.float64]
OPERATIONS = (
    "rows", "count", "distinct", "sum", "average", "rows most", "rows least", "count by", "sum by", "average by",
    "by most", "by least", "share", "difference",
)  # fmt: skip
SIGNS = ("none", "in", "not in", "between", "=", ">", ">=", "<", "<=")
ATTRIBUTES = {
    "how": ("rows", "count", "distinct", "sum", "average", "share", "difference"), "order": ("", "most", "least"),
    "grouped": ("no", "yes"),
}  # fmt: skip
"""What a query does, one by one."""
STATES = ("not", "empty", "filled", "columns", "weak", "number", "time", "value")
"""Kinds of anchors a question may state."""
ROLES = ("measure", "group", "filter", "shown")


VECTOR_SCALE = 6.0
"""Of vectors beside words that are there or not."""
Scorer = Callable[[Numbers], Numbers]
"""Rows of figures to log odds."""


class Named(NamedTuple):
    """How a question names a column by its words."""

    covered: float
    """Share of the name that is said."""
    alike: float
    places: frozenset[int]
    heavy: float
    """Weight of the words of the question that stand in the name."""


@dataclass(frozen=True)
class Lexicon:
    """What was learnt of words."""

    ngrams: Mapping[str, int]
    operations: Numbers
    """Shape (n-grams + dimensions + 1, operations)."""
    attributes: Mapping[str, Numbers]
    """Of each of `ATTRIBUTES`, as `operations`."""
    contexts: Mapping[str, int]
    signs: Numbers
    places: Numbers
    """Shape (contexts + 1, roles): what the words around the name of a column say of it."""
    states: Numbers
    """Shape (n-grams + dimensions + 1, states)."""
    pairs: Mapping[str, float]
    """Log odds that a word of a question speaks of a column with a word in its name."""
    rarity: Mapping[str, float]
    """0 of words that stand in questions to every file; words that are not there are 1."""

    def rare(self, token: Token) -> float:
        """How much a word says about one file only, 0–1."""
        return self.rarity.get(token.key, 1.0)


@dataclass(frozen=True)
class Likeness:
    """What vectors say: of the question itself, with the columns, with cells of columns of few different ones."""

    question: Numbers
    columns: Numbers
    cells: Mapping[tuple[int, str], float]


def words_of(column: Column) -> list[Token]:
    """The words of a column's name."""
    return tokens(column.name.replace("_", " "))


def masked(anchors: Anchors) -> list[str]:
    """The words of a question with cells, numbers and times as such."""
    words = [token.key for token in anchors.said]
    for one in anchors.values:
        if one.quality * one.spelling > 0.8:
            for at in one.places:
                words[at] = "<v>"
    for places, _ in anchors.numbers:
        for at in places:
            words[at] = "<n>"
    for one in anchors.times:
        for at in one.places:
            words[at] = "<t>"
    return [word for at, word in enumerate(words) if not (at and word.startswith("<") and words[at - 1] == word)]


def ngrams_of(anchors: Anchors) -> list[str]:
    """One to three words in a row of a masked question."""
    words = ["^", *masked(anchors), "$"]
    return [" ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words) - size + 1)]


def by_vector(near: Likeness, weights: Numbers) -> Numbers:
    """The scores that the vector of a question gets; none without one."""
    return (
        np.asarray((near.question * VECTOR_SCALE) @ weights) if len(near.question) > 1 else np.zeros(weights.shape[1])
    )


def states_of(anchors: Anchors, near: Likeness, lexicon: Lexicon) -> Numbers:
    """Log odds of each of `STATES`."""
    return by_words(anchors, near, lexicon, lexicon.states)


def by_words(anchors: Anchors, near: Likeness, lexicon: Lexicon, weights: Numbers) -> Numbers:
    """The scores that the words and the vector of a question get by some weights."""
    count = len(lexicon.ngrams)
    score = dotted(lexicon.ngrams, weights[:count], ngrams_of(anchors)) + weights[-1]
    return np.asarray(score + by_vector(near, weights[count:-1]))


def context_of(anchors: Anchors, one: Anchor) -> list[str]:
    """The words around an anchor, by kind of anchor."""
    said = [token.key for token in anchors.said]
    return words_around("value" if one.kind == "not" else one.kind, said, min(one.places), max(one.places))


def words_around(kind: str, said: Sequence[str], first: int, last: int) -> list[str]:
    """The words before, in and behind some places, with the kind of what stands there."""
    before, behind = said[max(first - 4, 0) : first], said[last + 1 : last + 4]
    around = [f"-{at} {word}" for at, word in enumerate(reversed(before), 1)]
    around += [f"+{at} {word}" for at, word in enumerate(behind, 1)]
    around += [f"- {word}" for word in before] + [f"+ {word}" for word in behind]
    around += [f"-- {' '.join(before[-2:])}", f"++ {' '.join(behind[:2])}", f"--- {' '.join(before[-3:])}"]
    inside = said[first : last + 1]
    around += [f"i {word}" for word in inside if not word[:1].isdigit()] if kind in ("number", "time") else []
    return [f"{kind} {word}" for word in (*around, "")]


def dotted(index: Mapping[str, int], weights: Numbers, words: Sequence[str]) -> Numbers:
    """The sum of the weights of some words."""
    at = [index[word] for word in dict.fromkeys(words) if word in index]
    return np.asarray(weights[at].sum(axis=0))


def log_softmax(scores: Numbers) -> Numbers:
    """Log probabilities."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def named(anchors: Anchors, column: Column, weights: Mapping[str, float], lexicon: Lexicon) -> Named:
    """How the question names a column; `weights` of the words of headers."""
    words = words_of(column)
    total, score, places, alike = 0.0, 0.0, set[int](), 1.0
    for word in words:
        weight = weights.get(word.key, 1.0)
        total += weight
        like, at = max(((likeness(token, word), -at) for at, token in enumerate(anchors.said)), default=(0.0, 0))
        if like > 0:
            score += weight * like
            alike = min(alike, like)
            places.add(-at)
    heavy = sum(lexicon.rare(anchors.said[at]) + 0.2 for at in places)
    return Named(score / total if total else 0.0, alike, frozenset(places), heavy)


def pair_score(anchors: Anchors, column: Column, lexicon: Lexicon) -> tuple[float, float]:
    """What words of the question say about words of a column's name: the best pair, and the sum of the best ones."""
    best = [
        max((lexicon.pairs.get(f"{token.key} {word.key}", 0.0) for word in words_of(column)), default=0.0)
        for token in anchors.said
    ]
    return max(best, default=0.0), float(sum(sorted(best)[-3:]))
