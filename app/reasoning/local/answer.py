"""Answering one query from its passages, in their own words, or saying that they do not hold the answer."""

from app.domain.evidence import evidence_of
from app.domain.knowledge import Finding, Quote
from app.reasoning import AnswerRequest
from app.reasoning.local.choice import Standing, quote_beside, quotes_of, rivals_of, standing_of
from app.reasoning.local.cues import sentences
from app.reasoning.local.decompose import sub_queries_of
from app.reasoning.local.intents import intents_of
from app.reasoning.local.math_arguments import states_formula
from app.reasoning.local.phrases import titles_of
from app.reasoning.local.rendering import render
from app.reasoning.reader import Reader, Reading, ReadRequest


async def answer(request: AnswerRequest, reader: Reader) -> Finding:
    """The finding of one query."""
    reading = await read(request, reader)
    return finding_of(request, reading, standing_of(reading.confidence))


async def read(request: AnswerRequest, reader: Reader) -> Reading:
    """What the reader makes of a request's passages."""
    return await reader.read(
        ReadRequest(
            question=request.query,
            language=request.language,
            passages=request.passages,
            parts=tuple(sub_queries_of(request.query, request.language)),
            today=request.today,
            department=request.department,
        )
    )


def finding_of(request: AnswerRequest, reading: Reading, standing: Standing) -> Finding:
    """Tell a reading as what it stands for."""
    quotes = _told(request.query, reading) if standing != "nothing" else ()
    titles = list(dict.fromkeys(quote.passage.title for quote in quotes))
    texts = sentences("composed", request.language)
    told = texts["taken_from"].format(titles=titles_of(titles, request.language))
    return Finding(
        agent=request.agent,
        index=request.index,
        query=request.query,
        context=told if quotes else texts["nothing_from"],
        answer=render(quotes),
        found=bool(quotes),
        is_closest=standing == "closest" and bool(quotes),
        confidence=round(reading.confidence, 3),
        quotes=quotes,
        evidence=evidence_of(quotes),
        counterparts=rivals_of(reading) if quotes else (),
    )


def _told(query: str, reading: Reading) -> tuple[Quote, ...]:
    """What is quoted; of a document that answers what a calculation asks, its formula as well."""
    quotes = quotes_of(reading)
    if not quotes or "calculation" not in intents_of(query):
        return quotes
    formula = quote_beside(reading, lambda piece: states_formula(piece.quote, piece.passage))
    if formula is None or any(formula.text in quote.text for quote in quotes):
        return quotes
    return (*quotes, formula)
