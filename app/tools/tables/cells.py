"""What cells say: numbers as people write them in both languages, and days, months, quarters and years.

How a number is written belongs to its column: one cell ``12,5`` tells how ``1.500`` below it is meant.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from app.domain.attachments import Cell
from app.domain.knowledge import Language
from app.text.language import fold

_CURRENCIES = {
    "đ": "đ", "₫": "đ", "vnd": "đ", "vnđ": "đ", "đồng": "đ", "dong": "đ", "$": "$", "usd": "$", "€": "€", "eur": "€",
    "£": "£", "gbp": "£",
}  # fmt: skip
_SCALES = {
    "nghìn": 3, "nghin": 3, "ngàn": 3, "ngan": 3, "k": 3, "triệu": 6, "trieu": 6, "tr": 6, "tỷ": 9, "tỉ": 9, "ty": 9,
    "thousand": 3, "million": 6, "billion": 9,
}  # fmt: skip
_MONEY = "|".join(sorted(map(re.escape, _CURRENCIES), key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-−–+])?\s*(?P<before>{_MONEY})?\s*(?P<inner>[-−])?"
    r"(?P<digits>\d+(?:[.,]\d+)*|\d{1,3}(?: \d{3})+(?:[.,]\d+)?)"
    rf"(?:\s?(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})(?![^\W\d_]))?"
    rf"\s*(?P<after>%|(?:{_MONEY})(?![^\W\d_]))?(?P<word>\s[^\W\d_]{{1,12}})?\s*(?P<trailing>[-−])?(?P<close>\))?",
    re.IGNORECASE,
)
_MOST_CHARS, _MOST_DIGITS = 60, 40
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_NOTHING = frozenset({"", "-", "–", "—", "n/a", "na", "null", "none", "không có", "chưa có", "trống"})


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """The numbers of a column, row by row."""

    values: tuple[Decimal | None, ...]
    blanks: frozenset[int]
    """Rows whose cell says nothing: empty, ``-``, ``n/a``."""
    units: tuple[str, ...]
    """Every unit its cells name, the most frequent first; ``%`` values stand as written: 12,5 % is 12.5."""
    assumed: bool = False
    """Whether nothing in the column tells ``1.500`` from ``1,500``, and the language decided."""
    mark: str = ""
    """The sign before decimals as the cells show it; empty where they do not."""

    @property
    def readable(self) -> int:
        """How many cells are numbers."""
        return sum(value is not None for value in self.values)

    @property
    def is_numeric(self) -> bool:
        """Whether most cells that say anything are numbers."""
        filled = len(self.values) - len(self.blanks)
        return filled > 0 and self.readable * 2 > filled


@dataclass(frozen=True, slots=True)
class When:
    """A day, month, quarter or year; what is not said is None."""

    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def quarter_of(self) -> int | None:
        """Its quarter, also where its month tells it."""
        return self.quarter or ((self.month - 1) // 3 + 1 if self.month else None)

    @property
    def is_valid(self) -> bool:
        """Whether there is such a time."""
        return (self.month is None or 1 <= self.month <= 12) and (self.day is None or 1 <= self.day <= 31)


def is_nothing(cell: Cell) -> bool:
    """Whether a cell says nothing."""
    return isinstance(cell, str) and cell.strip().casefold() in _NOTHING


def read_numbers(cells: Sequence[Cell], language: Language, unit: str = "") -> NumberColumn:
    """The numbers of a column. A cell that could mean two numbers is none.

    Args:
        cells: Of every row, in order.
        language: Of the file; decides where the whole column leaves it open.
        unit: Of the cells that are numbers already.
    """
    found = [None if isinstance(cell, int | float) else _match(cell) for cell in cells]
    marks = Counter(mark for match in found if match and (mark := decimal_mark(match["digits"])))
    money = any(match and _unit(match) == "đ" for match in found)
    by_habit = "," if money or language == "vi" else "."
    mark = next(iter(marks)) if len(marks) == 1 else "" if marks else by_habit
    values: list[Decimal | None] = []
    units: Counter[str] = Counter()
    for cell, match in zip(cells, found, strict=True):
        value = Decimal(repr(cell)) if isinstance(cell, int | float) else None if match is None else _value(match, mark)
        values.append(value)
        named = unit if isinstance(cell, int | float) else _unit(match) if match and value is not None else ""
        units[named] += bool(named)
    is_open = any(match and _is_open(match["digits"]) for match in found)
    return NumberColumn(
        values=tuple(values),
        blanks=frozenset(row for row, cell in enumerate(cells) if is_nothing(cell)),
        units=tuple(name for name, _ in (+units).most_common()),
        assumed=is_open and not marks and not money,
        mark=mark if len(marks) == 1 else "",
    )


def decimal_mark(digits: str) -> str:
    """The sign before the decimals as these digits alone tell it; "" when they do not."""
    signs = [char for char in digits if char in ".,"]
    if not signs or _is_open(digits):
        return ""
    if len(set(signs)) == 2:
        return signs[-1]
    if len(signs) > 1:
        return "," if signs[0] == "." else "."
    return signs[0]


def _is_open(digits: str) -> bool:
    """``1.500``: thousands in one language, decimals in the other."""
    whole, _, rest = digits.replace(",", ".").partition(".")
    return digits.count(".") + digits.count(",") == 1 and len(rest) == 3 and len(whole) <= 3 and whole != "0"


def _match(text: str) -> re.Match[str] | None:
    text = text.strip()
    found = _NUMBER.fullmatch(text) if len(text) <= _MOST_CHARS else None
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    return found if sum(map(str.isdigit, found["digits"])) <= _MOST_DIGITS else None


def _value(match: re.Match[str], mark: str) -> Decimal | None:
    digits = match["digits"].replace(" ", "")
    own = decimal_mark(digits)
    if not mark and not own and _is_open(digits):
        return None  # the column is written in both ways
    value = _plain(digits, own or mark)
    if value is None:
        return None
    if match["scale"]:
        value = value.scaleb(_SCALES[match["scale"].lower()])
    is_negative = match["open"] or match["sign"] in ("-", "−", "–") or match["inner"] or match["trailing"]
    return -value if is_negative else value


def _plain(digits: str, mark: str) -> Decimal | None:
    if mark and mark in digits:
        whole, _, fraction = digits.rpartition(mark)
        if mark in whole:
            return None
    else:
        whole, fraction = digits, ""
    if re.search("[.,]", whole) and not _GROUPED.fullmatch(whole):
        return None
    return Decimal(f"{re.sub('[.,]', '', whole)}.{fraction or 0}") if fraction else Decimal(re.sub("[.,]", "", whole))


def _unit(match: re.Match[str]) -> str:
    if match["after"] == "%":
        return "%"
    money = (match["after"] or match["before"] or "").lower()
    return _CURRENCIES.get(money, (match["word"] or "").strip())


_MONTHS = (
    "jan january", "feb february", "mar march", "apr april", "may may", "jun june", "jul july", "aug august",
    "sep september", "oct october", "nov november", "dec december",
)  # fmt: skip
MONTH_WORDS = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WHENS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?:[ t]\d{{1,2}}:\d\d.*)?",
        rf"(?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})[-/.]{_YEAR}(?: \d{{1,2}}:\d\d.*)?",
        rf"(?P<day>\d{{1,2}}) (?P<word>{'|'.join(MONTH_WORDS)})\.?,? {_YEAR}",
        rf"(?P<word>{'|'.join(MONTH_WORDS)})\.? (?P<day>\d{{1,2}}),? {_YEAR}",
        rf"{_YEAR}[-/.](?P<month>\d{{1,2}})",
        rf"(?:thang |t)?(?P<month>\d{{1,2}}) ?(?:[-/.]|nam) ?{_YEAR}",
        r"(?:thang |t|month |m)(?P<month>\d{1,2})",
        rf"(?P<word>{'|'.join(MONTH_WORDS)})\.?(?: {_YEAR})?",
        rf"(?:quy |q|quarter )(?P<quarter>[1-4]|iv|i{{1,3}})(?: ?(?:[-/., ]|nam) ?{_YEAR})?",
        rf"{_YEAR} ?[-/]? ?q(?P<quarter>[1-4])",
        rf"nam {_YEAR}",
    )
)  # fmt: skip
_BARE = {"thang": "month", "month": "month", "quy": "quarter", "quarter": "quarter", "nam": "year", "year": "year"}
_BARE_RANGES = {"month": range(1, 13), "quarter": range(1, 5), "year": range(1900, 2100)}


def read_whens(cells: Sequence[Cell], name: str) -> tuple[When | None, ...]:
    """The time each cell of a column names. ``3/4/2026`` is the third of April, unless another cell shows that months
    come first; `name` tells what a bare ``4`` is."""
    texts = [_folded(str(cell)) for cell in cells]
    firsts = [match for text in set(texts) if (match := _WHENS[1].fullmatch(text))]
    month_first = any(int(m["second"]) > 12 for m in firsts) and not any(int(m["first"]) > 12 for m in firsts)
    bare = next((kind for word, kind in _BARE.items() if word in fold(name).lower().split()), "")
    return tuple(_when(text, month_first, bare) for text in texts)


@lru_cache(maxsize=8192)
def _folded(text: str) -> str:
    return " ".join(fold(text).lower().split())


@lru_cache(maxsize=8192)
def _when(text: str, month_first: bool, bare: str) -> When | None:
    if bare and (number := ROMAN.get(text) if bare == "quarter" else None) is not None:
        return When(quarter=number)
    if bare and text.isdecimal() and len(text) < 5 and int(text) in _BARE_RANGES[bare]:
        return When(**{bare: int(text)})
    if len(text) > _MOST_CHARS:
        return None
    for pattern in _WHENS:
        if match := pattern.fullmatch(text):
            return _checked(match.groupdict(), month_first)
    return None


def _checked(said: dict[str, str | None], month_first: bool) -> When | None:
    day, month = said.get("day"), said.get("month")
    if first := said.get("first"):
        day, month = (said["second"], first) if month_first else (first, said["second"])
    quarter = said.get("quarter")
    found = When(
        year=int(said["year"]) if said.get("year") else None,  # type: ignore[arg-type]
        quarter=ROMAN.get(quarter) or int(quarter) if quarter else None,
        month=MONTH_WORDS[said["word"]] if said.get("word") else int(month) if month else None,  # type: ignore[index]
        day=int(day) if day else None,
    )
    return found if found.is_valid else None


def share_of(found: Iterable[object | None], filled: int) -> float:
    """How many of the cells that say anything were read, 0–1."""
    return sum(one is not None for one in found) / filled if filled else 0.0
