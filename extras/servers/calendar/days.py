"""Read and reckon days: differences, shifts, names, and one day as somebody writes it, with what was assumed.

Everything is bounded by `FIRST` and `LAST`. What words mean is read by `app.text.dates`; here it is told what else they
may mean (an English ``3/2``, “next Friday”), and dates of the lunar calendar are refused.
"""

import re
import tomllib
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from app.domain.knowledge import Language
from app.domain.record import Record
from app.errors import ToolFailed
from app.text.date_rules import shifted_by_months
from app.text.dates import LUNAR, date_in
from app.text.language import fold, normalise

FIRST, LAST = date(1901, 1, 1), date(2100, 12, 31)
"""The years whose public holidays are known; outside nothing is computed."""
MAX_STEPS = 80_000
"""Days, weeks, months or years a date is shifted by, at most: more leaves the calendar anyhow."""
TEXTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))
MAX_CHARS = 100
_DIGITS = re.compile(r"(?:on |the )*(?P<first>\d{1,2})(?P<sign>[-/.])(?P<second>\d{1,2})(?P<year>(?P=sign)\d{2,4})?")
_NEAR_WEEKDAY = re.compile(r"(?P<which>next|last) (?P<day>[a-z]{3,9})")
_EARLY = re.compile(r"\b(?:mung|mong|thang gieng|thang chap)\b")
_ANOTHER_TIME = timedelta(days=4 * 365 + 1 + 40)
"""From now on, days without a year fall on the same day of another year, and days counted from today do not."""
Unit = Literal["days", "weeks", "months", "years"]


class Refusal(StrEnum):
    """Why nothing is computed."""

    NO_DATE = "not_a_date"
    OUT_OF_RANGE = "out_of_range"
    UNKNOWN_COUNTRY = "unknown_country"
    UNKNOWN_ZONE = "unknown_zone"
    LUNAR = "lunar_calendar"


class CannotReckon(ToolFailed):
    """A date or a place nothing is known about."""

    def __init__(self, refusal: Refusal, about: str):
        super().__init__(f"{refusal.value}: {about[:60]}")
        self.refusal = refusal


class Difference(Record):
    """How far two days are apart."""

    result: int
    """The days."""
    days: int
    """Negative when the second comes first."""
    weeks: int
    """Whole weeks in it, without sign."""
    years: int
    months: int
    """Months beyond the whole years."""
    rest_days: int
    """Days beyond the whole months."""


def checked(day: date) -> date:
    """`day` itself. Raises `CannotReckon` outside the calendar."""
    if not FIRST <= day <= LAST:
        raise CannotReckon(Refusal.OUT_OF_RANGE, f"dates lie between {FIRST} and {LAST}")
    return day


def difference(start: date, end: date, *, inclusive: bool = False) -> Difference:
    """From `start` to `end`; with `inclusive` both of them are counted."""
    checked(start), checked(end)
    sign = -1 if end < start else 1
    first, last = min(start, end), max(start, end) + timedelta(days=int(inclusive))
    days = (last - first).days
    months = (last.year - first.year) * 12 + last.month - first.month
    if shifted_by_months(first, months) > last:
        months -= 1
    rest = (last - shifted_by_months(first, months)).days
    return Difference(
        result=sign * days, days=sign * days, weeks=days // 7, years=months // 12, months=months % 12, rest_days=rest
    )


def shifted(start: date, amount: int, unit: Unit) -> date:
    """`amount` (which may be negative) units after `start`; the 31st becomes the last day of a shorter month.

    Raises `CannotReckon` when that leaves the calendar.
    """
    if abs(amount) > MAX_STEPS:
        raise CannotReckon(Refusal.OUT_OF_RANGE, f"at most {MAX_STEPS} {unit}")
    checked(start)
    try:
        if unit in ("days", "weeks"):
            return checked(start + timedelta(days=amount * (7 if unit == "weeks" else 1)))
        return checked(shifted_by_months(start, amount * (12 if unit == "years" else 1)))
    except (OverflowError, ValueError) as beyond:
        raise CannotReckon(Refusal.OUT_OF_RANGE, f"dates lie between {FIRST} and {LAST}") from beyond


def weekday_name(day: date, language: Language) -> str:
    """``thứ Ba``, ``Tuesday``."""
    return str(TEXTS[language]["weekdays"][day.weekday()])


class Reading(Record):
    """A date somebody wrote; `result` and `day` are the same."""

    result: date
    day: date
    weekday: str
    alternatives: tuple[date, ...] = ()
    """Days it may mean as well, the likelier first."""
    note: str = ""
    """What was assumed, in the language of the text; empty = nothing."""


def read_date(text: str, language: Language, today: date) -> Reading:
    """The day `text` means for somebody who says it on `today`.

    Raises `CannotReckon` for what is no date, for dates of the lunar calendar and beyond the years the calendar knows.
    """
    said = fold(normalise(text[: MAX_CHARS + 1])).lower().strip(" .,;!?")
    if LUNAR.search(said):
        raise CannotReckon(Refusal.LUNAR, text)
    day = date_in(text, today) if len(text) <= MAX_CHARS else None
    digits = _DIGITS.fullmatch(said) if language == "en" else None
    swapped = _swapped(digits, today) if digits else None
    if (day or swapped) is None:
        raise CannotReckon(Refusal.NO_DATE, text)
    found = checked(day or swapped or today)
    notes = [_year_note(said, found, today, language)]
    if _EARLY.search(said):
        notes.append("hiểu theo dương lịch" if language == "vi" else "read by the solar calendar")
    others: tuple[date, ...] = ()
    if day and swapped and swapped != day:
        others = (swapped,)
        notes.append(f"read day first; month first it is {swapped}")
    if language == "en" and (near := _NEAR_WEEKDAY.fullmatch(said)):
        others, note = _other_week(near, found, today)
        notes.append(note)
    return Reading(
        result=found,
        day=found,
        weekday=weekday_name(found, language),
        alternatives=others,
        note="; ".join(filter(None, notes)),
    )


def is_yearless(text: str, today: date) -> bool:
    """Whether `text` names a day and a month and no year; “hôm nay” and the like depend on the very day."""
    now, then = date_in(text, today), date_in(text, today + _ANOTHER_TIME)
    if now is None or then is None:
        return False
    return now != then and (now.month, now.day) == (then.month, then.day)


def _year_note(said: str, day: date, today: date, language: Language) -> str:
    if not is_yearless(said, today):
        return ""
    return f"hiểu là năm {day.year}" if language == "vi" else f"read as of {day.year}"


def _swapped(digits: re.Match[str], today: date) -> date | None:
    """The same digits read month first."""
    sign, year = digits["sign"], digits["year"] or ""
    return date_in(f"{digits['second']}{sign}{digits['first']}{year}", today)


def _other_week(near: re.Match[str], day: date, today: date) -> tuple[tuple[date, ...], str]:
    """English “next” and “last” before a weekday are heard in two ways."""
    other = date_in(near["day"] if near["which"] == "next" else f"{near['day']} last week", today)
    if other is None or other == day:
        return (), ""
    if near["which"] == "next":
        return (other,), f"read as next week's; the coming one is {other}"
    return (other,), f"read as the most recent one; last week's is {other}"
