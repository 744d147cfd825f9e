"""Amounts as policies write them in both languages: money, durations, shares, counts, times of the day, dates.

Only what has a unit is an amount: numbers of articles, floors, forms and years are none.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from app.domain.knowledge import Language
from app.text.date_words import MONTH_NAMES
from app.text.language import fold
from app.text.numbers import Number, numbers_in
from app.text.numerals import VALUES

_SPELLINGS = {
    "VND": "dong vnd d", "GBP": "gbp pound pounds", "USD": "usd dollar dollars", "EUR": "eur euro euros",
    "percent": "% percent per_cent phan_tram", "second": "giay second seconds",
    "minute": "phut minute minutes min mins", "hour": "gio tieng hour hours hr hrs", "day": "ngay day days",
    "week": "tuan week weeks", "month": "thang month months", "year": "nam year years", "time": "lan times",
    "character": "ky_tu character characters", "person": "nguoi people person persons", "point": "diem point points",
    "km": "km kilometres kilometers", "GB": "gb", "MB": "mb",
}  # fmt: skip
"""Folded spellings of every unit that is compared; an underscore is a space."""
_UNITS = {spelling.replace("_", " "): unit for unit, listed in _SPELLINGS.items() for spelling in listed.split()}
UNIT_WORDS = {word: unit for spelling, unit in _UNITS.items() for word in spelling.split()}
"""The folded words that units are written with."""
CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR = "clock", "date", "day of the month", "day of the year"
_SIGNS = {"£": "GBP", "$": "USD", "€": "EUR", "₫": "VND"}
_CURRENCIES = frozenset(_SIGNS.values())
_ADJECTIVES = frozenset({"business", "working", "calendar", "full", "consecutive", "paid", "more", "a", "an"})
_PLURALS = frozenset({"days", "weeks", "months", "years", "hours"})
"""What one more word may stand before: ``three remote days``."""
_MONTH = rf"(?:{'|'.join(sorted(MONTH_NAMES, key=len, reverse=True))})\b\.?"
_NTH = r"(?:st|nd|rd|th)?"
_PLACED = re.compile(
    r"\b(?P<clock>\d{1,2}\s?[:h]\s?\d{2})(?:\s?(?P<half>[ap]\.?m\b|sáng\b|chiều\b|tối\b)|\b)"
    r"|\b(?P<oclock>\d{1,2})\s?(?:giờ\s(?P<part>sáng|trưa|chiều|tối)|(?P<noon>[ap]\.?m))\b"
    r"|\b(?P<y0>\d{4})-(?P<m0>\d{2})-(?P<d0>\d{2})\b"
    r"|(?<![\d/.,])(?P<d1>\d{1,2})/(?P<m1>\d{1,2})(?:/(?P<y1>\d{4})|(?<=\d\d/\d\d)|(?<=ngày \d/\d)"
    r"|(?<=ngày \d\d/\d)|(?<=ngày \d/\d\d))(?![/\d%])"
    r"|\bngày\s(?P<d2>\d{1,2})\stháng\s(?P<m2>\d{1,2})(?:\snăm\s(?P<y2>\d{4}))?\b"
    rf"|\b(?P<d3>\d{{1,2}}){_NTH}\s(?P<m3>{_MONTH})(?:,?\s(?P<y3>\d{{4}})\b)?"
    rf"|\b(?P<m4>{_MONTH})\s(?P<d4>\d{{1,2}}){_NTH}\b(?:,?\s(?P<y4>\d{{4}})\b)?"
    r"|\b(?:ngày|day)\s(?P<day>\d{1,2})\b(?![/.,-]?\d)",
    re.IGNORECASE,
)
_DATE_FORMS = "01234"
"""Ways to write a date in `_PLACED`, by the digit of its groups."""
_BEHIND = re.compile(r"[\s-]*(%|[^\W\d_]+(?:\s[^\W\d_]+){0,2})")
_BETWEEN = re.compile(r"\s?(?:-|–|đến|tới|to)\s?", re.IGNORECASE)
_RATE = re.compile(r"[\s-]*(?:rưỡi|ruoi|and a half)\b", re.IGNORECASE)
_CODE = re.compile(r"\b(vnd|usd|eur|gbp)\s$", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:thứ|điều|khoản|mục|tầng|bậc|trang|(?<!hệ )số|quý|tháng"
    r"|article|section|page|floor|level|grade|band|version)\s$",
    re.IGNORECASE,
)
"""Before a number that names something and counts nothing (``tháng 6 năm 2026``)."""
COUNTS_ONE = re.compile(r"(?:vòng|đa|thiểu|nhất|quá|trước|sau|nghỉ)\s$", re.IGNORECASE)
"""Before “một” that counts; elsewhere it is an article or says “each”."""
_VND_SCALE = re.compile(r"(?:triệu|trieu|tr|tỷ|tỉ|ty)(?:\s?(?:rưỡi|ruoi|\w+))?$", re.IGNORECASE)
"""A bare number that ends with it (``5 triệu``) is money."""
_SCALE = re.compile(
    r"(?<=[\d\s])(nghìn|ngàn|nghin|triệu|trieu|tr|tỷ|tỉ|ty|k|thousand|million|billion|bn)$", re.IGNORECASE
)
_A_YEAR = re.compile(r"(?:19|20)\d\d")
_SIGN_BEFORE = re.compile(r"[£$€₫]\s?$")
_NOON, _AROUND = 12, 12
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_MONTHS_IN = {"month": 1, "year": 12}
_HALF = Fraction(1, 2)


class Amount(NamedTuple):
    """A value with its unit, where it stands in the text."""

    unit: str
    """``VND day percent`` …, `CLOCK`, `DATE`, `DAY_OF_MONTH`, `DAY_OF_YEAR`."""
    value: Decimal
    """Scaled (``5 triệu`` is 5000000); minutes for `CLOCK`, yyyymmdd for `DATE`, mmdd for `DAY_OF_YEAR`."""
    start: int
    end: int


def amounts_in(text: str, language: Language | None = None) -> list[Amount]:
    """All amounts of `text` in order. With `language` one group of three digits is read by it (``1.500``); without, and
    beside a currency, it is thousands."""
    placed = [amount for match in _PLACED.finditer(text) if (amount := _placed(match))]
    counted: list[Amount] = []
    grouped = numbers_in(text, language, groups_first=True)
    before: Number | None = None
    for number, thousands in zip(numbers_in(text, language) if language else grouped, grouped, strict=True):
        if any(one.start < number.end and number.start < one.end for one in placed):
            continue
        unit, _ = _unit_around(text, number)
        before, last = (thousands if unit in _CURRENCIES else number), before
        counted += _counted(text, before, last)
    return sorted((*placed, *counted), key=lambda amount: amount.start)


def length_of_time(unit: str, value: Decimal) -> tuple[str, Decimal] | None:
    """A duration in seconds or, from a month on, in months, since a month has no length in days; None for what is no
    duration."""
    if unit in _SECONDS:
        return "second", value * _SECONDS[unit]
    return ("month", value * _MONTHS_IN[unit]) if unit in _MONTHS_IN else None


def _placed(match: re.Match[str]) -> Amount | None:
    """The time of the day, the date or the day that is written; None of a date that does not exist."""
    if match["clock"] or match["oclock"]:
        return Amount(CLOCK, _time_of_day(match), *match.span())
    if match["day"]:
        return Amount(DAY_OF_MONTH, Decimal(match["day"]), *match.span())
    day, month, year = next(
        match.group(f"d{form}", f"m{form}", f"y{form}") for form in _DATE_FORMS if match[f"d{form}"]
    )
    number = int(month) if month.isdigit() else MONTH_NAMES[month.lower().rstrip(".")]
    of_year = number * 100 + int(day)
    if month == "may" or not (1 <= number <= 12 and 1 <= int(day) <= 31):
        return None
    unit, value = (DATE, int(year) * 10_000 + of_year) if year else (DAY_OF_YEAR, of_year)
    return Amount(unit, Decimal(value), *match.span())


def _time_of_day(match: re.Match[str]) -> Decimal:
    written = re.split(r"\s?[:hH]\s?", match["clock"]) if match["clock"] else [match["oclock"], "0"]
    hour, part = int(written[0]), (match["half"] or match["noon"] or match["part"] or "").lower()
    if hour < _NOON and (part[:1] == "p" or part in ("chiều", "tối")):
        hour += _NOON
    elif hour == _NOON and part[:1] == "a":
        hour = 0
    return Decimal(hour * 60 + int(written[1]))


def _counted(text: str, number: Number, before: Number | None) -> Iterator[Amount]:
    """The amount a number makes with its unit, and that of the other end of its range."""
    unit, end = _unit_around(text, number)
    if not unit or _is_name(text, number):
        return
    value, start = abs(number.exact), number.start
    if (rest := _RATE.match(text, end)) and end > number.end:
        value, end = value + _HALF, rest.end()
    if unit in _CURRENCIES and (sign := _SIGN_BEFORE.search(text[:start][-2:])):
        start -= len(sign[0])
    if before and _BETWEEN.fullmatch(text, before.end, number.start) and not _unit_around(text, before)[0]:
        scale = _SCALE.search(text[number.start : number.end])
        power = VALUES[scale[1].lower()] if scale and not before.is_spelled else 0
        start = before.start
        yield Amount(unit, Number(abs(before.exact) * 10**power, 0, 0).value, start, end)
    yield Amount(unit, Number(value, 0, 0).value, start, end)


def _is_name(text: str, number: Number) -> bool:
    """Whether a number names something (“Điều 5”, a year), or is “một” that counts nothing."""
    written, before = text[number.start : number.end], text[max(0, number.start - _AROUND) : number.start]
    if before[-1:] in ("/", ".", ","):
        return not number.is_spelled
    if written.lower() == "một":
        return not COUNTS_ONE.search(before) and not _RATE.match(text, _unit_around(text, number)[1])
    return bool(not number.is_spelled and (_NUMBERED.search(before) or _A_YEAR.fullmatch(written)))


def _unit_around(text: str, number: Number) -> tuple[str, int]:
    """The unit of a number and where the amount ends; empty when it has none."""
    sign = text[max(0, number.start - 2) : number.start].rstrip()[-1:]
    if sign in _SIGNS:
        return _SIGNS[sign], number.end
    if behind := _BEHIND.match(text, number.end):
        spoken = list(re.finditer(r"\S+", behind[1]))
        unit, size = _unit([word[0] for word in spoken])
        if unit:
            return unit, behind.start(1) + spoken[size - 1].end()
    if code := _CODE.search(text[max(0, number.start - 4) : number.start]):
        return code[1].upper(), number.end
    is_money = number.is_spelled and number.exact >= 10**6 and _VND_SCALE.search(text[number.start : number.end])
    return ("VND" if is_money else ""), number.end


def _unit(spoken: Sequence[str]) -> tuple[str, int]:
    """The unit a row of words begins with, and how many of them it takes; empty when it is none that is compared."""
    words = [fold(word).lower() for word in spoken]
    first = int(len(words) > 1 and (words[0] in _ADJECTIVES or (words[0] not in _UNITS and words[1] in _PLURALS)))
    for after in (first + 2, first + 1):
        if unit := _UNITS.get(" ".join(words[first:after])):
            return unit, min(after, len(words))
    return "", 0
