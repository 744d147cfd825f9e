"""Results of the calendar in a sentence, for people."""

from collections.abc import Sequence
from datetime import date

from app.domain.knowledge import Language
from extras.servers.calendar.days import TEXTS, Difference, Reading, weekday_name
from extras.servers.calendar.working import Arrival, Holiday, WorkingDays

_MAX_HOLIDAYS = 12
"""Named in one sentence."""


def one_day(day: date, language: Language) -> str:
    """``thứ Tư, 02/09/2026``."""
    return f"{weekday_name(day, language)}, {_written(day)}"


def apart(start: date, end: date, found: Difference, language: Language) -> str:
    """How far two days are apart."""
    parts = [
        f"{amount} {TEXTS[language][name]}{_s(amount) if language == 'en' else ''}"
        for name in ("years", "months", "rest_days")
        if (amount := getattr(found, name))
    ]
    whole = f" ({', '.join(parts)})" if found.years or found.months else ""
    return _told("apart", language, start=_written(start), end=_written(end), days=found.days, parts=whole)


def working(found: WorkingDays, language: Language) -> str:
    """The count, what was left out of it, and what is not counted."""
    told = _told(
        "working",
        language,
        start=_written(found.start),
        end=_written(found.end),
        days=found.days,
        working=found.working_days,
        weekend=found.weekend_days,
        free=len(found.left_out),
        named=_named(found.left_out),
    )
    return told + (_told("swapped", language, days=", ".join(map(_written, found.swapped))) if found.swapped else "")


def arrival(start: date, amount: int, found: Arrival, language: Language) -> str:
    """Where a number of working days leads to."""
    named = _named(found.left_out)
    passed = _told("passed", language, named=named) if named else ""
    way, end = "after" if amount >= 0 else "before", one_day(found.end, language)
    return _told(way, language, steps=abs(amount), start=_written(start), end=end, passed=passed)


def read(found: Reading, language: Language) -> str:
    """The day that was read, and what was assumed."""
    return f"{one_day(found.day, language)}{f' ({found.note})' if found.note else ''}"


def _told(name: str, language: Language, **values: object) -> str:
    counted = values.get("steps", values.get("days", 0))
    return str(TEXTS[language][name].format(s=_s(counted) if isinstance(counted, int) else "", **values))


def _named(left_out: Sequence[Holiday]) -> str:
    told = [f"{_written(holiday.day)} {holiday.name}" for holiday in left_out[:_MAX_HOLIDAYS]]
    return f": {', '.join(told)}{', …' if len(left_out) > _MAX_HOLIDAYS else ''}" if told else ""


def _written(day: date) -> str:
    """Day first, as in both languages here."""
    return f"{day:%d/%m/%Y}"


def _s(amount: int) -> str:
    return "" if abs(amount) == 1 else "s"
