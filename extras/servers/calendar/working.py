"""Working days: the days of the week people work on, without the public holidays of their country."""

import re
from datetime import date, timedelta
from functools import lru_cache

import holidays

from app.domain.knowledge import Language
from app.domain.record import Record
from extras.servers.calendar.days import LAST, MAX_STEPS, CannotReckon, Refusal, checked, weekday_name

VIETNAM = "VN"
_NOTE = (
    "Public holidays as announced or computed by the rules in force, with the days off given for holidays on weekends "
    "where the country gives them; an employer's own days off are not known."
)
MAX_YEARS = 50
"""Of a span whose holidays are looked up."""
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

    result: int
    """The count."""
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
    note: str


class Arrival(Record):
    """Where a number of working days leads to."""

    result: date
    end: date
    weekday: str
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
    """List the public holidays of a span, in order.

    Raises `CannotReckon` for an unknown place and a span over `MAX_YEARS`.
    """
    checked(start), checked(end)
    if end < start or end.year - start.year > MAX_YEARS:
        raise CannotReckon(Refusal.OUT_OF_RANGE, f"a span of at most {MAX_YEARS} years up to {LAST}")
    years = [_of_year(country, subdivision, year, language) for year in range(start.year, end.year + 1)]
    found = {
        day: Holiday(day=day, name=name, is_weekend=day.weekday() in year.weekend)
        for year in years
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
    left_out = tuple(holiday for holiday in known if not holiday.is_weekend)
    days = (end - start).days + 1
    years = {year: _of_year(country, subdivision, year, language) for year in range(start.year, end.year + 1)}
    span = [start + timedelta(days=at) for at in range(days)]
    resting = sum(day.weekday() in years[day.year].weekend for day in span)
    return WorkingDays(
        result=days - resting - len(left_out),
        start=start,
        end=end,
        country=country,
        subdivision=subdivision,
        days=days,
        working_days=days - resting - len(left_out),
        weekend_days=resting,
        left_out=left_out,
        on_weekends=tuple(holiday for holiday in known if holiday.is_weekend),
        swapped=tuple(day for day in span if day in getattr(years[day.year], "weekend_workdays", ())),
        note=_NOTE,
    )


def add_working_days(
    start: date, amount: int, country: str = VIETNAM, subdivision: str = "", language: Language = "vi"
) -> Arrival:
    """Find the day `amount` working days after `start` (before it, when negative); 0 gives `start` itself.

    Raises `CannotReckon` for an unknown place and beyond the calendar or `MAX_YEARS`.
    """
    if abs(amount) > min(MAX_STEPS, MAX_YEARS * 200):
        raise CannotReckon(Refusal.OUT_OF_RANGE, f"at most {MAX_YEARS * 200} working days")
    day, steps, left_out = checked(start), abs(amount), []
    while steps:
        day = checked(day + timedelta(days=1 if amount >= 0 else -1))
        year = _of_year(country, subdivision, day.year, language)
        if day.weekday() in year.weekend:
            continue
        if (name := year.get(day)) is None:
            steps -= 1
        else:
            left_out.append(Holiday(day=day, name=name, is_weekend=False))
    return Arrival(result=day, end=day, weekday=weekday_name(day, language), left_out=tuple(left_out))
