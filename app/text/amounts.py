"""Amounts as policies write them in both languages: money, durations, shares, counts, times of the day, dates.

Only what has a unit is an amount: numbers of articles, floors, forms and years are none.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from app.domain.knowledge import Language
from app.text.language import fold
from app.text.numerals import SPELT, spelt_value

_SPELLINGS = {
    "VND": "dong vnd d", "GBP": "gbp pound pounds", "USD": "usd dollar dollars", "EUR": "eur euro euros",
    "percent": "% percent per_cent phan_tram", "second": "giay second seconds",
    "minute": "phut minute minutes min mins", "hour": "gio tieng hour hours", "day": "ngay day days",
    "week": "tuan week weeks", "month": "thang month months", "year": "nam year years", "time": "lan times",
    "character": "ky_tu character characters", "person": "nguoi people persons", "point": "diem point points",
    "km": "km kilometres kilometers", "GB": "gb", "MB": "mb",
}  # fmt: skip
"""Folded spellings of every unit that is compared; an underscore is a space."""
_UNITS = {spelling.replace("_", " "): unit for unit, listed in _SPELLINGS.items() for spelling in listed.split()}
UNIT_WORDS = {word: unit for spelling, unit in _UNITS.items() for word in spelling.split()}
"""The folded words that units are written with."""
CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR = "clock", "date", "day of the month", "day of the year"
_SIGNS = {"£": "GBP", "$": "USD", "€": "EUR", "₫": "VND"}
_SCALES = {"nghin": 3, "ngan": 3, "k": 3, "thousand": 3, "trieu": 6, "million": 6, "ty": 9, "ti": 9, "billion": 9}
_MILLION = 6
"""From here on a bare number (``5 triệu``) is money."""
_ADJECTIVES = frozenset({"business", "working", "calendar", "full", "consecutive", "paid", "more"})
_PLURALS = frozenset({"days", "weeks", "months", "years", "hours"})
"""What one more word may stand before: ``three remote days``."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_GROUPED = r"\d{1,3}(?:[.,]\d{3}){1,5}"
_NUMBER = rf"(?:{_GROUPED}(?:[.,]\d{{1,2}})?(?!\d)|\d{{1,15}}(?:[.,]\d{{1,6}})?(?!\d))"
_AMOUNT = re.compile(
    rf"(?P<sign>[£$€₫])\s?(?P<paid>{_NUMBER})(?:\s?(?P<times>k|thousand|million|billion)\b)?"
    r"|\b(?P<clock>\d{1,2}\s?[:h]\s?\d{2})(?:\s?(?P<half>[ap]\.?m\b|sáng\b|chiều\b|tối\b)|\b)"
    r"|\b(?P<oclock>\d{1,2})\s?(?:giờ\s(?P<part>sáng|trưa|chiều|tối)|(?P<noon>[ap]\.?m))\b"
    r"|\b(?P<y0>\d{4})-(?P<m0>\d{2})-(?P<d0>\d{2})\b"
    r"|(?<![\d/.,])(?P<d1>\d{1,2})/(?P<m1>\d{1,2})(?:/(?P<y1>\d{4})|(?<=\d\d/\d\d)|(?<=ngày \d/\d)"
    r"|(?<=ngày \d\d/\d)|(?<=ngày \d/\d\d))(?![/\d%])"
    r"|\bngày\s(?P<d2>\d{1,2})\stháng\s(?P<m2>\d{1,2})(?:\snăm\s(?P<y2>\d{4}))?\b"
    rf"|\b(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s(?P<m3>{_MONTH})(?:,?\s(?P<y3>\d{{4}})\b)?"
    rf"|\b(?P<m4>{_MONTH})\s(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?P<y4>\d{{4}})\b)?"
    r"|\b(?:ngày|day)\s(?P<day>\d{1,2})\b(?![/.,-]?\d)"
    rf"|(?<![\w.,/])(?:(?P<low>{_NUMBER})\s?(?:-|–|đến|tới|to)\s?)?"
    rf"(?P<number>{_NUMBER}|\b{SPELT}\b)[\s-]*(?P<unit>%|[^\W\d_]+(?:\s[^\W\d_]+){{0,2}})",
    re.IGNORECASE,
)
_DATE_FORMS = "01234"
"""Ways to write a date in `_AMOUNT`, by the digit of its groups."""
_NUMBERED = re.compile(
    r"(?:thứ|điều|khoản|mục|tầng|bậc|trang|số|quý|tháng|article|section|page|floor|level|grade|band|version)\s$",
    re.IGNORECASE,
)
"""Before a number that names something and counts nothing (``tháng 6 năm 2026``)."""
_A_YEAR = re.compile(r"(?:19|20)\d\d")
_NOON = 12
_CURRENCIES = frozenset({"VND", "GBP", "USD", "EUR"})
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_MONTHS_IN = {"month": 1, "year": 12}
_DECIMALS: dict[Language, str] = {"vi": r"\d{1,3},\d{3}", "en": r"\d{1,3}\.\d{3}"}
"""What looks like a group of thousands and is a fraction in this language."""


class Amount(NamedTuple):
    """A value with its unit, where it stands in the text."""

    unit: str
    """``VND day percent`` …, `CLOCK`, `DATE`, `DAY_OF_MONTH`, `DAY_OF_YEAR`."""
    value: Decimal
    """Scaled (``5 triệu`` is 5000000); minutes for `CLOCK`, yyyymmdd for `DATE`, mmdd for `DAY_OF_YEAR`."""
    start: int
    end: int


def amounts_in(text: str, language: Language | None = None) -> Iterator[Amount]:
    """All amounts of `text` in order; both ends of a range (``3 đến 5 ngày``) are amounts.

    With `language` one group of three digits is read by it: ``1.500`` is 1500 in Vietnamese and 1.5 in English,
    ``1,500`` the reverse; without, and beside a currency, both are thousands.
    """
    for match in _AMOUNT.finditer(text):
        for unit, value in _read(match, language):
            yield Amount(unit, value, match.start(), _end(match, unit))


def length_of_time(unit: str, value: Decimal) -> tuple[str, Decimal] | None:
    """A duration in seconds or, from a month on, in months: ``2 tuần`` is ``14 ngày``, ``one year`` is ``12 months``.

    None for what is no duration. A month has no length in days, and none is made up.
    """
    if unit in _SECONDS:
        return "second", value * _SECONDS[unit]
    return ("month", value * _MONTHS_IN[unit]) if unit in _MONTHS_IN else None


def _read(match: re.Match[str], language: Language | None) -> Iterator[tuple[str, Decimal]]:
    if match["clock"] or match["oclock"]:
        yield CLOCK, _time_of_day(match)
    elif match["day"]:
        yield DAY_OF_MONTH, Decimal(match["day"])
    elif match["paid"]:
        yield _SIGNS[match["sign"]], _number(match["paid"], _SCALES.get((match["times"] or "").lower(), 0))
    elif match["unit"]:
        yield from _counted(match, language)
    else:
        yield from _dates(match)


def _time_of_day(match: re.Match[str]) -> Decimal:
    written = re.split(r"\s?[:hH]\s?", match["clock"]) if match["clock"] else [match["oclock"], "0"]
    hour, part = int(written[0]), (match["half"] or match["noon"] or match["part"] or "").lower()
    if hour < _NOON and (part[:1] == "p" or part in ("chiều", "tối")):
        hour += _NOON
    elif hour == _NOON and part[:1] == "a":
        hour = 0
    return Decimal(hour * 60 + int(written[1]))


def _counted(match: re.Match[str], language: Language | None) -> Iterator[tuple[str, Decimal]]:
    spoken = match["unit"].split()
    scale = _SCALES.get(fold(spoken[0]).lower(), 0)
    unit = _unit(spoken[1:] if scale else spoken) or ("VND" if scale >= _MILLION else "")
    before = match.string[max(0, match.start() - 12) : match.start()]
    is_name = not scale and (_NUMBERED.search(before) or _A_YEAR.fullmatch(match["number"]))
    if unit and not is_name:
        for written in filter(None, (match["low"], match["number"])):
            yield unit, _number(written, scale, None if unit in _CURRENCIES else language)


def _unit(spoken: Sequence[str]) -> str:
    """The unit a row of words begins with; empty when it is none that is compared."""
    words = [fold(word).lower() for word in spoken]
    if len(words) > 1 and (words[0] in _ADJECTIVES or (words[0] not in _UNITS and words[1] in _PLURALS)):
        words = words[1:]
    return _UNITS.get(" ".join(words[:2])) or _UNITS.get(" ".join(words[:1]), "")


def _end(match: re.Match[str], unit: str) -> int:
    """The pattern reads on into the words behind the unit, which are none of it."""
    spoken = [(word.end(), word[0]) for word in re.finditer(r"\S+", match["unit"] or "")]
    for size in range(1, len(spoken)):
        words = [word for _, word in spoken[:size]]
        if unit in (_unit(words), _unit(words[1:])):
            return match.start("unit") + spoken[size - 1][0]
    return match.end()


def _dates(match: re.Match[str]) -> Iterator[tuple[str, Decimal]]:
    for form in _DATE_FORMS:
        if match[f"d{form}"]:
            day, month, year = int(match[f"d{form}"]), match[f"m{form}"].lower(), match[f"y{form}"]
            number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
            of_year = number * 100 + day
            is_verb = match[f"m{form}"] == "may"
            if 1 <= number <= 12 and 1 <= day <= 31 and not is_verb:
                yield (DATE, Decimal(int(year) * 10_000 + of_year)) if year else (DAY_OF_YEAR, Decimal(of_year))


def _number(written: str, scale: int = 0, language: Language | None = None) -> Decimal:
    """The value of a written number; one group of three digits is thousands unless the language says otherwise."""
    spelt = None if written[0].isdigit() else spelt_value(written)
    if spelt is not None:
        return spelt.scaleb(scale)
    if language and re.fullmatch(_DECIMALS[language], written):
        return Decimal(written.replace(",", ".")).scaleb(scale)
    groups = re.fullmatch(rf"({_GROUPED})(?:[.,](\d{{1,2}}))?", written)
    digits = f"{re.sub('[.,]', '', groups[1])}.{groups[2] or 0}" if groups else written.replace(",", ".")
    return Decimal(digits).scaleb(scale)
