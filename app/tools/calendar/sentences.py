"""Results of the calendar in a sentence, for people."""

from collections.abc import Sequence
from datetime import date

from app.domain.knowledge import Language
from app.tools.calendar.days import Difference, weekday_name
from app.tools.calendar.reading import Reading
from app.tools.calendar.working import Arrival, Holiday, WorkingDays

_MAX_HOLIDAYS = 12
"""Named in one sentence."""


def one_day(day: date, language: Language) -> str:
    """``thứ Tư, 02/09/2026``."""
    return f"{weekday_name(day, language)}, {_written(day)}"


def apart(start: date, end: date, found: Difference, language: Language) -> str:
    """How far two days are apart."""
    whole = _parts(found, language)
    if language == "vi":
        return f"Từ {_written(start)} đến {_written(end)}: {found.days} ngày{whole}."
    return f"From {_written(start)} to {_written(end)}: {found.days} day{_s(found.days)}{whole}."


def working(found: WorkingDays, language: Language) -> str:
    """The count, what was left out of it, and what is not counted."""
    named = _named(found.left_out)
    free = len(found.left_out)
    if language == "vi":
        told = (
            f"Từ {_written(found.start)} đến {_written(found.end)} có {found.working_days} ngày làm việc "
            f"({found.days} ngày, trừ {found.weekend_days} ngày cuối tuần và {free} ngày nghỉ lễ{named})."
        )
        extra = "Không tính ngày làm bù"
    else:
        told = (
            f"From {_written(found.start)} to {_written(found.end)} there are {found.working_days} working days "
            f"({found.days} days, less {found.weekend_days} on weekends and {free} public holidays{named})."
        )
        extra = "Make-up working days are not counted"
    return f"{told} {extra}: {', '.join(map(_written, found.swapped))}." if found.swapped else told


def arrival(start: date, amount: int, found: Arrival, language: Language) -> str:
    """Where a number of working days leads to."""
    named = _named(found.left_out)
    steps = abs(amount)
    if language == "vi":
        way = "sau" if amount >= 0 else "trước"
        passed = f"; bỏ qua ngày nghỉ lễ{named}" if named else ""
        return f"{steps} ngày làm việc {way} {_written(start)} là {one_day(found.end, language)}{passed}."
    way = "after" if amount >= 0 else "before"
    passed = f"; public holidays passed over{named}" if named else ""
    return f"{steps} working day{_s(steps)} {way} {_written(start)} is {one_day(found.end, language)}{passed}."


def read(found: Reading, language: Language) -> str:
    """The day that was read, and what was assumed."""
    return f"{one_day(found.day, language)}{f' ({found.note})' if found.note else ''}"


def _named(left_out: Sequence[Holiday]) -> str:
    if not left_out:
        return ""
    told = [f"{_written(holiday.day)} {holiday.name}" for holiday in left_out[:_MAX_HOLIDAYS]]
    return f": {', '.join(told)}{', …' if len(left_out) > _MAX_HOLIDAYS else ''}"


def _parts(found: Difference, language: Language) -> str:
    words = ("năm", "tháng", "ngày") if language == "vi" else ("year", "month", "day")
    amounts = (found.years, found.months, found.rest_days)
    told = [
        f"{amount} {word}{_s(amount) if language == 'en' else ''}"
        for amount, word in zip(amounts, words, strict=True)
        if amount
    ]
    return f" ({', '.join(told)})" if found.years or found.months else ""


def _written(day: date) -> str:
    """Day first, as in both languages here."""
    return f"{day:%d/%m/%Y}"


def _s(amount: int) -> str:
    return "" if abs(amount) == 1 else "s"
