"""Days, months and years a question names, Vietnamese and English: ``1/3/2025``, ``tháng 3 năm ngoái``, ``Q1 2024``.

Dates are written day first. A time is kept with its first and last day; what it means for the question is told
elsewhere (`as_of`).
"""

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from app.reasoning.local.cues import alternatives
from app.text.date_words import MONTH_NAMES
from app.text.language import fold

Grain = Literal["day", "month", "year"]

_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}
_NUMBERS = {"mot": 1, "hai": 2, "ba": 3, "bon": 4, "one": 1, "two": 2, "three": 3, "four": 4}
_D = r"(?P<day>0?[1-9]|[12][0-9]|3[01])"
_M = r"(?P<month>0?[1-9]|1[0-2])"
_Y = r"(?P<year>(?:19|20)[0-9]{2})"
_NAMED = rf"(?P<named>{'|'.join(sorted(MONTH_NAMES, key=len, reverse=True))})\b\.?"
_TH = r"(?:st|nd|rd|th)?"
_LAST_YEAR = r"(?P<last_year>nam (?:ngoai|truoc|roi|vua roi|vua qua)|(?:of )?(?:last|the previous) year)"
_OF_YEAR = rf"(?:(?: nam |,? ?/ ?|, | of | ){_Y}| {_LAST_YEAR})"
_PARTS = "dau|giua|cuoi|early(?: in)?|mid|late|the (?:beginning|start|end) of"
_PART = rf"(?:(?P<part>{_PARTS})[ -])?"
_MAKES_A_YEAR = re.compile(
    r"\b(?:(?:trong|hoi|tu|truoc|sau|year|in|during|for|of|since|from|before|after|until)(?: the)?|"
    rf"(?:{alternatives('as_of.rule')})(?: \w+){{0,3}}) $"
)
"""Before a bare number: “in 2024”, “chính sách nghỉ phép 2024”."""
_NEAR = 60
"""Characters before a number that are looked at."""
_COUNTED = re.compile(r" ?(?:dong|vnd|usd|eur|gbp|cad|d\b|k\b|%|km|kg|m2|gio|phut|ngay|nguoi|lan|hours|days|people|\+)")
"""After a bare number that counts something."""
_YEAR_OF_RULES = re.compile(rf" (?:\w+ ){{0,3}}?(?:{alternatives('as_of.rule_after')})\b")
"""After it: “the 2024 leave policy”."""


@dataclass(frozen=True, slots=True)
class Time:
    """One mention of a time, and where it stands."""

    start: int
    end: int
    first: date
    last: date
    grain: Grain
    is_dated: bool
    """Names its year, by number or as the last one; otherwise the last such time that has come is meant."""


@dataclass(frozen=True, slots=True)
class Times:
    """Every time a text mentions."""

    known: tuple[Time, ...]
    others: int
    """Mentions of other times: today, this week, next year, a year that may be a mere number."""


_Reading = tuple[date, date, Grain, bool]
_Reader = Callable[[re.Match[str], date], _Reading | None]


def flat_of(text: str) -> str:
    """`text` in lower case without diacritics, every character at its old place."""
    return "".join(plain if len(plain := fold(character).lower()) == 1 else character for character in text)


def times_in(flat: str, today: date) -> Times:
    """The times in a text made by `flat_of`, in order; of overlapping ones the one that begins first, then the longest.

    Days that do not exist count as other mentions.
    """
    marks = sorted(
        ((mark, reader) for pattern, reader in _RULES for mark in pattern.finditer(flat)),
        key=lambda pair: (pair[0].start(), -pair[0].end()),
    )
    known: list[Time] = []
    others = end = 0
    for mark, reader in marks:
        if mark.start() < end:
            continue
        end = mark.end()
        reading = _read(mark, reader, today)
        if reading is None:
            others += 1
        else:
            known.append(Time(mark.start(), mark.end(), *reading))
    return Times(tuple(known), others)


def _read(mark: re.Match[str], reader: _Reader, today: date) -> _Reading | None:
    try:
        return reader(mark, today)
    except (ValueError, OverflowError):
        return None


def _year_of(mark: re.Match[str], today: date) -> int | None:
    """The year that is named; None when none is."""
    groups = mark.groupdict()
    if written := groups.get("year"):
        return int(written) + (2000 if len(written) == 2 else 0)
    return today.year - 1 if groups.get("last_year") else None


def _month_of(mark: re.Match[str]) -> int:
    groups = mark.groupdict()
    named = groups.get("named")
    return MONTH_NAMES[named] if named else int(groups["month"])


def _day(mark: re.Match[str], today: date) -> _Reading:
    year, month, day = _year_of(mark, today), _month_of(mark), int(mark["day"])
    if year is not None:
        return (one := date(year, month, day)), one, "day", True
    this_year = date(today.year, month, day)
    one = this_year if this_year <= today else date(today.year - 1, month, day)
    return one, one, "day", False


def _month(mark: re.Match[str], today: date) -> _Reading:
    year, month = _year_of(mark, today), _month_of(mark)
    supposed = today.year - (month > today.month)
    return *_months(year or supposed, month, 1, mark["part"]), "month", year is not None


def _quarter(mark: re.Match[str], today: date) -> _Reading:
    number = _ROMAN.get(mark["quarter"]) or int(mark["quarter"])
    return *_months(int(mark["year"]), 3 * number - 2, 3), "month", True


def _year(mark: re.Match[str], _today: date) -> _Reading | None:
    """A number is a year when something around it says so."""
    part = mark["part"]
    if not (mark["said"] or part) and (_COUNTED.match(mark.string, mark.end()) or not _stands_for_a_year(mark)):
        return None
    return *_months(int(mark["year"]), 1, 12, part), "year", True


def _stands_for_a_year(mark: re.Match[str]) -> bool:
    before = mark.string[: mark.start()][-_NEAR:]
    return bool(_MAKES_A_YEAR.search(before) or _YEAR_OF_RULES.match(mark.string, mark.end()))


def _last_year(_mark: re.Match[str], today: date) -> _Reading:
    return *_months(today.year - 1, 1, 12), "year", True


def _years_ago(mark: re.Match[str], today: date) -> _Reading:
    count = mark["count"]
    return *_months(today.year - (_NUMBERS.get(count) or int(count)), 1, 12), "year", True


def _last_month(_mark: re.Match[str], today: date) -> _Reading:
    last = today.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last, "month", True


def _other(_mark: re.Match[str], _today: date) -> None:
    return None


def _months(year: int, month: int, count: int, part: str | None = None) -> tuple[date, date]:
    """First and last day of `count` months, or twice the one day that stands for their beginning, middle or end."""
    last_month = month + count - 1
    first = date(year, month, 1)
    last = date(year, last_month, calendar.monthrange(year, last_month)[1])
    if part is None:
        return first, last
    if re.search("dau|early|beginning|start", part):
        return first, first
    middle = first + (last - first) / 2
    return (middle, middle) if re.search("giua|mid", part) else (last, last)


_RULES: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (rf"(?:\bngay )?(?<![\d/.-]){_Y}-{_M}-{_D}(?![\d/-])", _day),
        (rf"(?:\bngay )?(?<![\d/.-]){_D}(?P<sign>[/.-]){_M}(?P=sign)(?P<year>(?:19|20)?[0-9]{{2}})(?![\d/])", _day),
        (rf"(?:\bngay )?\b{_D} thang {_M}(?:{_OF_YEAR})?(?!\d)", _day),
        (rf"\b(?:the )?{_D}{_TH} (?:of )?{_NAMED}(?:,? {_Y}| {_LAST_YEAR})?", _day),
        (rf"\b{_NAMED} {_D}{_TH}(?![\d:])(?:,? {_Y})?", _day),
        (rf"(?:\bngay )?(?<![\d/.,]){_D}/{_M}(?![\d/])", _day),
        (rf"\b{_PART}thang {_M}(?:{_OF_YEAR})?(?!\d)", _month),
        (rf"\b{_PART}{_NAMED}(?:,? (?:of )?{_Y}| {_LAST_YEAR})", _month),
        (rf"\b{_PART}(?<![\d/]){_M}/{_Y}(?![\d/])", _month),
        (rf"\b(?:quy|q) ?(?P<quarter>[1-4]|iv|i{{1,3}})(?:/| nam |,? | of ){_Y}", _quarter),
        (rf"\b{_PART}(?P<said>nam )?(?<![\d/.,])(?<!\d-){_Y}(?![\d/]|[.,-]\d)", _year),
        (rf"(?<!\d )\b{_LAST_YEAR}\b(?! khi)", _last_year),
        (r"\b(?P<count>\d|mot|hai|ba|bon|one|two|three|four) (?:nam truoc(?! khi)|years? ago)\b", _years_ago),
        (r"(?<!\d )\b(?:thang (?:truoc|roi|vua roi|vua qua)(?! khi)|last month|the previous month)\b", _last_month),
        (rf"\b(?:{alternatives('times.other')})\b", _other),
    )
)  # fmt: skip
