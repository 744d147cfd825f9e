"""Days on the calendar: differences, shifts, names. Everything is bounded by `FIRST` and `LAST`."""

from datetime import date, timedelta
from enum import StrEnum
from typing import Literal

from app.domain.record import Record
from app.errors import ToolFailed
from app.text.date_rules import shifted_by_months

FIRST, LAST = date(1901, 1, 1), date(2100, 12, 31)
"""The years whose public holidays are known; outside nothing is computed."""
MAX_STEPS = 80_000
"""Days, weeks, months or years a date is shifted by, at most: more leaves the calendar anyhow."""
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
    return Difference(days=sign * days, weeks=days // 7, years=months // 12, months=months % 12, rest_days=rest)


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
