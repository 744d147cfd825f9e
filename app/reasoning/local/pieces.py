"""A passage cut into the pieces that can be quoted: sentences, list items, table rows.

Every piece is an exact span of the passage and knows what it needs to be understood alone: the heading above it, the
sentence that introduces its list, the header of its table.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

UnitKind = Literal["sentence", "item", "step", "row"]

_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^\s*(?:[-*•+–]|\(?[a-zđ]\))\s+(?=\S)")
_STEP = re.compile(r"^\s*\(?\d{1,2}[.)]\s+(?=\S)")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_BOLD_LEAD = re.compile(r"^\s*\*\*(.+?)\*\*[:.]?\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|TP|Mr|Mrs|Ms|Dr|St|No|e\.g|i\.e|vs|etc|Inc|Ltd|Co|ThS|TS|PGS|GS|Q|P|tr|Art|Sec|approx)\.)$"
)
_SENTENCE_END = re.compile(r"[.!?…]+[\"”’)\]*]*(?=\s|$)|;\s*$")
_NUMBERING = re.compile(
    r"^\s*(?:(?:điều|mục|phần|chương|khoản|part|section|chapter|article|appendix|phụ lục)\s+[\dA-ZIVX]{1,4}\b[.:)]?|"
    r"\d{1,2}(?:\.\d{1,2})*[.)]?(?=\s))\s*",
    re.IGNORECASE,
)
_HEADING_WORDS = 16
_SHORT_WORDS = 3
"""“Không.” or “Yes.” is an answer only together with the sentence after it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A quotable span of one passage."""

    text: str
    """Exactly ``passage.text[start:end]``."""
    start: int
    end: int
    kind: UnitKind
    block: int
    """Number of its paragraph, list or table inside the passage."""
    heading: str
    """Nearest heading above it, without marks; may be empty."""
    lead: str = ""
    """The sentence that introduces its list or table."""
    header: tuple[str, ...] = ()
    """Column names of its table."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a row."""
        return split_cells(self.text)


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int


def split_cells(row: str) -> tuple[str, ...]:
    """The cells of a Markdown table row, trimmed."""
    return tuple(cell.strip() for cell in row.strip().strip("|").split("|"))


@lru_cache(maxsize=2048)
def units_of(text: str) -> tuple[Unit, ...]:
    """The quotable units of a passage in order; headings are context, not units."""
    found: list[Unit] = []
    heading, lead, block = "", "", 0
    blocks = list(_blocks(text))
    for at, lines in enumerate(blocks):
        title = _heading_of(lines, is_last=at + 1 == len(blocks))
        if title:
            heading, lead = title, ""
            continue
        block += 1
        own = list(_units_of_block(text, lines, block, heading, lead))
        found += own
        lead = _introduction(own)
    return tuple(found)


def headings_of(text: str) -> tuple[str, ...]:
    """The headings written inside a passage, in order, each once."""
    return tuple(dict.fromkeys(unit.heading for unit in units_of(text) if unit.heading))


def _heading_of(lines: list[_Line], *, is_last: bool) -> str:
    """The heading a block is: marked as one, or a short line of its own that ends like a title or a question."""
    mark = _HEADING.match(lines[0].text)
    if mark:
        return mark[1].strip("* ")
    line = lines[0].text.strip()
    alone = len(lines) == 1 and not is_last and _kind_of(line) in ("text", "step")
    if not alone or len(line.split()) > _HEADING_WORDS or line[-1] in ".!:;,…" or "=" in line or line[0] == "`":
        return ""
    return line.strip("* ")


def _blocks(text: str) -> Iterator[list[_Line]]:
    """Runs of lines that belong together: a heading, a paragraph, a list, a table."""
    current: list[_Line] = []
    start, kind = 0, ""
    for raw in text.splitlines(keepends=True):
        line = _Line(raw.rstrip("\r\n"), start)
        start += len(raw)
        own = _kind_of(line.text)
        if current and not _belongs(kind, own, line):
            yield current
            current, kind = [], ""
        if own != "blank":
            current.append(line)
            kind = kind or own
    if current:
        yield current


def _kind_of(line: str) -> str:
    if not line.strip():
        return "blank"
    patterns = {"heading": _HEADING, "row": _ROW, "step": _STEP, "item": _BULLET}
    return next((kind for kind, pattern in patterns.items() if pattern.match(line)), "text")


def _belongs(kind: str, own: str, line: _Line) -> bool:
    """Whether a line goes on with the block above it; an indented line belongs to the list item before it."""
    if own == "blank" or "heading" in (kind, own):
        return False
    return own == kind or (kind in ("item", "step") and line.text.startswith((" ", "\t")))


def _units_of_block(text: str, lines: list[_Line], block: int, heading: str, lead: str) -> Iterator[Unit]:
    kind = _kind_of(lines[0].text)
    if kind == "row":
        yield from _rows(lines, block, heading, lead)
    elif kind in ("item", "step"):
        yield from _items(text, lines, block, heading, lead)
    else:
        start, end = lines[0].start, lines[-1].start + len(lines[-1].text)
        yield from _paragraph(text, start, end, block, heading)


def _rows(lines: list[_Line], block: int, heading: str, lead: str) -> Iterator[Unit]:
    ruled = len(lines) > 1 and _RULE.match(lines[1].text) is not None
    header = split_cells(lines[0].text) if ruled else ()
    for line in lines[2:] if ruled else lines:
        if not _RULE.match(line.text):
            row = line.text.strip()
            start = line.start + line.text.index(row)
            yield Unit(row, start, start + len(row), "row", block, heading, lead, header)


def _items(text: str, lines: list[_Line], block: int, heading: str, lead: str) -> Iterator[Unit]:
    starts = [at for at, line in enumerate(lines) if _kind_of(line.text) in ("item", "step")]
    for first, after in zip(starts, [*starts[1:], len(lines)], strict=True):
        line, last = lines[first], lines[after - 1]
        kind: UnitKind = "step" if _STEP.match(line.text) else "item"
        mark = _STEP.match(line.text) or _BULLET.match(line.text)
        start = line.start + (mark.end() if mark else 0)
        end = last.start + len(last.text.rstrip())
        yield Unit(text[start:end], start, end, kind, block, heading, lead)


def _paragraph(text: str, start: int, end: int, block: int, heading: str) -> Iterator[Unit]:
    bold = _BOLD_LEAD.match(text[start:end])
    if bold and start + bold.end() < end:
        # A question or label in bold opens many paragraphs of hand-made pages: it is a heading.
        heading, start = bold[1].strip(), start + bold.end()
    spans = _sentence_spans(text, start, end)
    if len(spans) > 1 and text[spans[0][1] - 1] == "?":
        # A paragraph that opens with a question answers it.
        heading = text[slice(*spans.pop(0))]
    for first, after in spans:
        yield Unit(text[first:after], first, after, "sentence", block, heading)


def _sentence_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    first = start
    for mark in _SENTENCE_END.finditer(text, start, end):
        if _ABBREVIATION.search(text[first : mark.end()]) or _goes_on(text, mark.end(), end):
            continue
        spans.append((first, mark.end()))
        first = mark.end()
    spans.append((first, end))
    trimmed = [span for span in (_trimmed(text, *span) for span in spans) if span[0] < span[1]]
    return _short_joined(text, trimmed)


def _goes_on(text: str, at: int, end: int) -> bool:
    """Whether the sentence continues after a full stop: the next word is lower case."""
    rest = text[at:end].lstrip(" *")
    return bool(rest) and rest[0].islower() and text[at - 1] == "."


def _trimmed(text: str, first: int, after: int) -> tuple[int, int]:
    piece = text[first:after]
    return first + len(piece) - len(piece.lstrip()), first + len(piece.rstrip())


def _short_joined(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, after in spans:
        if joined and len(text[joined[-1][0] : joined[-1][1]].split()) <= _SHORT_WORDS:
            joined[-1] = (joined[-1][0], after)
        else:
            joined.append((first, after))
    return joined


def _introduction(units: list[Unit]) -> str:
    """The last sentence of a block when it announces what follows."""
    if not units or units[-1].kind != "sentence" or not units[-1].text.rstrip("* ").endswith(":"):
        return ""
    return units[-1].text


def bare_heading(heading: str) -> str:
    """A heading without its number: “Điều 5. Chuyển phép” and “2.1 Carry-over” say what they are about."""
    return _NUMBERING.sub("", heading).strip(" .:–-")


def with_heading(unit: Unit, section: str) -> Unit:
    """The unit with the passage's section as heading when none stands inside the passage."""
    return unit if unit.heading else replace(unit, heading=section.split("›")[-1].strip())


def readable(unit: Unit) -> str:
    """A unit as a person would say it; a row reads “first cell — column: value; column: value”."""
    if unit.kind != "row":
        return unit.text
    cells = unit.cells
    if len(unit.header) != len(cells):
        return "; ".join(cell for cell in cells if cell)
    if len(cells) == 2:
        return f"{cells[0]} — {cells[1]}"
    named = [f"{name}: {cell}" for name, cell in zip(unit.header[1:], cells[1:], strict=True) if cell]
    return f"{cells[0]} — {'; '.join(named)}"


def units_covered(text: str, quoted: str) -> tuple[Unit, ...]:
    """The units of a passage that lie inside a quoted span."""
    start = text.find(quoted)
    if start < 0:
        return ()
    end = start + len(quoted)
    return tuple(unit for unit in units_of(text) if unit.start >= start and unit.end <= end)
