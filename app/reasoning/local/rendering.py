"""Quotes as readable text: table rows with their column names, lists as lists, sentences as paragraphs."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.knowledge import Passage, Quote
from app.reasoning.local.sentences import Unit, units_of

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
