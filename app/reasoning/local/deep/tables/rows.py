"""The rows of an attached table, as the file tool quotes them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from app.domain.deep import Observation
from app.domain.knowledge import Language
from app.reasoning.local.numbers import read_number
from app.reasoning.local.sentences import split_cells
from app.text.language import fold

_TABLE = re.compile(
    r"^- (?:Bảng|Table)(?: “(?P<name>[^”]*)”)?: (?:rows: )?(?P<rows>\d+)(?: dòng)?; (?:các cột|"
    r"columns): (?P<columns>.+?)\.?$",
    re.MULTILINE,
)
_COLUMN = re.compile(r"“([^”]*)”")
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T].*)?")
_DMY = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})")
_NUMBER = re.compile(r"[£$€₫]?\s?(-?\d[\d.,]*)\s?(?:%|đ|đồng|VND|VNĐ|USD|GBP|EUR|[^\W\d]{1,8})?")


@dataclass(frozen=True)
class Column:
    """A column with what its cells are."""

    at: int
    name: str
    kind: str
    """``number``, ``day`` or ``text``."""

    @property
    def plain(self) -> str:
        """Its name without brackets and underscores, folded."""
        return " ".join(fold(re.sub(r"\([^)]*\)|_", " ", self.name)).lower().split())

    @property
    def unit(self) -> str:
        """What stands in brackets."""
        mark = re.search(r"\(([^)]*)\)", self.name)
        return mark[1].strip() if mark else ""


@dataclass(frozen=True)
class Told:
    """A table as the file's description names it."""

    name: str
    rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A whole table."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    language: Language

    def values(self, column: Column) -> list[str]:
        """The different texts of a column, in order."""
        return list(dict.fromkeys(row[column.at] for row in self.rows if row[column.at]))

    def number(self, row: Sequence[str], column: Column) -> Decimal | None:
        """A cell as a number."""
        return number_of(row[column.at], self.language)

    @property
    def numeric(self) -> tuple[Column, ...]:
        """Columns of numbers."""
        return tuple(one for one in self.columns if one.kind == "number")

    @property
    def textual(self) -> tuple[Column, ...]:
        """Columns of text."""
        return tuple(one for one in self.columns if one.kind == "text")

    @property
    def days(self) -> tuple[Column, ...]:
        """Columns of dates."""
        return tuple(one for one in self.columns if one.kind == "day")


def told_tables(text: str) -> list[Told]:
    """The tables a description names."""
    return [
        Told(mark["name"] or "", int(mark["rows"]), tuple(_COLUMN.findall(mark["columns"])))
        for mark in _TABLE.finditer(text)
    ]


def table_from(observations: Sequence[Observation], told: Told) -> Table | None:
    """The table when every row of it was quoted; None otherwise."""
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    language: Language = "vi"
    for one in observations:
        for finding in one.findings:
            for quote in finding.quotes:
                language = "en" if quote.passage.language == "en" else "vi"
                at = 0
                for at, cells in enumerate(_rows(quote.passage.text, told)):
                    found.setdefault((hash(quote.passage.chunk_id), at), cells)
    rows = tuple(found.values())
    if len(rows) != told.rows or not rows:
        return None
    return Table(tuple(_column(at, name, rows, language) for at, name in enumerate(told.columns)), rows, language)


def _rows(text: str, told: Told) -> Iterator[tuple[str, ...]]:
    """The rows below a header that is the table's."""
    is_inside = False
    for line in text.splitlines():
        if not line.strip().startswith("|"):
            is_inside = False
            continue
        cells = split_cells(line)
        if tuple(cells) == told.columns:
            is_inside = True
        elif is_inside and not _RULE.match(line) and len(cells) == len(told.columns):
            yield cells


def _column(at: int, name: str, rows: Sequence[Sequence[str]], language: Language) -> Column:
    cells = [row[at] for row in rows if row[at].strip()]
    if cells and all(day_of(cell) for cell in cells):
        return Column(at, name, "day")
    numbers = sum(number_of(cell, language) is not None for cell in cells)
    is_code = re.search(r"(?<!\w)(?:mã|code|id|số (?:hóa đơn|điện thoại|đơn)|phone)(?!\w)", name, re.IGNORECASE)
    return Column(at, name, "number" if cells and numbers >= 0.8 * len(cells) and not is_code else "text")


def number_of(cell: str, language: Language) -> Decimal | None:
    """A cell as a number; None for any other."""
    mark = _NUMBER.fullmatch(cell.strip())
    if not mark:
        return None
    digits = mark[1].rstrip(".,")
    negative = digits.startswith("-")
    value = read_number(digits.lstrip("-"), language, currency=language == "vi")
    return -value if value is not None and negative else value


def day_of(cell: str) -> date | None:
    """A cell as a date."""
    iso, dmy = _ISO.fullmatch(cell.strip()), _DMY.fullmatch(cell.strip())
    try:
        if iso:
            return date(int(iso[1]), int(iso[2]), int(iso[3]))
        if dmy:
            return date(int(dmy[3]), int(dmy[2]), int(dmy[1]))
    except ValueError:
        return None
    return None
