"""A table as it can be computed with: what its columns are, and the numbers, days and texts in their cells.

A cell is read as its column is written: one cell ``12,5`` tells that ``1.500`` above it is fifteen hundred.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Literal, NamedTuple

from app.domain.attachments import AttachedTable, Cell
from app.domain.knowledge import Language
from app.tables.jobs import Rows, SqlType
from app.text.dates import dates_in
from app.text.language import fold, normalise

Kind = Literal["text", "number", "day", "month", "quarter", "year"]
"""What the cells of a column are; months, quarters and years are numbers where no year stands beside them."""
_BLANKS = frozenset({"", "-", "--", "–", "—", "n/a", "na", "null", "none", "không có", "trống"})
_TOTALS = re.compile(r"(?:tong|tong cong|cong|tong so|grand total|total|totals|sub ?total|sum)\b:?(?: cong| so)?")
SCALES = {"nghin": 3, "ngan": 3, "k": 3, "trieu": 6, "tr": 6, "m": 6, "million": 6, "ty": 9, "ti": 9, "billion": 9}
"""Powers of ten by the folded word that says them."""
_CELL = re.compile(
    r"(?P<open>\()?(?P<minus>[-−+])?\s?(?P<before>[£$€¥₫]|vnd|usd|eur|gbp)?\s?(?P<minus2>[-−])?"
    r"(?P<digits>\d[\d.,  '’]*)\s?(?P<scale>nghìn|ngàn|triệu|tr|tỷ|tỉ|k|m|million|billion)?\s?"
    r"(?P<unit>%|[£$€¥₫]|[^\W\d_]{1,12}(?:[/ ][^\W\d_]{1,8})?)?\s?(?P<behind>-)?(?P<close>\))?",
    re.IGNORECASE,
)
_MARK = re.compile(r"[.,]")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})+")
_NUMERIC_DAY = re.compile(r"(\d{1,2})([/.-])(\d{1,2})([/.-]\d{2,4})")
_CLOCK = re.compile(r"(?<=\d)[ T]\d{1,2}:\d{2}.*")
_SHORT_MONTH = re.compile(r"T ?(?=\d{1,2}\b)", re.IGNORECASE)
_YEAR_FIRST = re.compile(r"(\d{4})[ -](?:(\d{1,2})|(Q[1-4]))", re.IGNORECASE)
_DASHED = re.compile(r"(\d{1,2})-([A-Za-z]{3,9})-(?:20)?(\d{2})")
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}
_NAMED_PERIODS: dict[str, Kind] = {
    "thang": "month", "month": "month", "quy": "quarter", "quarter": "quarter", "nam": "year", "year": "year",
}  # fmt: skip
_CODE = re.compile(r"\b(?:ma|code|id|so (?:hoa don|dien thoai|dt|don|hd)|phone|sku|zip|no)\b|#")
_BRACKET = re.compile(r"[(\[]([^)\]]*)[)\]]")
_REFERENCE = date(2000, 1, 1)
"""Any day: a cell counts only with its own year or none."""
_MOST_DIGITS = 24
_MOSTLY = 0.6
"""Share of the cells that must be numbers for a column to be one of numbers."""
_ONE_UNIT = {"vnd": "đ", "vnđ": "đ", "đồng": "đ", "₫": "đ", "usd": "$", "gbp": "£", "eur": "€"}


def plain(text: str) -> str:
    """Text as it is compared: one spelling, no diacritics, lower case."""
    return fold(normalise(text)).lower()


class Period(NamedTuple):
    """A cell that tells a time: the first day of it where the year is known, else the number of month or quarter."""

    kind: Kind
    first: date | None
    number: int


@dataclass(eq=False)
class Column:
    """A column with its cells read."""

    at: int
    name: str
    """As statements name it; no two are the same."""
    label: str
    """As people see it, without what stands in brackets."""
    kind: Kind
    values: tuple[Decimal | date | str | None, ...]
    units: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Cells of a column of numbers that are none."""
    is_assumed: bool = False
    """Nothing in the column tells whether ``1.500`` is fifteen hundred: the language decided."""

    @property
    def sql_type(self) -> SqlType:
        """The type of its cells in statements."""
        first = next((value for value in self.values if value is not None), "")
        return "DECIMAL(38,10)" if isinstance(first, Decimal) else "DATE" if isinstance(first, date) else "VARCHAR"

    @cached_property
    def distinct(self) -> tuple[str, ...]:
        """The different texts of its cells, in order; none of numbers and days."""
        return tuple(dict.fromkeys(str(value) for value in self.values if value is not None)) if self.is_text else ()

    @property
    def is_text(self) -> bool:
        """Whether its cells are words."""
        return self.kind == "text"

    @property
    def is_unique(self) -> bool:
        """Whether every row has a value of its own here."""
        return len(set(self.values)) == len(self.values)

    @property
    def years(self) -> tuple[int, ...]:
        """The years its days lie in."""
        return tuple(sorted({value.year for value in self.values if isinstance(value, date)}))


@dataclass(eq=False)
class Sheet:
    """A table whose columns were read; rows that are totals themselves are left out."""

    table: AttachedTable
    language: Language
    columns: tuple[Column, ...] = field(init=False)
    kept: tuple[int, ...] = field(init=False)
    """Places of the rows that are computed with."""

    def __post_init__(self) -> None:
        rows = self.table.rows
        self.kept = tuple(at for at, row in enumerate(rows) if any(map(_shown, row)) and not _is_total(row))
        units = (*self.table.units, *[""] * len(self.table.header))
        names: list[str] = []
        for at, header in enumerate(self.table.header):
            name = " ".join(header.split()) or f"({at + 1})"
            taken = {one.casefold() for one in names}
            names.append(f"{name} (#{at + 1})" if name.casefold() in taken else name)
        self.columns = tuple(
            _column(at, name, [rows[row][at] for row in self.kept], units[at], self.language)
            for at, name in enumerate(names)
        )

    @property
    def rows(self) -> Rows:
        """The data of a job."""
        cells = zip(*([_sql_text(value) for value in one.values] for one in self.columns), strict=True)
        return Rows([(one.name, one.sql_type) for one in self.columns], list(cells))

    @property
    def totals(self) -> int:
        """Rows that were left out because they add others up."""
        return sum(any(map(_shown, row)) for row in self.table.rows) - len(self.kept)

    def cell(self, number: int, column: Column) -> str:
        """What stands in a row, counted from 1 among those computed with, as the file shows it."""
        return _shown(self.table.rows[self.kept[number - 1]][column.at])

    def number_in_file(self, number: int) -> int:
        """The number of such a row below the header of the file."""
        return self.kept[number - 1] + 1


def read_numbers(cells: Sequence[Cell], language: Language) -> tuple[tuple[Decimal | None, ...], bool, tuple[str, ...]]:
    """The numbers of a column's cells, whether their decimal mark was assumed, and their units."""
    matches = [None if isinstance(one, int | float) else _CELL.fullmatch(one.strip()) for one in cells]
    mark, is_assumed = _decimal_mark([_digits(match) for match in matches if match], language)
    values: list[Decimal | None] = []
    units: dict[str, None] = {}
    for cell, match in zip(cells, matches, strict=True):
        value = Decimal(str(cell)) if match is None and isinstance(cell, int | float) else match and _value(match, mark)
        values.append(value if value is None or value.is_finite() else None)
        if match and value is not None and (unit := (match["before"] or match["unit"] or "").lower()):
            units[_ONE_UNIT.get(unit, unit)] = None
    return tuple(values), is_assumed, tuple(units)


def read_period(text: str, *, is_month_first: bool = False) -> Period | None:
    """Read the day, month or quarter a cell tells; None for every other text."""
    written = _SHORT_MONTH.sub("tháng ", _CLOCK.sub("", normalise(text).strip()), count=1)
    written = _DASHED.sub(r"\1 \2 20\3", written)
    if match := _YEAR_FIRST.fullmatch(written):
        written = f"{match[2] or match[3]}/{match[1]}"
    if is_month_first:
        written = _NUMERIC_DAY.sub(r"\3\2\1\4", written)
    for one in dates_in(f"in {written}" if written.isalpha() else written, _REFERENCE, "year"):
        is_whole = one.end - one.start >= len(written) and one.grain in ("day", "month", "quarter") and not one.part
        number = one.first.month if one.grain == "month" else (one.first.month + 2) // 3
        if is_whole and (one.is_dated or one.grain != "day"):
            kind: Kind = "day" if one.grain == "day" else "month" if one.grain == "month" else "quarter"
            return Period(kind, one.first if one.is_dated else None, 0 if kind == "day" else number)
    return None


def _column(at: int, name: str, cells: Sequence[Cell], unit: str, language: Language) -> Column:
    label = " ".join(_BRACKET.sub(" ", name.replace("_", " ")).split()) or name
    bracket = _BRACKET.search(name)
    filled = [cell for cell in cells if not _is_blank(cell)]
    texts = tuple(None if _is_blank(cell) else _shown(cell) for cell in cells)
    periods = _periods(filled, label)
    if periods and filled:
        has_days = all(one.first for one in periods)
        found = iter([one.first if has_days else Decimal(one.number) for one in periods])
        kept = tuple(None if _is_blank(cell) else next(found) for cell in cells)
        return Column(at, name, label, periods[0].kind, kept)
    numbers, is_assumed, units = read_numbers(cells, language)
    if len(units) > 1 and all(len(one) == 1 and one.isalpha() and one not in "đd" for one in units):
        numbers = (None,) * len(cells)  # “9A” and “9B” are names
    readable = sum(value is not None for value in numbers)
    if readable and readable >= _MOSTLY * len(filled) and not _CODE.search(plain(label)):
        stated = tuple(dict.fromkeys([*([_ONE_UNIT.get(unit, unit)] if unit and not units else []), *units]))
        stated = stated or ((bracket[1].strip(),) if bracket else ())
        faults = [_shown(cell) for cell, value in zip(cells, numbers, strict=True) if value is None]
        lost = tuple(cell for cell in faults if not _is_blank(cell))
        return Column(at, name, label, "number", numbers, stated, lost, is_assumed)
    return Column(at, name, label, "text", texts)


def _periods(filled: Sequence[Cell], label: str) -> list[Period]:
    """The times of a column all of whose cells tell one of the same kind; none otherwise."""
    shown = [_shown(cell) for cell in filled]
    named = next((kind for word, kind in _NAMED_PERIODS.items() if word in plain(label).split()), None)
    if named and all(re.fullmatch(r"\d{1,4}|[ivIV]{1,3}", one) for one in shown):
        numbers = [_ROMAN.get(one.lower()) or int(one) if not one.isdigit() else int(one) for one in shown]
        most = {"month": 12, "quarter": 4}.get(named, 9999)
        if all(1 <= number <= most for number in numbers) and (named != "year" or min(numbers, default=0) > 1900):
            return [Period(named, None, number) for number in numbers]
        return []
    is_month_first = any(int(match[3]) > 12 for one in shown if (match := _NUMERIC_DAY.match(one.strip())))
    read = [read_period(one, is_month_first=is_month_first) for one in shown]
    found = [one for one in read if one is not None]
    return found if len(found) == len(shown) and len({(one.kind, one.first is None) for one in found}) == 1 else []


def _decimal_mark(digits: Sequence[str], language: Language) -> tuple[str, bool]:
    """The decimal mark of a column (empty = both are in use) and whether it was assumed."""
    found: set[str] = set()
    is_open = False
    for one in digits:
        marks = _MARK.findall(one)
        other = {".": ",", ",": "."}
        if len(set(marks)) == 2:
            found.add(marks[-1])
        elif len(marks) > 1:
            found.add(other[marks[0]])
        elif marks and (one.startswith("0") or not _GROUPED.fullmatch(one)):
            found.add(marks[0])
        elif marks:
            is_open = True
    if len(found) == 1:
        return found.pop(), False
    return ("" if found else "," if language == "vi" else "."), is_open and not found


def _value(match: re.Match[str], mark: str) -> Decimal | None:
    digits = _digits(match)
    marks = _MARK.findall(digits)
    if not mark and len(marks) == 1 and _GROUPED.fullmatch(digits):
        return None
    point = mark or (marks[-1] if marks and not (len(set(marks)) == 1 and len(marks) > 1) else "\0")
    whole, _, rest = digits.partition(point)
    if (_MARK.search(whole) and not _GROUPED.fullmatch(whole)) or _MARK.search(rest) or len(digits) > _MOST_DIGITS:
        return None
    if bool(match["open"]) != bool(match["close"]):
        return None
    try:
        value = Decimal(f"{_MARK.sub('', whole)}.{rest}").scaleb(SCALES.get(plain(match["scale"] or ""), 0))
    except InvalidOperation:
        return None
    is_negative = match["open"] or match["minus"] in ("-", "−") or match["minus2"] or match["behind"]
    return -value if is_negative else value


def _digits(match: re.Match[str]) -> str:
    return re.sub(r"[\s'’]", "", match["digits"]).rstrip(".,")


def _is_total(row: Sequence[Cell]) -> bool:
    """Whether a row adds others up: its first text is such a word, and further texts are few."""
    texts = [plain(cell) for cell in row if isinstance(cell, str) and not _is_blank(cell)]
    return bool(texts) and bool(_TOTALS.fullmatch(texts[0]))


def _is_blank(cell: Cell) -> bool:
    return isinstance(cell, str) and normalise(cell).lower() in _BLANKS


def _sql_text(value: Decimal | date | str | None) -> str | None:
    return format(value, "f") if isinstance(value, Decimal) else None if value is None else str(value)


def _shown(cell: Cell) -> str:
    return str(cell).strip()
