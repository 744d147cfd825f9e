"""How much each leg of a search counts, and in which order the service shows what both found.

Words of a question without diacritics are compared folded; between languages words do not meet, so the vector's place
counts for both legs. What is shown is ordered by relevance and places: ``bench/retrieval.py``
measures that either alone is worse.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from app.domain.knowledge import Language
from app.retrieval.text import Question, Term, TermStatistics
from app.storage.search import Hit
from app.storage.search.statements import MATCHES_RANKED, VectorLeg

RANK_CONSTANT = 60
"""The usual k of reciprocal-rank fusion: with many candidates a hit of both legs beats the first of one."""
_SHOWN_CONSTANT = 5
"""The same for the order shown, where the first few places matter."""
_PLACES = 30.0
"""What the places weigh beside the log odds of relevance: the first of both legs gains 10, the fifth 6."""
_ACROSS = 0.5
"""What the vector's place counts for the words of a chunk in the other language."""


class Legs(NamedTuple):
    """Weights of the two legs for one question."""

    vector: float
    text: float
    other_language: Language | None
    """Chunks in this language share no words with the question: their vector place counts for both legs."""
    is_folded: bool

    def named(self) -> dict[str, float]:
        """As a search plan reports them."""
        return {"vector": self.vector, "folded" if self.is_folded else "text": self.text}


def legs_of(question: Question) -> Legs:
    """The weights that were measured best for this kind of question."""
    return Legs(1.0, 1.0, "en" if question.language == "vi" else "vi", question.is_unaccented)


def best_first(candidates: Sequence[Hit], relevances: Sequence[float], legs: Legs) -> list[int]:
    """Indices of `candidates` in the order they are shown; `relevances` belong to them. Equals stay as they are."""
    by_vector = _places([one.similarity for one in candidates])
    by_text = _places([one.text_rank for one in candidates])

    def strength(at: int) -> float:
        one = candidates[at]
        near = 1 / (_SHOWN_CONSTANT + by_vector[at])
        said = 1 / (_SHOWN_CONSTANT + by_text[at]) if one.text_rank else 0.0
        if one.language == legs.other_language:
            said = _ACROSS * near
        elif not legs.is_folded:
            # First among the words says little where few of the question's words were found at all.
            said *= one.coverage
        return _log_odds(relevances[at]) + _PLACES * (legs.vector * near + legs.text * said)

    return sorted(range(len(candidates)), key=strength, reverse=True)


def _places(strengths: Sequence[float]) -> list[int]:
    """Place of each, 1 for the strongest."""
    places = [0] * len(strengths)
    for place, at in enumerate(sorted(range(len(strengths)), key=lambda at: -strengths[at]), 1):
        places[at] = place
    return places


def _log_odds(relevance: float) -> float:
    kept = min(max(relevance, 1e-9), 1 - 1e-9)
    return math.log(kept / (1 - kept))


_EXACT_US_A_CHUNK = 0.9
"""Comparing one more visible chunk."""
_WALK_US, _WALKED_CHUNK_US = 1_500.0, 11.0
"""Entering an index, and looking at one of its chunks, visible or not."""
_WORD_MATCHES = 500
"""Chunks whose words are worth ranking: more cost more and change nothing among the first."""
_PAIRED_WORDS = 8
"""The heaviest words, of which any two together find a chunk where single ones stand in too many."""

Clause = tuple[str, ...]
"""Words that must stand in a chunk together."""


def vector_leg(visible: int, indexed_chunks: int | None, candidates: int) -> VectorLeg:
    """The cheaper way to the nearest `candidates` of `visible` chunks: who may see few of an index would walk past the
    others."""
    if indexed_chunks is None or not visible:
        return "exact"
    walked = candidates * max(1.0, indexed_chunks / visible)
    walking = _WALK_US + _WALKED_CHUNK_US * walked
    return "ann" if walking < _EXACT_US_A_CHUNK * visible else "exact"


def telling_clauses(terms: Sequence[tuple[Term, float]], statistics: TermStatistics, visible: int) -> list[Clause]:
    """What to find chunks by: any word of `terms`, or the heaviest words and pairs where they stand in too many
    chunks."""
    words = [(term.words[0], weight) for term, weight in terms if len(term.words) == 1]
    expected = {word: statistics.share(word) * visible for word, _ in words}
    if visible <= MATCHES_RANKED or sum(expected.values()) <= _WORD_MATCHES:
        return [(word,) for word, _ in words]
    pairs = combinations(words[:_PAIRED_WORDS], 2)
    by_weight: list[tuple[float, Clause]] = [(weight, (word,)) for word, weight in words]
    by_weight += [(one[1] + other[1], (one[0], other[0])) for one, other in pairs]
    chosen: list[Clause] = []
    matches = 0.0
    for _, clause in sorted(by_weight, key=lambda pair: -pair[0]):
        matches += visible * math.prod(expected[word] / visible for word in clause)
        if chosen and matches > _WORD_MATCHES:
            break
        chosen.append(clause)
    return chosen
