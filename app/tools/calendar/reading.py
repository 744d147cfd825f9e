"""Dates as people say them, Vietnamese and English: ``hôm nay``, ``thứ hai tuần sau``, ``30/4``, ``next Friday``.

Numbers are read day first in both languages, as everywhere in this house; where an English reader may mean it the
other way round, the other day is told. A day without a year is of the current one. ``mùng 3 tháng 2`` is read by the
solar calendar and says so; dates of the lunar calendar are refused: they are not computed here.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta

from app.domain.knowledge import Language
from app.domain.record import Record
from app.text.language import fold, normalise
from app.tools.calendar.days import CannotReckon, Refusal, Unit, checked, shifted

MAX_CHARS = 100

_SHIFTS = {
    "hom nay": 0, "today": 0, "now": 0, "bay gio": 0, "hom qua": -1, "yesterday": -1, "hom kia": -2,
    "day before yesterday": -2, "the day before yesterday": -2, "ngay mai": 1, "mai": 1, "tomorrow": 1, "ngay kia": 2,
    "ngay mot": 2, "mot": 2, "day after tomorrow": 2, "the day after tomorrow": 2,
}  # fmt: skip
"""Days from today."""
_WEEKDAYS = {
    "hai": 0, "2": 0, "ba": 1, "3": 1, "tu": 2, "4": 2, "nam": 3, "5": 3, "sau": 4, "6": 4, "bay": 5, "7": 5,
    "chu nhat": 6, "cn": 6, "monday": 0, "mon": 0, "tuesday": 1, "tue": 1, "wednesday": 2, "wed": 2, "thursday": 3,
    "thu": 3, "friday": 4, "fri": 4, "saturday": 5, "sat": 5, "sunday": 6, "sun": 6,
}  # fmt: skip
_MONTHS = {
    "gieng": 1, "mot": 1, "hai": 2, "ba": 3, "tu": 4, "nam": 5, "sau": 6, "bay": 7, "tam": 8, "chin": 9, "muoi": 10,
    "muoi mot": 11, "muoi hai": 12, "chap": 12, "january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3,
    "april": 4, "apr": 4, "may": 5, "june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9,
    "sep": 9, "sept": 9, "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}  # fmt: skip
_UNITS: dict[str, Unit] = {
    "ngay": "days", "day": "days", "hom": "days", "tuan": "weeks", "week": "weeks", "thang": "months",
    "month": "months", "nam": "years", "year": "years",
}  # fmt: skip
_WEEKS = {
    "tuan nay": 0, "this": 0, "tuan sau": 1, "tuan toi": 1, "next": 1, "tuan truoc": -1, "tuan roi": -1, "last": -1,
}  # fmt: skip

_ISO = re.compile(r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})")
_DIGITS = re.compile(r"(?P<day>\d{1,2})\s?[-/.]\s?(?P<month>\d{1,2})(?:\s?[-/.]\s?(?P<year>\d{4}|\d{2}))?")
_MONTH_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_VIETNAMESE = re.compile(
    r"(?P<early>mung |mong )?(?P<day>\d{1,2})(?: thang |/)"
    rf"(?P<month>\d{{1,2}}|{_MONTH_NAMES})(?:(?: nam |/| |, ?)(?P<year>\d{{4}}))?"
)
_ENGLISH = re.compile(
    rf"(?:the )?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH_NAMES})"
    rf"|(?P<month2>{_MONTH_NAMES})\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?),?(?: (?P<year>\d{{4}}))?"
)
_DAY_OF_WEEK_VI = re.compile(
    r"(?:thu (?P<day>hai|ba|tu|nam|sau|bay|[2-7])|(?P<sunday>chu nhat|cn))"
    r"(?: (?P<week>tuan (?:nay|sau|toi|truoc|roi)))?"
)
_DAY_OF_WEEK_EN = re.compile(
    r"(?:(?P<week>next|this|last|coming) )?"
    r"(?P<day>mon|tue|wed|thu|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
)
_FROM_NOW = re.compile(
    r"(?:(?P<before>in) )?(?P<amount>\d{1,5}) (?P<unit>ngay|hom|tuan|thang|nam|day|week|month|year)s?"
    r"(?: (?P<after>nua|sau|toi|tiep theo|truoc|ago|from now|from today|later))?"
)
_LUNAR = re.compile(r"\b(?:am lich|lunar|tet)\b")
_FILLER = re.compile(r"^(?:vao |on |ngay |hom )(?=\d|mung|mong|thu |chu )")


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
    if not said or len(text) > MAX_CHARS:
        raise CannotReckon(Refusal.NO_DATE, text)
    if _LUNAR.search(said):
        raise CannotReckon(Refusal.LUNAR, text)
    said = _FILLER.sub("", said)
    for read in _READERS:
        try:
            found = read(said, language, today)
        except ValueError as impossible:
            raise CannotReckon(Refusal.NO_DATE, text) from impossible
        if found is not None:
            checked(found.day)
            return found
    raise CannotReckon(Refusal.NO_DATE, text)


def _shift(said: str, _language: Language, today: date) -> Reading | None:
    return Reading(day=today + timedelta(days=_SHIFTS[said])) if said in _SHIFTS else None


def _iso(said: str, _language: Language, _today: date) -> Reading | None:
    match = _ISO.fullmatch(said)
    return match and Reading(day=date(int(match["year"]), int(match["month"]), int(match["day"])))


def _digits(said: str, language: Language, today: date) -> Reading | None:
    match = _DIGITS.fullmatch(said)
    if match is None:
        return None
    day, month, year = int(match["day"]), int(match["month"]), _year(match["year"], today)
    swapped = _possible(year, day, month) if language == "en" and day != month else None
    first = _possible(year, month, day)
    if first is None:
        if swapped is None:
            raise ValueError("no such day")
        return Reading(day=swapped, note=_yearless(match["year"], year, language))
    notes = [_yearless(match["year"], year, language)]
    if swapped:
        notes.append(f"read day first; month first it is {swapped}")
    return Reading(day=first, alternatives=(swapped,) if swapped else (), note="; ".join(filter(None, notes)))


def _vietnamese(said: str, language: Language, today: date) -> Reading | None:
    match = _VIETNAMESE.fullmatch(said)
    if match is None:
        return None
    year = _year(match["year"], today)
    notes = [_yearless(match["year"], year, language)]
    if match["early"] or match["month"] in ("gieng", "chap"):
        notes.append("hiểu theo dương lịch" if language == "vi" else "read by the solar calendar")
    day = date(year, _month(match["month"]), int(match["day"]))
    return Reading(day=day, note="; ".join(filter(None, notes)))


def _english(said: str, language: Language, today: date) -> Reading | None:
    match = _ENGLISH.fullmatch(said)
    if match is None:
        return None
    year = _year(match["year"], today)
    day = date(year, _month(match["month"] or match["month2"]), int(match["day"] or match["day2"]))
    return Reading(day=day, note=_yearless(match["year"], year, language))


def _day_of_week(said: str, language: Language, today: date) -> Reading | None:
    match = _DAY_OF_WEEK_VI.fullmatch(said) or _DAY_OF_WEEK_EN.fullmatch(said)
    if match is None:
        return None
    wanted = _WEEKDAYS[match.groupdict().get("sunday") or match["day"]]
    coming = today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)
    if match["week"] not in _WEEKS:
        return Reading(day=coming)
    return _of_week(match["week"], wanted, coming, today)


def _of_week(week: str, wanted: int, coming: date, today: date) -> Reading:
    """A day of the week with its week; English ``next`` and ``last`` are heard in two ways."""
    day = today - timedelta(days=today.weekday()) + timedelta(days=wanted, weeks=_WEEKS[week])
    if week == "next" and day != coming:
        return Reading(day=day, alternatives=(coming,), note=f"read as next week's; the coming one is {coming}")
    recent = coming - timedelta(weeks=1 if coming - timedelta(weeks=1) != today else 2)
    if week == "last" and day != recent:
        return Reading(day=recent, alternatives=(day,), note=f"read as the most recent one; last week's is {day}")
    return Reading(day=day)


def _from_now(said: str, language: Language, today: date) -> Reading | None:
    match = _FROM_NOW.fullmatch(said)
    if match is None or not (match["before"] or match["after"]):
        return None
    amount = int(match["amount"])
    back = match["after"] in ("truoc", "ago")
    return Reading(day=shifted(today, -amount if back else amount, _UNITS[match["unit"]]))


_READERS: tuple[Callable[[str, Language, date], Reading | None], ...] = (
    _shift, _iso, _digits, _day_of_week, _from_now, _vietnamese, _english,
)  # fmt: skip


def _month(written: str) -> int:
    return int(written) if written.isdigit() else _MONTHS[written]


def _year(written: str | None, today: date) -> int:
    """Two digits are of this century; none is this year."""
    if not written:
        return today.year
    return int(written) if len(written) > 2 else 2000 + int(written)


def _possible(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _yearless(written: str | None, year: int, language: Language) -> str:
    if written:
        return ""
    return f"hiểu là năm {year}" if language == "vi" else f"read as of {year}"
