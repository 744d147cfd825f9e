"""Answering one query from its passages, in their own words, or saying that they do not hold the answer."""

import re
from collections.abc import Sequence

from app.domain.evidence import evidence_of
from app.domain.knowledge import Finding, Quote
from app.embedding import Embedder
from app.reasoning import AnswerRequest
from app.reasoning.local.confidence import DOUBTFUL, FOUND, confidence
from app.reasoning.local.formula import formulas_in
from app.reasoning.local.likeness import compared, may_be_foreign
from app.reasoning.local.phrases import NOTHING_FROM, TAKEN_FROM, titles_of
from app.reasoning.local.question import Question, further_parts, read_question
from app.reasoning.local.rendering import render
from app.reasoning.local.scoring import Candidate, candidates_of, scored
from app.reasoning.local.selection import select

_EXAMPLE = re.compile(r"ví dụ|example", re.IGNORECASE)
_FORMULA_AMONG = 20
_AS_MUCH = 0.6
"""Share of what the best piece mentions of the question that a formula must mention too, to be the one asked for."""


async def answer(request: AnswerRequest, embedder: Embedder) -> Finding:
    """The finding of one query; embeds pieces of passages only across languages or when words tell too little."""
    question, ranked = await best_pieces(request, embedder)
    sure = confidence(question, ranked, request.min_relevance_score)
    quotes = quotes_of(question, ranked) if sure >= FOUND else ()
    titles = list(dict.fromkeys(quote.passage.title for quote in quotes))
    told = TAKEN_FROM[request.language].format(titles=titles_of(titles, request.language))
    return Finding(
        agent=request.agent,
        index=request.index,
        query=request.query,
        context=told if quotes else NOTHING_FROM[request.language],
        answer=render(quotes),
        found=bool(quotes),
        confidence=round(sure, 3),
        quotes=quotes,
        evidence=evidence_of(quotes),
    )


async def best_pieces(request: AnswerRequest, embedder: Embedder) -> tuple[Question, list[Candidate]]:
    """The question as it was read, and the pieces of its passages, best first."""
    question = read_question(request.query, request.language)
    ranked = _formula_first(question, scored(question, candidates_of(request.passages, question)))
    if may_be_foreign(question, ranked) or _words_tell_too_little(question, ranked, request.min_relevance_score):
        ranked = await compared(question, request.query, ranked, embedder)
    return question, _formula_first(question, ranked)


def _words_tell_too_little(question: Question, ranked: Sequence[Candidate], min_relevance_score: float) -> bool:
    """Whether it is open that the best piece answers; vectors do not see whether a range holds the asker's amount."""
    if not ranked or ranked[0].features.holds:
        return False
    return DOUBTFUL[0] < confidence(question, ranked, min_relevance_score) < DOUBTFUL[1]


def quotes_of(question: Question, ranked: Sequence[Candidate]) -> tuple[Quote, ...]:
    """The spans an answer is made of, whether or not they are sure enough to be given."""
    return select(question, ranked, _further(question, ranked))


def _further(question: Question, ranked: Sequence[Candidate]) -> list[Candidate]:
    """The best piece for each further thing the question asks (“…, and until when?”), among the same passages."""
    if not ranked:
        return []
    parts = [scored(part, ranked)[0] for part in further_parts(question)]
    return [*parts, *_worked_example(question, ranked)]


def _formula_first(question: Question, ranked: list[Candidate]) -> list[Candidate]:
    """Who asks how something is calculated gets the formula itself before any example of it."""
    if question.kind != "formula":
        return ranked
    near = ranked[:_FORMULA_AMONG]
    least = _AS_MUCH * max((candidate.features.share for candidate in near), default=0.0)
    about = (candidate for candidate in near if candidate.features.share >= least)
    named = [c for c in about if any(f.is_named for f in formulas_in(c.unit.text, question.language))]
    return [*named[:1], *(c for c in ranked if c not in named[:1])]


def _worked_example(question: Question, ranked: Sequence[Candidate]) -> list[Candidate]:
    """Beside a formula, the example of the same document that shows it."""
    if question.kind != "formula":
        return []
    shown = [
        candidate
        for candidate in ranked
        if candidate.passage.document_id == ranked[0].passage.document_id
        and any(not formula.is_named for formula in formulas_in(candidate.unit.text, question.language))
    ]
    called = [candidate for candidate in shown if _EXAMPLE.search(candidate.unit.heading)]
    return sorted(called or shown, key=lambda candidate: (candidate.rank, candidate.unit.start))[:1]
