"""How sure the best piece answers the question, and when to say that nothing was found.

A logistic function of a few signals, because none of them decides alone: a high cosine finds the right subject without
the answer, and all of a question's words may stand in a passage that answers another one. Fitted on questions about
public encyclopedia passages, with and without the passage that answers, and on the demo corpus; rounded by hand.
"""

import math
from collections.abc import Sequence

from app.reasoning.local.question import Question
from app.reasoning.local.scoring import Candidate, Scale
from app.reasoning.local.terms import EMPTY, Term

FOUND = 0.5
"""Below this a finding counts as not found."""
_CONSTANT = -4.2
_PASSAGE, _OWN, _HEADING, _PAIRS, _KEYED, _RELEVANCE = 3.0, 0.8, 2.4, 5.0, 1.7, 1.8
_FOREIGN_PASSAGE, _FOREIGN = 0.0, 0.9
"""Across languages fewer words can meet: those that do count more, and a constant makes up for the rest."""
_MISFIT, _NAME_MISSING, _SUBJECT_MISSING = -2.2, -1.2, -1.4
_MISSING = 0.6
_SUBJECT_WEIGHT = 0.9
_IRRELEVANT = -1.5
"""For a passage below the operator's own relevance floor."""
_MAX_CONFIDENCE = 0.98


def confidence(question: Question, ranked: Sequence[Candidate], min_relevance_score: float) -> float:
    """How likely the first candidate answers the question, 0–1; 0 without candidates."""
    if not ranked:
        return 0.0
    best, scale = ranked[0], Scale.of(question, ranked)
    about = EMPTY
    for candidate in ranked:
        if candidate.passage.chunk_id == best.passage.chunk_id:
            about = about | candidate.own | candidate.context
    foreign = best.passage.language != question.language
    features = best.features
    signal = (
        _CONSTANT
        + (_PASSAGE + (_FOREIGN_PASSAGE if foreign else 0.0)) * scale.coverage(about)
        + _OWN * (features.own + features.introduced)
        + _HEADING * features.heading
        + _PAIRS * features.pairs
        + _KEYED * features.keyed
        + _MISFIT * features.misfits
        + _RELEVANCE * features.relevance
        + (_FOREIGN if foreign else 0.0)
        + (_IRRELEVANT if features.relevance < min_relevance_score / 2 else 0.0)
        + sum(_NAME_MISSING for term in missing_names(question, about.stems))
        + (
            0.0
            if foreign
            else _SUBJECT_MISSING * any(_is_missing_subject(term, about.concepts) for term in question.terms)
        )
    )
    return min(_MAX_CONFIDENCE, 1 / (1 + math.exp(-signal)))


def missing_names(question: Question, stems: frozenset[str]) -> tuple[Term, ...]:
    """The first name or code of the question (not a bare figure) that does not occur among `stems`; at most one."""
    named = (term for term in question.terms if term.is_name and not all(word.isdigit() for word in term.stems))
    absent = [term for term in named if sum(word in stems for word in term.stems) < _MISSING * len(term.stems)]
    return tuple(absent[:1])


def _is_missing_subject(term: Term, concepts: frozenset[int]) -> bool:
    return term.weight >= _SUBJECT_WEIGHT and bool(term.concepts) and not term.concepts & concepts
