"""One day as somebody writes it, with what was assumed: ``hôm nay``, ``thứ hai tuần sau``, ``30/4``, ``next Friday``.

What the words mean is read by `app.text.dates`, a day without a year as of the current one. Here it is told what else
they may mean (an English ``3/2``, “next Friday”), and dates of the lunar calendar are refused.
"""

import re
from datetime import date, timedelta

from app.domain.knowledge import Language
from app.domain.record import Record
from app.text.dates import LUNAR, date_in
from app.text.language import fold, normalise
from app.tools.calendar.days import CannotReckon, Refusal, checked

MAX_CHARS = 100
_DIGITS = re.compile(r"(?:on |the )*(?P<first>\d{1,2})(?P<sign>[-/.])(?P<second>\d{1,2})(?P<year>(?P=sign)\d{2,4})?")
_NEAR_WEEKDAY = re.compile(r"(?P<which>next|last) (?P<day>[a-z]{3,9})")
_EARLY = re.compile(r"\b(?:mung|mong|thang gieng|thang chap)\b")
_ANOTHER_TIME = timedelta(days=4 * 365 + 1 + 40)
"""From now on, days without a year fall on the same day of another year, and days counted from today do not."""


class Reading(Record):
    """A date somebody wrote."""

    day: date
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
    return Reading(day=found, alternatives=others, note="; ".join(filter(None, notes)))


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
