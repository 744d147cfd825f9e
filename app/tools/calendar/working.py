"""Working days: the days of the week people work on, without the public holidays of their country."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache

import holidays

from app.domain.knowledge import Language
from app.domain.record import Record
from app.tools.calendar.days import LAST, MAX_STEPS, CannotReckon, Refusal, checked

VIETNAM = "VN"
MAX_YEARS = 50
"""Of a span whose holidays are looked up."""
_WEEK = 7
_COUNTRY, _SUBDIVISION = re.compile("[A-Z]{2}"), re.compile("[A-Za-z0-9 .'-]{0,40}")
"""ISO 3166 codes; some countries also know their parts by name."""


class Holiday(Record):
    """A public holiday, or the day off given for one that fell on a weekend."""

    day: date
    name: str
    is_weekend: bool
    """It takes no working day away."""


class WorkingDays(Record):
    """The working days of a span, both its ends included, and what was left out."""

    start: date
    end: date
    country: str
    subdivision: str
    days: int
    """All days of the span."""
    working_days: int
    weekend_days: int
    left_out: tuple[Holiday, ...]
    """Holidays that would have been working days."""
    on_weekends: tuple[Holiday, ...]
    """Holidays that fall on a weekend: they change nothing."""
    swapped: tuple[date, ...]
    """Weekend days the government declared working days, for another day off; they are **not** counted."""


class Arrival(Record):
    """Where a number of working days leads to."""

    end: date
    left_out: tuple[Holiday, ...]
    """Holidays that were passed over."""


@lru_cache(maxsize=256)
def _of_year(country: str, subdivision: str, year: int, language: Language) -> holidays.HolidayBase:
    if not _COUNTRY.fullmatch(country) or not _SUBDIVISION.fullmatch(subdivision):
        raise CannotReckon(Refusal.UNKNOWN_COUNTRY, f"{country} {subdivision}".strip())
    try:
        known = holidays.country_holidays(country, subdiv=subdivision or None).supported_languages
        wanted = next((one for one in known if one.split("_")[0] == language), None)
        return holidays.country_holidays(country, subdiv=subdivision or None, years=year, language=wanted)
    except NotImplementedError as unknown:
        raise CannotReckon(Refusal.UNKNOWN_COUNTRY, f"{country} {subdivision}".strip()) from unknown


def holidays_between(
    start: date, end: date, country: str = VIETNAM, subdivision: str = "", language: Language = "vi"
) -> tuple[Holiday, ...]:
    """Public holidays of a span, in order. Raises `CannotReckon` for an unknown place and a span over `MAX_YEARS`."""
    _check(start, end)
    found = {
        day: Holiday(day=day, name=name, is_weekend=day.weekday() in year.weekend)
        for year in _years(start, end, country, subdivision, language)
        for day, name in year.items()
        if start <= day <= end
    }
    return tuple(found[day] for day in sorted(found))


def working_days(
    start: date, end: date, country: str = VIETNAM, subdivision: str = "", language: Language = "vi"
) -> WorkingDays:
    """Count the working days from `start` to `end`, both included; the ends may come in either order.

    The week is the country's own (Monday to Friday in Vietnam). Raises `CannotReckon` as `holidays_between` does.
    """
    start, end = min(start, end), max(start, end)
    known = holidays_between(start, end, country, subdivision, language)
    weekend = _weekend(start, country, subdivision, language)
    days = (end - start).days + 1
    resting = _count_weekdays(start, days, weekend)
    left_out = tuple(holiday for holiday in known if not holiday.is_weekend)
    return WorkingDays(
        start=start,
        end=end,
        country=country,
        subdivision=subdivision,
        days=days,
        working_days=days - resting - len(left_out),
        weekend_days=resting,
        left_out=left_out,
        on_weekends=tuple(holiday for holiday in known if holiday.is_weekend),
        swapped=tuple(_swapped(start, end, country, subdivision, language)),
    )


def add_working_days(
    start: date, amount: int, country: str = VIETNAM, subdivision: str = "", language: Language = "vi"
) -> Arrival:
    """The day `amount` working days after `start` (before it, when negative); 0 gives `start` itself.

    Raises `CannotReckon` for an unknown place and beyond the calendar or `MAX_YEARS`.
    """
    if abs(amount) > min(MAX_STEPS, MAX_YEARS * 200):
        raise CannotReckon(Refusal.OUT_OF_RANGE, f"at most {MAX_YEARS * 200} working days")
    checked(start)
    step, day, left_out = 1 if amount >= 0 else -1, start, []
    for _ in range(abs(amount)):
        day = checked(day + timedelta(days=step))
        while (free := _free(day, country, subdivision, language)) is not None:
            if not free.is_weekend:
                left_out.append(free)
            day = checked(day + timedelta(days=step))
    return Arrival(end=day, left_out=tuple(left_out))


def _free(day: date, country: str, subdivision: str, language: Language) -> Holiday | None:
    """Why nobody works on `day`; None when they do."""
    year = _of_year(country, subdivision, day.year, language)
    if day.weekday() in year.weekend:
        return Holiday(day=day, name="", is_weekend=True)
    name = year.get(day)
    return None if name is None else Holiday(day=day, name=name, is_weekend=False)


def _years(
    start: date, end: date, country: str, subdivision: str, language: Language
) -> Iterator[holidays.HolidayBase]:
    return (_of_year(country, subdivision, year, language) for year in range(start.year, end.year + 1))


def _weekend(day: date, country: str, subdivision: str, language: Language) -> frozenset[int]:
    """Days of the week off, Monday is 0."""
    return frozenset(_of_year(country, subdivision, day.year, language).weekend)


def _swapped(start: date, end: date, country: str, subdivision: str, language: Language) -> Iterator[date]:
    for year in _years(start, end, country, subdivision, language):
        yield from sorted(day for day in getattr(year, "weekend_workdays", ()) if start <= day <= end)


def _count_weekdays(start: date, days: int, wanted: frozenset[int]) -> int:
    """How many of `days` days from `start` fall on the wanted days of the week."""
    weeks, rest = divmod(days, _WEEK)
    return weeks * len(wanted) + sum((start.weekday() + at) % _WEEK in wanted for at in range(rest))


def _check(start: date, end: date) -> None:
    checked(start), checked(end)
    if end < start or end.year - start.year > MAX_YEARS:
        raise CannotReckon(Refusal.OUT_OF_RANGE, f"a span of at most {MAX_YEARS} years up to {LAST}")
