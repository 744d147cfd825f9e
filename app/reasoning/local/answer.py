"""Answering one query from its passages, in their own words, or saying that they do not hold the answer."""

import re
from collections.abc import Sequence

from app.domain.knowledge import Evidence, Finding, Quote
from app.embedding import Embedder, EmbeddingUnavailable
from app.reasoning import AnswerRequest
from app.reasoning.local.confidence import FOUND, confidence
from app.reasoning.local.formula import formulas_in
from app.reasoning.local.phrases import NOTHING_FROM, TAKEN_FROM, titles_of
from app.reasoning.local.question import Question, further_parts, read_question
from app.reasoning.local.rendering import readable, render
from app.reasoning.local.scoring import Candidate, candidates_of, scored, with_likeness
from app.reasoning.local.selection import select

_NEAR, _WELL_COVERED = 3, 0.8
_SURELY_RELEVANT, _HOPELESS, _DOUBTFUL = 0.7, 0.1, 0.5
_EXAMPLE = re.compile(r"ví dụ|example", re.IGNORECASE)
_FORMULA_AMONG = 20
_COMPARED = 8
"""Pieces compared by embedding when words cannot choose; each costs about 25 ms."""


async def answer(request: AnswerRequest, embedder: Embedder) -> Finding:
    """The finding of one query; embeds pieces of passages only across languages or when words tell too little."""
    question = read_question(request.query, request.language)
    ranked = scored(question, candidates_of(request.passages, question))
    ranked = _formula_first(question, ranked)
    sure = confidence(question, ranked, request.min_relevance_score)
    if _needs_likeness(question, ranked, sure):
        ranked = await _compared(request.query, ranked, embedder)
        sure = confidence(question, ranked, request.min_relevance_score)
    quotes = select(question, ranked, _further(question, ranked)) if sure >= FOUND else ()
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
    named = [c for c in near if any(f.is_named for f in formulas_in(c.unit.text, question.language))]
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


def evidence_of(quotes: Sequence[Quote]) -> tuple[Evidence, ...]:
    """One evidence a document, or page of a paged one, in order of its first quote, as relevant as its best passage."""
    by_url: dict[str, Evidence] = {}
    for quote in quotes:
        passage = quote.passage
        known = by_url.get(passage.address)
        relevance = max(passage.relevance_score, known.relevance_score if known else 0.0)
        by_url[passage.address] = Evidence(
            url=passage.address, created_at=passage.created_at, source_type="rag", scope=passage.scope,
            relevance_score=round(relevance, 4),
        )  # fmt: skip
    return tuple(by_url.values())


def _needs_likeness(question: Question, ranked: Sequence[Candidate], sure: float) -> bool:
    """Whether words cannot choose: the nearest passages are foreign, or relevant ones share few of its words."""
    if not ranked:
        return False
    own = [c.features.share for c in ranked if c.passage.language == question.language and not c.features.misfits]
    foreign_is_near = any(c.passage.language != question.language and c.rank < _NEAR for c in ranked)
    if foreign_is_near and max(own, default=0.0) < _WELL_COVERED:
        return True
    relevance = max(candidate.passage.relevance_score for candidate in ranked)
    return relevance >= _SURELY_RELEVANT and _HOPELESS < sure < _DOUBTFUL


async def _compared(query: str, ranked: Sequence[Candidate], embedder: Embedder) -> list[Candidate]:
    """The candidates with the likeness of the nearest ones; as they are while the model is away: words decide then."""
    nearest = list(ranked[:_COMPARED])
    try:
        vector = (await embedder.embed_queries([query]))[0]
        vectors = await embedder.embed_passages([f"{c.unit.heading}: {readable(c.unit)}" for c in nearest])
    except EmbeddingUnavailable:
        return list(ranked)
    return [*with_likeness(nearest, [float(value) for value in vectors @ vector]), *ranked[_COMPARED:]]
