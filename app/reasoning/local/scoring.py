"""How well each quotable piece of the passages answers a question.

A piece is measured on a dozen plain features and scored by their weighted sum. The weights were fitted on questions
about public encyclopedia passages and on the demo corpus (``bench/fit_scoring.py``) and rounded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from app.domain.knowledge import Language, Passage
from app.reasoning.local.numbers import Amount, amounts_in, ranges_in, strictly
from app.reasoning.local.question import Question, fits
from app.reasoning.local.sentences import Unit, bare_heading, units_of, with_heading
from app.reasoning.local.terms import EMPTY, Bag, bag_of, coverage, rarity, terms_of


class Features(NamedTuple):
    """What is measured on a piece; 0–1 unless said otherwise."""

    own: float = 0.0
    """Share of the question's weight the piece mentions itself."""
    introduced: float = 0.0
    """What the header or introduction of its table or list adds to that."""
    share: float = 0.0
    """Share mentioned by the piece and everything above it, title included."""
    pairs: float = 0.0
    """Share of the question's neighbouring words that stand side by side here too."""
    heading: float = 0.0
    """How far the heading above asks the same as the question."""
    opens: float = 0.0
    """`heading` again for the first piece under it."""
    fits: float = 0.0
    """Its shape is what the question asks for: a figure, a person, steps."""
    misfits: float = 0.0
    """Its shape cannot answer the question."""
    keyed: float = 0.0
    """The question names the row's or item's label."""
    holds: float = 0.0
    """It states a range that holds the amount the asker gave."""
    fails: float = 0.0
    """It states a range that does not."""
    introduction: float = 0.0
    relevance: float = 0.0
    """Of its passage."""
    rank: float = 0.0
    """1 for the first passage found, 1/2 for the second …"""


NOTHING_MEASURED = Features()
WEIGHTS = Features(
    own=0.31, introduced=0.36, share=0.60, pairs=0.45, heading=0.22, opens=0.17, fits=0.12, misfits=-0.32, keyed=0.28,
    holds=0.27, fails=-0.28, introduction=-0.18, relevance=0.36, rank=0.25,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit of a passage with what was measured on it."""

    passage: Passage
    rank: int
    """0-based position of its passage among those found."""
    unit: Unit
    opens_section: bool
    """Whether it is the first piece under its heading."""
    own: Bag
    context: Bag
    """Heading, section, title, introducing sentence, table header."""
    features: Features = NOTHING_MEASURED
    score: float = 0.0
    likeness: float | None = None
    """Cosine to the question above the mean of the pieces compared with it; None when this one was not."""

    @property
    def merit(self) -> float:
        """The score without what it owes to its passage: comparable between passages, positive when it says a thing."""
        passage = WEIGHTS.relevance * self.features.relevance + WEIGHTS.rank * self.features.rank
        return max(self.score - passage, 0.01)


_LABEL_WORDS = 6
_DECISIVE = 6.0
"""Who asks for a formula wants one, not talk about it."""


def is_foreign(question: Question, candidate: Candidate) -> bool:
    """Whether a piece is in another language than the question."""
    return candidate.passage.language != question.language


def candidates_of(passages: Sequence[Passage], question: Question) -> list[Candidate]:
    """Every unit of every passage, unscored, in passage order."""
    found: list[Candidate] = []
    for rank, passage in enumerate(passages):
        heading = None
        for bare in units_of(passage.text):
            unit = with_heading(bare, passage.section or passage.title)
            own, context = bag_of(unit.text, question.folded), _context(passage, unit, question)
            found.append(Candidate(passage, rank, unit, unit.heading != heading, own, context))
            heading = unit.heading
    return found


def _context(passage: Passage, unit: Unit, question: Question) -> Bag:
    parts = (unit.heading, passage.section, passage.title, unit.lead, " ".join(unit.header))
    bag = EMPTY
    for part in dict.fromkeys(part for part in parts if part):
        bag = bag | bag_of(part, question.folded)
    return bag


def scored(question: Question, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with their scores, best first; ties keep passage order."""
    scale = Scale.of(question, candidates)
    measured = [replace(candidate, features=_features(scale, candidate)) for candidate in candidates]
    judged = [replace(candidate, score=weigh(candidate.features)) for candidate in measured]
    return sorted(judged, key=lambda candidate: -candidate.score)


def weigh(features: Features) -> float:
    """The weighted sum of the features."""
    return sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))


@dataclass(frozen=True, slots=True)
class Scale:
    """What the pieces of one search are measured against."""

    question: Question
    weights: tuple[float, ...]
    """Of the question's terms: rarer among these pieces weighs more."""
    pairs: dict[tuple[str, str], float]
    """Weight of the question's neighbouring words."""
    conditions: tuple[Amount, ...]
    """Amounts the asker states (“nghỉ 4 ngày”, “£8,000”): a range that holds them is the right row. A little beyond
    themselves after “more than” and “less than”: row “3 to 5 days” is not “over 5”."""

    @classmethod
    def of(cls, question: Question, candidates: Sequence[Candidate]) -> "Scale":
        """Weigh the question's words by how few of the candidates speak of them."""
        bags = [candidate.own | candidate.context for candidate in candidates]
        size = len(bags) + 1
        pairs = {pair: math.log(size / (1 + sum(pair in bag.pairs for bag in bags))) for pair in question.bag.pairs}
        stated = tuple(amount for amount in amounts_in(question.text, question.language) if amount.unit)
        bounds = tuple(strictly(question.text, amount) for amount in stated)
        return cls(question, rarity(question.terms, bags), pairs, bounds)

    def coverage(self, bag: Bag) -> float:
        """Share of the question's weight that `bag` mentions, 0–1."""
        return coverage(self.question.terms, self.weights, bag)

    def pair_share(self, bag: Bag) -> float:
        """Share of the question's neighbouring words that stand side by side in `bag` too, 0–1."""
        total = sum(self.pairs.values())
        return sum(weight for pair, weight in self.pairs.items() if pair in bag.pairs) / total if total > 0 else 0.0


def _features(scale: Scale, candidate: Candidate) -> Features:
    question, unit = scale.question, candidate.unit
    own = scale.coverage(candidate.own)
    lead = bag_of(f"{unit.lead} {' '.join(unit.header)}", question.folded)
    heading = _heading_match(scale, unit.heading, candidate.passage.title)
    fit = fits(question, unit)
    holds, fails = _range_verdict(scale, unit, candidate.passage)
    return Features(
        own=own,
        introduced=0.0 if unit.kind == "sentence" else scale.coverage(candidate.own | lead) - own,
        share=scale.coverage(candidate.own | candidate.context),
        pairs=scale.pair_share(candidate.own),
        heading=heading,
        opens=heading if candidate.opens_section else 0.0,
        fits=max(fit, 0.0) * (_DECISIVE if question.kind == "formula" else 1.0),
        misfits=max(-fit, 0.0),
        keyed=_keyed(scale, unit),
        holds=holds,
        fails=fails,
        introduction=float(unit.text.rstrip("* ").endswith(":")),
        relevance=candidate.passage.relevance_score,
        rank=1 / (1 + candidate.rank),
    )


def _heading_match(scale: Scale, heading: str, title: str) -> float:
    """How far a heading asks the same as the question, 0–1; the document's title may supply the subject."""
    bare = bare_heading(heading)
    if not bare:
        return 0.0
    folded = scale.question.folded
    forward = scale.coverage(bag_of(bare, folded) | bag_of(title, folded))
    terms = terms_of(bare, folded)
    backward = coverage(terms, [term.weight for term in terms], scale.question.bag)
    return 2 * forward * backward / (forward + backward) if forward and backward else 0.0


def _keyed(scale: Scale, unit: Unit) -> float:
    """Share of a row's first cell, or of what stands before an item's colon, that the question names."""
    label = unit.cells[0] if unit.kind == "row" and unit.cells else unit.text.partition(":")[0]
    if unit.kind == "sentence" or label == unit.text or len(label.split()) > _LABEL_WORDS:
        return 0.0
    terms = terms_of(label, scale.question.folded)
    return coverage(terms, [term.weight for term in terms], scale.question.bag)


def _range_verdict(scale: Scale, unit: Unit, passage: Passage) -> tuple[float, float]:
    """(1, 0) when the piece states an amount of the asker or a range that holds it, (0, 1) when it excludes them."""
    if not scale.conditions:
        return 0.0, 0.0
    text = unit.cells[0] if unit.kind == "row" and unit.cells else unit.text
    language: Language = "en" if passage.language == "en" else "vi"
    is_row = unit.kind == "row"
    judged = [
        found.holds(amount)
        for amount in scale.conditions
        for found in ranges_in(text, language)
        if found.unit == amount.unit or (is_row and not found.unit)
    ]
    if not judged:
        stated = {(amount.value, amount.unit) for amount in amounts_in(text, language)}
        return float(any((amount.value, amount.unit) in stated for amount in scale.conditions)), 0.0
    return (1.0, 0.0) if any(judged) else (0.0, 1.0)
