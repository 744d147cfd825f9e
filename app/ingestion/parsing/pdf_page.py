"""The lines of a PDF page in reading order, and its tables that are drawn with lines."""

import ctypes
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfiumError, PdfPage

from app.ingestion.parsing.pdf_marks import Box, Rule

HYPHEN = "\ufffe"
"""Where PDFium joined a word that was broken at the end of a line."""
_BOLD = re.compile(rb"bold|black|heavy|demi|-medi\b|cmbx", re.I)
_NO_LETTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd\ue000-\uf8ff]")
_NAME_BYTES = 96


class Line(NamedTuple):
    """One line of text as it is set."""

    text: str
    box: Box
    size: float
    """Height of its first character in points, about 1.2 times the nominal size."""
    is_bold: bool
    first: int
    """Index of its first character on the page."""
    last: int


class PageText:
    """The characters of one page."""

    def __init__(self, page: PdfPage):
        self._page = page.get_textpage()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()

    def close(self) -> None:
        """Free the page's characters."""
        self._page.close()

    def text(self) -> str:
        """All of it, lines apart by CR LF."""
        return str(self._page.get_text_range(errors="replace"))

    def of_object(self, handle: Any) -> str:
        """The text of one painted piece."""
        size = pdfium.FPDFTextObj_GetText(handle, self._page, None, 0)
        room = (pdfium.FPDF_WCHAR * max(size // 2, 1))()
        pdfium.FPDFTextObj_GetText(handle, self._page, room, size)
        return bytes(room)[: max(size - 2, 0)].decode("utf-16-le", "replace")

    def lines(self) -> Iterator[Line]:
        """Every line that is not blank, in reading order."""
        at = 0
        for part in self.text().split("\n"):
            shown = part.strip()
            if shown:
                start = at + _units(part[: len(part) - len(part.lstrip())])
                yield self._line(shown, start, start + _units(shown) - 1)
            at += _units(part) + 1

    def center(self, index: int) -> tuple[float, float]:
        """Middle of a character's box."""
        box = self._box(index)
        return (box.left + box.right) / 2, (box.bottom + box.top) / 2

    def character(self, index: int) -> str:
        """One character; a blank for what cannot be shown."""
        code = pdfium.FPDFText_GetUnicode(self._page, index)
        return chr(code) if 32 <= code < 0x110000 and code != 0xFFFE and not 0xD800 <= code < 0xE000 else " "

    def _line(self, text: str, start: int, end: int) -> Line:
        first, last = self._index(start), self._index(end)
        head, tail = self._box(first, loose=True), self._box(last, loose=True)
        # A word joined over a line break ends on the line below.
        box = Box(head.left, min(head.bottom, tail.bottom), max(head.right, tail.right), head.top)
        is_bold = self._is_bold(first) and (first == last or self._is_bold(last))
        return Line(text, box, head.top - head.bottom, is_bold, first, last)

    def _index(self, unit: int) -> int:
        found = pdfium.FPDFText_GetCharIndexFromTextIndex(self._page, unit)
        return unit if found < 0 else int(found)

    def _box(self, index: int, *, loose: bool = False) -> Box:
        """Where a character stands; `loose`: with the height of its font. At -1 when that is not known."""
        try:
            left, bottom, right, top = self._page.get_charbox(index, loose)
        except PdfiumError:
            return Box(-1, -1, -1, -1)
        return Box(left, min(bottom, top), right, max(bottom, top))

    def _is_bold(self, index: int) -> bool:
        length = pdfium.FPDFText_GetFontInfo(self._page, index, self._name, _NAME_BYTES, self._flags)
        return 0 < length <= _NAME_BYTES and _BOLD.search(self._name.raw[:length]) is not None


def is_garbled(text: str) -> bool:
    """Whether the fonts of a page do not say which letters their shapes are."""
    return len(_NO_LETTER.findall(text)) * 4 > len(text.strip())


def _units(text: str) -> int:
    """Length in UTF-16, which PDFium counts in."""
    return len(text) + sum(char > "\uffff" for char in text)


_SLACK = 3.0
"""Points by which lines that meet may miss one another."""
_MAX_RULES, _MAX_CELLS = 3_000, 5_000


class Table(NamedTuple):
    """A ruled table."""

    box: Box
    columns: tuple[float, ...]
    """Left edges of the columns, and the right edge of the last."""
    rows: list[list[str]]


class Grid(NamedTuple):
    """The lines of a table before its cells are filled."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    """From the top down."""
    rules: list[Rule]

    @property
    def box(self) -> Box:
        """What lies inside the outermost lines."""
        return Box(self.xs[0], self.ys[-1], self.xs[-1], self.ys[0])


def grids_of(rules: Sequence[Rule]) -> list[Grid]:
    """Lines that meet, put together; only what has at least two rows and two columns."""
    grids = []
    for group in _connected(list(rules)[:_MAX_RULES]):
        xs = _distinct([rule.at for rule in group if not rule.is_horizontal])
        ys = _distinct([rule.at for rule in group if rule.is_horizontal])[::-1]
        if len(xs) > 2 < len(ys) and (len(xs) - 1) * (len(ys) - 1) <= _MAX_CELLS:
            grids.append(Grid(tuple(xs), tuple(ys), group))
    return grids


def fill_grid(grid: Grid, lines: Sequence[Line], page: PageText) -> Table | None:
    """The table with its texts; None when it has hardly any, as a frame or a drawing has."""
    roots = _roots(grid)
    cells = [["" for _ in grid.xs[1:]] for _ in grid.ys[1:]]
    for line in lines:
        if not grid.box.meets(line.box):
            continue
        previous: tuple[int, int] | None = None
        for index in range(line.first, line.last + 1):
            place = _cell(grid, *page.center(index))
            if place is None:
                continue
            row, column = roots[place[0]][place[1]]
            if (row, column) != previous and cells[row][column]:
                cells[row][column] += " "
            cells[row][column] += page.character(index)
            previous = row, column
    rows = _spread([[" ".join(cell.replace(HYPHEN, "").split()) for cell in row] for row in cells], roots)
    if sum(any(row) for row in rows) < 2 or sum(bool(cell) for row in rows for cell in row) < 4:
        return None
    return Table(grid.box, grid.xs, rows)


def _cell(grid: Grid, x: float, y: float) -> tuple[int, int] | None:
    if not grid.box.holds(x, y):
        return None
    column = sum(edge <= x for edge in grid.xs[1:-1])
    row = sum(edge >= y for edge in grid.ys[1:-1])
    return row, column


def _roots(grid: Grid) -> list[list[tuple[int, int]]]:
    """For each place the first place of the cell it belongs to: cells are what lines part."""
    roots: list[list[tuple[int, int]]] = []
    for row, (top, bottom) in enumerate(pairwise(grid.ys)):
        roots.append([])
        for column, (left, right) in enumerate(pairwise(grid.xs)):
            if column and not _has_rule(grid, False, left, (top + bottom) / 2):
                roots[row].append(roots[row][column - 1])
            elif row and not _has_rule(grid, True, top, (left + right) / 2):
                roots[row].append(roots[row - 1][column])
            else:
                roots[row].append((row, column))
    return roots


def _spread(rows: list[list[str]], roots: list[list[tuple[int, int]]]) -> list[list[str]]:
    """A cell that spans rows is repeated in each of them; one that spans columns stands in the first."""
    return [
        [rows[root[0]][root[1]] if root[1] == column else "" for column, root in enumerate(places)] for places in roots
    ]


def _has_rule(grid: Grid, is_horizontal: bool, at: float, across: float) -> bool:
    return any(
        rule.is_horizontal is is_horizontal
        and abs(rule.at - at) <= _SLACK
        and rule.start - _SLACK <= across <= rule.end + _SLACK
        for rule in grid.rules
    )


def _connected(rules: list[Rule]) -> list[list[Rule]]:
    """Groups of lines that meet, by following who meets whom."""
    upright = [rule for rule in rules if not rule.is_horizontal]
    flat = [rule for rule in rules if rule.is_horizontal]
    groups: list[list[Rule]] = []
    while flat:
        group, waiting = [], [flat.pop()]
        while waiting:
            rule = waiting.pop()
            group.append(rule)
            others = upright if rule.is_horizontal else flat
            met = [other for other in others if _meet(rule, other)]
            waiting += met
            if met:
                others[:] = [other for other in others if not _meet(rule, other)]
        groups.append(group)
    return groups


def _meet(one: Rule, other: Rule) -> bool:
    inside = one.start - _SLACK <= other.at <= one.end + _SLACK
    return inside and other.start - _SLACK <= one.at <= other.end + _SLACK


def _distinct(places: list[float]) -> list[float]:
    """Rising, those that are almost the same as one."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > _SLACK:
            found.append(place)
    return found
