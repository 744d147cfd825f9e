"""Answering one query from its passages, in their own words, or saying that they do not hold the answer.

Which spans are told, and whether they are an answer, is decided by the reader's probabilities and the text's form.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

from app.domain.knowledge import Finding, Language, Quote, evidence_of
from app.reasoning import AnswerRequest, Review
from app.reasoning.local.arguments import states_formula
from app.reasoning.local.intents import intents_of, sub_queries_of
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.pieces import Unit, units_of
from app.reasoning.local.rendering import render
from app.reasoning.local.rivals import RIVAL
from app.reasoning.local.wording import sentences, titles_of
from app.reasoning.reader import Piece, Reader, Reading, ReadRequest

SURE, CLOSE = 0.7, 0.25
"""Least confidence of an answer, and of what is shown as the closest passages; below, nothing was found."""
_CLOSEST, _AS_CLOSE = 3, 0.3
"""Passages shown where none surely answers, and the share of the best one's probability that others need for it."""
_LISTED = 0.4
"""Share of the best piece's probability that its list or table must have on average to be told whole."""
_BESIDE = 0.45
"""The same for a sentence beside it in its paragraph."""
_RIVALS = 4
"""Pieces of other documents that are handed on as counterparts."""
_PART = 0.5
"""Share of the best piece's probability that the best one of another part of the question needs."""
_MAX_CHARS = 1_100

Standing = Literal["answer", "closest", "nothing"]
_NUMBERING_OR_RESULT = re.compile(r"^\s*\d{1,2}[.)]\s|[=≈]\s*[£$€]?[\d.,]+", re.MULTILINE)
"""Numbers of list items, and results of calculations: they are made here, not quoted."""


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
    quotes = _told(request.query, reading, standing)
    titles = list(dict.fromkeys(quote.passage.title for quote in quotes))
    texts = sentences("composed", request.language)
    told = texts["taken_from"].format(titles=titles_of(titles, request.language))
    return Finding(
        agent=request.agent,
        index=request.index,
        query=request.query,
        context=told if quotes else texts["nothing_from"],
        answer=_begun(render(quotes), reading, texts) if standing == "answer" else render(quotes),
        found=bool(quotes),
        is_closest=standing == "closest" and bool(quotes),
        confidence=round(reading.confidence, 3),
        quotes=quotes,
        evidence=evidence_of(quotes),
        counterparts=rivals_of(reading) if quotes else (),
        read=_read_of(request, reading) if request.keeps_read else (),
    )


def _read_of(request: AnswerRequest, reading: Reading) -> tuple[Quote, ...]:
    """Each passage with its likeliest piece, whole without one; in the order they were found in."""
    likeliest = {piece.passage.chunk_id: _quote(piece, (piece.start, piece.end)) for piece in reversed(reading.pieces)}
    whole = (Quote(passage=passage, text=passage.text, score=0.0) for passage in request.passages)
    return tuple(likeliest.get(quote.passage.chunk_id, quote) for quote in whole)


def _begun(text: str, reading: Reading, texts: Mapping[str, str]) -> str:
    """The answer to a question for yes or no begins with what its first quote says, where that is sure."""
    says = reading.pieces[0].says
    return f"{texts[says]} — {text}" if says else text


def _told(query: str, reading: Reading, standing: Standing) -> tuple[Quote, ...]:
    """What is quoted; of a document that answers what a calculation asks, its formula as well."""
    if standing == "nothing":
        return ()
    quotes = quotes_of(reading) if standing == "answer" else _closest(reading)
    if not quotes or "calculation" not in intents_of(query):
        return quotes
    document = reading.pieces[0].passage.document_id
    stating = (one for one in reading.pieces if states_formula(one.quote, one.passage))
    formula = next((_quote(one, (one.start, one.end)) for one in stating if one.passage.document_id == document), None)
    if formula is None or any(formula.text in quote.text for quote in quotes):
        return quotes
    return (*quotes, formula)


def standing_of(confidence: float) -> Standing:
    """What a reading of this confidence may be told as."""
    return "answer" if confidence >= SURE else "closest" if confidence >= CLOSE else "nothing"


def quotes_of(reading: Reading) -> tuple[Quote, ...]:
    """The best piece of each part of the question that has one, each with the list or table it stands for."""
    if not reading.pieces:
        return ()
    first = reading.pieces[0]
    leading: dict[int, Piece] = {}
    for piece in reading.pieces:
        leading.setdefault(piece.part, piece)
    told = [piece for piece in leading.values() if piece is first or piece.answers >= _PART * first.answers]
    quotes = [_quote(piece, _span(piece, reading.pieces)) for piece in told]
    return tuple(
        quote for at, quote in enumerate(quotes) if not any(_holds(other, quote) for other in quotes[:at])
    )  # fmt: skip


def _closest(reading: Reading) -> tuple[Quote, ...]:
    """What would be told if it were sure, and beside it what is nearly as likely to answer."""
    quotes = list(quotes_of(reading))
    for piece in reading.pieces:
        other = _quote(piece, (piece.start, piece.end))
        is_near = piece.answers >= _AS_CLOSE * reading.pieces[0].answers
        is_told = piece.against is not None or any(_holds(one, other) for one in quotes)
        if is_near and len(quotes) < _CLOSEST and not is_told:
            quotes.append(other)
    return tuple(quotes)


def rivals_of(reading: Reading) -> tuple[Quote, ...]:
    """Of other documents the piece that answers best: not told, but it may stand against what is."""
    if not reading.pieces:
        return ()
    best = reading.pieces[0]
    found: dict[object, Quote] = {}
    for piece in reading.pieces:
        document = piece.passage.document_id
        is_near = piece.part == best.part and piece.answers >= RIVAL * best.answers
        if is_near and document != best.passage.document_id and piece.passage.is_document:
            against = piece.against and _quote(piece.against, (piece.against.start, piece.against.end))
            quote = _quote(piece, (piece.start, piece.end)).model_copy(update={"against": against})
            if document not in found or (against and not found[document].against):
                found[document] = quote
    return tuple(sorted(found.values(), key=lambda quote: quote.against is None))[:_RIVALS]


def _quote(piece: Piece, span: tuple[int, int]) -> Quote:
    return Quote(passage=piece.passage, text=piece.passage.text[slice(*span)], score=piece.answers)


def _holds(one: Quote, other: Quote) -> bool:
    return one.passage.chunk_id == other.passage.chunk_id and other.text in one.text


def _span(piece: Piece, pieces: Sequence[Piece]) -> tuple[int, int]:
    """The piece; or its whole list or table, where the others of it answer as well; or what it announces."""
    units = units_of(piece.passage.text)
    unit = next(one for one in units if one.start == piece.start)
    listed = [other for other in units if other.lead == unit.text and other.start > unit.start]
    if listed:
        return unit.start, _fitting_end(unit.start, listed)
    block = [other for other in units if other.block == unit.block]
    known = {one.start: one.answers for one in pieces if one.passage.chunk_id == piece.passage.chunk_id}
    if unit.kind == "sentence":
        told = _beside(block, block.index(unit), known, _BESIDE * piece.answers)
        return told[0].start, told[-1].end
    mean = sum(known[other.start] for other in block) / len(block)
    if mean < _LISTED * piece.answers or block[-1].end - block[0].start > _MAX_CHARS:
        return piece.start, piece.end
    return block[0].start, block[-1].end


def _beside(block: Sequence[Unit], at: int, known: Mapping[int, float], least: float) -> Sequence[Unit]:
    """The sentence at `at` with those right before and after it that answer nearly as well."""
    first, after = at, at + 1
    while first > 0 and known[block[first - 1].start] >= least:
        first -= 1
    while after < len(block) and known[block[after].start] >= least:
        after += 1
    return block[first:after]


def _fitting_end(start: int, units: Sequence[Unit]) -> int:
    fitting = [unit.end for unit in units if unit.end - start <= _MAX_CHARS]
    return fitting[-1] if fitting else units[0].end


def review_finding(finding: Finding, language: Language) -> Review:
    """Refuses a finding that says nothing though it claims to, quotes what no passage holds, or states new numbers."""
    if not finding.found:
        return Review(approved=True)
    reasons = sentences("review", language)
    if not finding.answer.strip():
        return Review(approved=False, reason=reasons["empty"])
    for quote in finding.quotes:
        if quote.text not in quote.passage.text and quote.text not in quote.passage.section:
            return Review(approved=False, reason=reasons["unquoted"].format(title=quote.passage.title))
    return Review(approved=True) if _numbers_are_quoted(finding) else Review(approved=False, reason=reasons["number"])


def _numbers_are_quoted(finding: Finding) -> bool:
    """Numbers of an answer from documents stand in its quotes; computed and counted ones have none to stand in, and
    what lays versions side by side names their days."""
    if not finding.quotes or finding.compares or any(evidence.source_type != "rag" for evidence in finding.evidence):
        return True
    language: Language = "en" if finding.quotes[0].passage.language == "en" else "vi"
    stated = numbers_of(_NUMBERING_OR_RESULT.sub(" ", finding.answer), language)
    held = (numbers_of(f"{quote.passage.text} {quote.passage.section}", language) for quote in finding.quotes)
    return stated <= frozenset[Decimal]().union(*held)
