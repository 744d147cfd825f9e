"""How sure the best piece answers the question, and when to say that nothing was found.

A logistic function of a few signals, because none of them decides alone: a high cosine finds the right subject without
the answer, and all of a question's words may stand in a passage that answers another one. Fitted on questions about
public encyclopedia passages, with and without the passage that answers, and on the demo corpus
(``python -m bench.answers --fit`` prints the weights and how they do on the half they were not fitted on).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.claims.kinds import is_one_page
from app.reasoning.local.question import Question
from app.reasoning.local.scoring import Candidate, Scale, is_foreign
from app.reasoning.local.terms import EMPTY, Bag

FOUND = 0.3
"""Below this a finding counts as not found."""
DOUBTFUL = (0.04, 0.7)
"""Between these, words alone tell too little: the best pieces are compared by embedding."""
_MOST_APART = 0.3
"""How far a page stands out at most where there is no other; one in twenty stands out further from others."""
_SUBJECT_WEIGHT = 0.9
_ADJACENT = 6
"""Characters at most between the end of a sentence and the next one."""
_IRRELEVANT = -1.5
"""For a passage below the operator's own relevance floor."""
STEEPNESS = 1.15
"""The ridge of the fit, and kinds of text that differ, leave the odds a little too near to even."""
_MAX_CONFIDENCE = 0.95
"""About one in twenty of the surest answers says something else than was asked."""


class Signals(NamedTuple):
    """What speaks for and against the first candidate; 0–1 unless said otherwise."""

    around: float = 0.0
    """Share of the question's weight mentioned by the piece, the ones before and after it and everything above."""
    heading: float = 0.0
    pairs: float = 0.0
    keyed: float = 0.0
    misfits: float = 0.0
    holds: float = 0.0
    relevance: float = 0.0
    stands_out: float = 0.0
    """How much nearer to the question the nearest passage is than the next."""
    lead: float = 0.0
    """How far the piece scores above the next best."""
    likeness: float = 0.0
    """Its cosine above the mean of the pieces compared; 0 when none were."""
    subject_missing: float = 0.0
    """Share of the question's weight in subjects of the glossary that the passage does not speak of."""


class Weights(NamedTuple):
    """A logistic function."""

    constant: float
    of: Signals


OWN = Weights(
    -5.85,
    Signals(
        around=1.2, heading=1.5, pairs=2.6, keyed=0.7, misfits=-1.3, holds=0.6,
        relevance=4.7, stands_out=4.0, lead=1.1, likeness=4.1, subject_missing=-3.1,
    ),
)  # fmt: skip
"""Where the best piece is in the question's language. Near what was fitted."""
ACROSS = Weights(
    -4.9,
    Signals(
        around=0.8, heading=0.7, misfits=-1.2, relevance=5.1, stands_out=5.0, lead=0.7, likeness=5.4,
        subject_missing=-1.2,
    ),
)  # fmt: skip
"""Where it is in the other language and words cannot tell. Set by hand near what was fitted, flatter and lower: the fit
leans on two signals, and some passage of the other language is near to most questions that nobody answers."""


def confidence(question: Question, ranked: Sequence[Candidate], min_relevance_score: float) -> float:
    """How likely the first candidate answers the question, 0–1; 0 without candidates."""
    if not ranked:
        return 0.0
    signals = signals_of(question, ranked)
    weights = ACROSS if is_foreign(question, ranked[0]) else OWN
    odds = weights.constant + sum(weight * value for weight, value in zip(weights.of, signals, strict=True))
    if signals.relevance < min_relevance_score / 2:
        odds += _IRRELEVANT
    return min(_MAX_CONFIDENCE, 1 / (1 + math.exp(-STEEPNESS * odds)))


def signals_of(question: Question, ranked: Sequence[Candidate]) -> Signals:
    """The signals of the first of at least one candidate."""
    best, scale = ranked[0], Scale.of(question, ranked)
    features = best.features
    siblings = [candidate for candidate in ranked if candidate.passage.chunk_id == best.passage.chunk_id]
    about = _together(siblings)
    return Signals(
        around=scale.coverage(_together([candidate for candidate in siblings if _adjoin(candidate, best)])),
        heading=features.heading,
        pairs=features.pairs,
        keyed=features.keyed,
        misfits=features.misfits,
        holds=features.holds,
        relevance=features.relevance,
        stands_out=0.0 if question.folded else _stands_out(ranked),
        lead=min(1.0, max(0.0, best.score - ranked[1].score)) if len(ranked) > 1 else 1.0,
        likeness=best.likeness or 0.0,
        subject_missing=_missing_subjects(scale, about),
    )


def _together(candidates: Sequence[Candidate]) -> Bag:
    bag = EMPTY
    for candidate in candidates:
        bag = bag | candidate.own | candidate.context
    return bag


def _adjoin(one: Candidate, other: Candidate) -> bool:
    """Whether one is the other, or the piece right before or after it."""
    return max(one.unit.start - other.unit.end, other.unit.start - one.unit.end) <= _ADJACENT


def _stands_out(ranked: Sequence[Candidate]) -> float:
    """Of the passages' similarities the highest less the second.

    Where all that was found is one page and its versions, unrelated text takes the place of the second: it lies
    around 0. Not so before its pieces were compared: which of them answers is open all the same.
    """
    passages = {candidate.passage.chunk_id: candidate.passage for candidate in ranked}.values()
    nearest, *others = sorted(passages, key=lambda passage: -passage.similarity)
    own = [passage for passage in passages if passage.document_id == nearest.document_id]
    page = {nearest.document_id, *(p.document_id for p in others if any(is_one_page(p, part) for part in own))}
    if all(other.document_id in page for other in others):
        return min(_MOST_APART, max(0.0, nearest.similarity)) if ranked[0].likeness is not None else 0.0
    return nearest.similarity - others[0].similarity


def _missing_subjects(scale: Scale, about: Bag) -> float:
    """Share of the question's weight in phrases that name a subject, as far as neither they nor synonyms are there."""
    terms = zip(scale.question.terms, scale.weights, strict=True)
    missing = (w for t, w in terms if t.weight >= _SUBJECT_WEIGHT and t.concepts and not t.concepts & about.concepts)
    return sum(missing) / (sum(scale.weights) or 1.0)
