"""Quotes as readable text: table rows with their column names, lists as lists, sentences as paragraphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.knowledge import Finding, Language, Passage, Quote
from app.reasoning.local.sentences import Unit, bare_heading, headings_of, units_of
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.reasoning.local.wording import lower_first
from app.text.language import guess_language

_MAX_ROWS = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A quote located in its passage again."""

    passage: Passage
    units: tuple[Unit, ...]
    """The units the quote covers, in order; empty when the quote is no unit of the passage."""
    text: str


def pieces_of(quotes: Sequence[Quote]) -> list[Piece]:
    """Where each quote stands in its passage, in the order of the quotes."""
    return [Piece(quote.passage, units_covered(quote.passage.text, quote.text), quote.text) for quote in quotes]


def units_covered(text: str, quoted: str) -> tuple[Unit, ...]:
    """The units of a passage that lie inside a quoted span."""
    start = text.find(quoted)
    if start < 0:
        return ()
    end = start + len(quoted)
    return tuple(unit for unit in units_of(text) if unit.start >= start and unit.end <= end)


def render(quotes: Sequence[Quote]) -> str:
    """The quotes as one readable text: passages in order of their best quote, spans in reading order."""
    by_passage: dict[object, list[Piece]] = {}
    for piece in pieces_of(quotes):
        by_passage.setdefault(piece.passage.chunk_id, []).append(piece)
    return "\n\n".join(_render_passage(pieces) for pieces in by_passage.values())


def _render_passage(pieces: list[Piece]) -> str:
    ordered = sorted(pieces, key=lambda piece: piece.units[0].start if piece.units else 0)
    units = list(dict.fromkeys(unit for piece in ordered for unit in piece.units))
    loose = [piece.text for piece in ordered if not piece.units]
    blocks: dict[int, list[Unit]] = {}
    for unit in units:
        blocks.setdefault(unit.block, []).append(unit)
    quoted = {unit.text for unit in units}
    return "\n\n".join([*loose, *(_render_block(block, quoted) for block in blocks.values())])


def _render_block(units: list[Unit], quoted: set[str]) -> str:
    if units[0].kind == "sentence":
        return " ".join(unit.text for unit in units)
    lead = units[0].lead if units[0].lead not in quoted else ""
    lines = [_render_line(number, unit) for number, unit in enumerate(units, 1)]
    if len(lines) == 1:
        only = readable(units[0])
        return f"{lead} {only}".strip() if lead else only
    return "\n".join([lead, *lines] if lead else lines)


def _render_line(number: int, unit: Unit) -> str:
    return f"{number}. {unit.text}" if unit.kind == "step" else f"- {readable(unit)}"


def readable(unit: Unit) -> str:
    """A unit as a person would say it; a row reads “first cell: column value; column value”."""
    if unit.kind != "row":
        return unit.text
    cells = unit.cells
    if len(unit.header) != len(cells):
        return "; ".join(cell for cell in cells if cell)
    if len(cells) == 2:
        return f"{cells[0]}: {cells[1]}"
    named = [f"{name}: {cell}" for name, cell in zip(unit.header[1:], cells[1:], strict=True) if cell]
    return f"{cells[0]} — {'; '.join(named)}"


_ASKED: dict[Language, str] = {"vi": "{heading} được quy định thế nào?", "en": "What is said about {heading}?"}
_MORE: dict[Language, str] = {"vi": "“{title}” còn quy định những gì?", "en": "What else does “{title}” say?"}
_MORE_DOCUMENTS = 2
_ANSWERED = 0.75
_DULL = frozenset({"lien he", "contact", "questions", "lien he va ho tro", "owner", "pham vi ap dung", "scope"})
_MAX_WORDS = 14


def further_questions(query: str, findings: Sequence[Finding], language: Language, limit: int) -> tuple[str, ...]:
    """At most `limit` questions made from headings near the quotes that the answer did not use, most relevant first.

    Of logs, attached files and pages of others nothing further is offered.
    """
    found: dict[str, None] = {}
    found_quotes = [quote for finding in findings if finding.found for quote in finding.quotes]
    quotes = [quote for quote in found_quotes if quote.passage.is_document]
    for heading in _unused_headings(quotes):
        question = _as_question(heading, language)
        if question and not _is_answered(question, query):
            found.setdefault(question)
    titled = [passage for passage in _passages(quotes) if guess_language(passage.title) == language]
    for passage in titled[:_MORE_DOCUMENTS]:
        found.setdefault(_MORE[language].format(title=passage.title))
    return tuple(found)[:limit]


def _passages(quotes: Sequence[Quote]) -> list[Passage]:
    return list({quote.passage.document_id: quote.passage for quote in quotes}.values())


def _unused_headings(quotes: Sequence[Quote]) -> Iterator[str]:
    used = {
        bare_heading(unit.heading) for quote in quotes for unit in units_covered(quote.passage.text, quote.text)
    } | {bare_heading(quote.passage.section.split("›")[-1].strip()) for quote in quotes}
    for passage in {quote.passage.chunk_id: quote.passage for quote in quotes}.values():
        outer = passage.section.split("›")[:-1]
        for heading in (*headings_of(passage.text), *(part.strip() for part in reversed(outer))):
            bare = bare_heading(heading)
            if bare and bare not in used:
                yield bare


def _as_question(heading: str, language: Language) -> str:
    """The heading as a question; empty when it is in the other language or leads nowhere."""
    bare = heading.strip(" .:")
    if guess_language(bare) != language or len(bare.split()) > _MAX_WORDS or _is_dull(bare):
        return ""
    if bare.endswith("?"):
        return bare
    named = bare if language == "vi" else lower_first(bare)
    return _ASKED[language].format(heading=named)


def _is_dull(heading: str) -> bool:
    return " ".join(sorted(bag_of(heading, True).stems)) in {
        " ".join(sorted(bag_of(dull, True).stems)) for dull in _DULL
    }


def _is_answered(question: str, query: str) -> bool:
    terms = terms_of(question)
    return bool(terms) and coverage(terms, [term.weight for term in terms], bag_of(query)) >= _ANSWERED
