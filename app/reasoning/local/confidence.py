"""How sure the best piece answers the question, and when to say that nothing was found.

A logistic function of a few signals, because none of them decides alone: a high cosine finds the right subject without
the answer, and all of a question's words may stand in a passage that answers another one. Fitted on questions about
public encyclopedia passages, with and without the passage that answers, and on the demo corpus
(``python -m bench.answers --fit`` prints the weights and how they do on the half they were not fitted on).
"""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from app.claims.kinds import is_one_page
from app.reasoning.local.glossary import stem
from app.reasoning.local.question import Question
from app.reasoning.local.scoring import Candidate, Scale, is_foreign
from app.reasoning.local.terms import EMPTY, Bag, Term
from app.text.language import content_words, normalise

FOUND = 0.3
"""Below this a finding counts as not found."""
DOUBTFUL = (0.04, 0.7)
"""Between these, words alone tell too little: the best pieces are compared by embedding."""
_WORD = re.compile(r"[^\W\d_]+")
_MISSING = 0.6
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
    fits: float = 0.0
    misfits: float = 0.0
    holds: float = 0.0
    relevance: float = 0.0
    stands_out: float = 0.0
    """How much nearer to the question the nearest passage is than the next."""
    lead: float = 0.0
    """How far the piece scores above the next best."""
    likeness: float = 0.0
    """Its cosine above the mean of the pieces compared; 0 when none were."""
    names_missing: float = 0.0
    """Share of the question's weight in names and codes that the passage lacks; not judged across languages."""
    rival: float = 0.0
    """1 when the piece names something else where the question has a name that the passage lacks."""
    subject_missing: float = 0.0
    """Share of the question's weight in subjects of the glossary that the passage does not speak of."""


class Weights(NamedTuple):
    """A logistic function."""

    constant: float
    of: Signals


OWN = Weights(
    -5.85,
    Signals(
        around=1.2, heading=1.5, pairs=2.6, keyed=0.7, fits=0.1, misfits=-1.3, holds=0.6,
        relevance=4.7, stands_out=4.0, lead=1.1, likeness=4.1, names_missing=-0.5, rival=-2.0, subject_missing=-3.1,
    ),
)  # fmt: skip
"""Where the best piece is in the question's language. Near what was fitted; `rival` is set by hand: too few of the
questions fitted on have one."""
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
    foreign = is_foreign(question, best)
    names_missing = 0.0 if foreign else _missing_names(scale, about.stems)
    return Signals(
        around=scale.coverage(_together([candidate for candidate in siblings if _adjoin(candidate, best)])),
        heading=features.heading,
        pairs=features.pairs,
        keyed=features.keyed,
        fits=min(1.0, features.fits),
        misfits=features.misfits,
        holds=features.holds,
        relevance=features.relevance,
        stands_out=0.0 if question.folded else _stands_out(ranked, has_all_names=not names_missing),
        lead=min(1.0, max(0.0, best.score - ranked[1].score)) if len(ranked) > 1 else 1.0,
        likeness=best.likeness or 0.0,
        names_missing=names_missing,
        rival=float(not foreign and _names_another(question, best, about.stems)),
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


def _stands_out(ranked: Sequence[Candidate], *, has_all_names: bool) -> float:
    """Of the passages' similarities the highest less the second.

    Where all that was found is one page and its versions, unrelated text takes the place of the second: it lies
    around 0. Not so for a page that lacks a name of the question, nor before its pieces were compared: which of them
    answers is open all the same.
    """
    passages = {candidate.passage.chunk_id: candidate.passage for candidate in ranked}.values()
    nearest, *others = sorted(passages, key=lambda passage: -passage.similarity)
    own = [passage for passage in passages if passage.document_id == nearest.document_id]
    page = {nearest.document_id, *(p.document_id for p in others if any(is_one_page(p, part) for part in own))}
    if all(other.document_id in page for other in others):
        is_told = has_all_names and ranked[0].likeness is not None
        return min(_MOST_APART, max(0.0, nearest.similarity)) if is_told else 0.0
    return nearest.similarity - others[0].similarity


def _missing_names(scale: Scale, stems: frozenset[str]) -> float:
    """Share of the question's weight in names and codes, bare figures apart, that do not occur among `stems`."""
    terms = zip(scale.question.terms, scale.weights, strict=True)
    missing = (w for t, w in terms if t.is_name and not all(map(str.isdigit, t.stems)) and _lacks(stems, t))
    return sum(missing) / (sum(scale.weights) or 1.0)


def _lacks(stems: frozenset[str], term: Term) -> bool:
    return sum(word in stems for word in term.stems) < _MISSING * len(term.stems)


def _names_another(question: Question, candidate: Candidate, stems: frozenset[str]) -> bool:
    """“Văn phòng Hà Nội” for “văn phòng Cần Thơ”, “the Leeds office” for “the Bath office”: the same word beside
    another name."""
    asked = {(side, word) for side, word, name in _beside_names(question.text) if stem(name.lower()) not in stems}
    return any((side, word) in asked for side, word, _ in _beside_names(candidate.unit.text))


def _beside_names(text: str) -> Iterator[tuple[int, str, str]]:
    """(-1 or 1: before or after, word, name) for every telling word beside a name; sentences' first words are none."""
    tokens = _WORD.findall(normalise(text))
    for at, (one, other) in enumerate(pairwise(tokens)):
        if other[:1].isupper() and one.islower() and content_words(one):
            yield -1, stem(one), other
        if at and one[:1].isupper() and other.islower() and content_words(other):
            yield 1, stem(other), one


def _missing_subjects(scale: Scale, about: Bag) -> float:
    """Share of the question's weight in phrases that name a subject, as far as neither they nor synonyms are there."""
    terms = zip(scale.question.terms, scale.weights, strict=True)
    missing = (w for t, w in terms if t.weight >= _SUBJECT_WEIGHT and t.concepts and not t.concepts & about.concepts)
    return sum(missing) / (sum(scale.weights) or 1.0)
