"""The date server: today, differences, working days with the public holidays of a country, and reading dates."""

import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from app.domain.knowledge import Language
from app.domain.record import Record
from app.text.dates import VIETNAM
from extras.servers.calendar import sentences, working
from extras.servers.calendar.days import (
    CannotReckon,
    Difference,
    Reading,
    Refusal,
    Unit,
    difference,
    is_yearless,
    read_date,
    shifted,
    weekday_name,
)
from extras.servers.serving import Operation, serve

Day = Annotated[str, Field(max_length=100, json_schema_extra={"format": "date"})]
Asked = Annotated[Language, Field(description="Of names and of the sentence that tells the result")]
_DAY = "A date: 2026-04-30 or 30/4/2026 (day first)"


class Zone(Record):
    """A time zone."""

    zone: str = Field("Asia/Ho_Chi_Minh", max_length=60, description="IANA name of the time zone")
    language: Asked = "vi"


class Span(Record):
    """Two days."""

    start: Day = Field(description=_DAY)
    end: Day = Field(description=f"{_DAY}; a missing year is the other one's")


class CountedSpan(Span):
    """Two days and whether both count."""

    inclusive: bool = Field(False, description="Count both the first and the last day")
    language: Asked = "vi"


class Workplace(Record):
    """Where people work."""

    country: str = Field("VN", max_length=2, description="Two letters of the country whose public holidays count")
    subdivision: str = Field("", max_length=40, description="ISO code of a part of the country; empty = none")
    language: Asked = "vi"


class WorkingSpan(Workplace, Span):
    """Two days and where people work."""


class WorkingShift(Workplace):
    """A day and a number of working days."""

    start: Day = Field(description=_DAY)
    days: int = Field(ge=-10_000, le=10_000, description="Working days after it; negative = before it")


class Shift(Record):
    """A day and by how much it is moved."""

    start: Day = Field(description=_DAY)
    amount: int = Field(ge=-80_000, le=80_000, description="How many; negative = back")
    unit: Unit = "days"
    language: Asked = "vi"


class OneDay(Record):
    """A day and the language of its name."""

    date: Day = Field(description=_DAY)
    language: Asked = "vi"


class Words(Record):
    """A date as somebody wrote it."""

    text: str = Field(max_length=100, description="The words: mùng 3 tháng 2, thứ hai tuần sau, next Friday, 3/2")
    language: Language = Field("vi", description="Of the text")
    today: Day | None = Field(None, description="The day it is said on; empty = today in Vietnam")


class DayResult(Record):
    """A day."""

    result: datetime.date
    weekday: str


def today_in(zone: str) -> datetime.date:
    """Today's date in a time zone. Raises `CannotReckon` for an unknown one."""
    try:
        tz: datetime.tzinfo = VIETNAM if zone == "Asia/Ho_Chi_Minh" else ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as unknown:
        raise CannotReckon(Refusal.UNKNOWN_ZONE, zone) from unknown
    return datetime.datetime.now(tz).date()


def _working_days(span: WorkingSpan) -> working.WorkingDays:
    return working.working_days(*_ends(span), span.country, span.subdivision, span.language)


def _add_working_days(given: WorkingShift) -> working.Arrival:
    return working.add_working_days(_day(given.start), given.days, given.country, given.subdivision, given.language)


def _parse(given: Words) -> Reading:
    return read_date(given.text, given.language, _day(given.today) if given.today else today_in("Asia/Ho_Chi_Minh"))


def _day_result(day: datetime.date, language: Language) -> DayResult:
    return DayResult(result=day, weekday=weekday_name(day, language))


def _ends(span: Span) -> tuple[datetime.date, datetime.date]:
    """Both days; one without a year takes the year of the other, or the one beside it that puts them in order."""
    today = today_in("Asia/Ho_Chi_Minh")
    if is_yearless(span.end, today):
        start = _day(span.start)
        end = _day(span.end, start)
        return start, (_day(span.end, shifted(start, 1, "years")) if end < start else end)
    end = _day(span.end)
    if not is_yearless(span.start, today):
        return _day(span.start), end
    start = _day(span.start, end)
    return (_day(span.start, shifted(end, -1, "years")) if end < start else start), end


def _day(written: str, beside: datetime.date | None = None) -> datetime.date:
    return read_date(written, "vi", beside or today_in("Asia/Ho_Chi_Minh")).day


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("today", "Today", "Today's date in a time zone.", Zone, DayResult,
              lambda given: _day_result(today_in(given.zone), given.language),
              lambda given, found: sentences.one_day(found.result, given.language)),
    Operation("difference", "Difference", "How many days lie between two dates.", CountedSpan, Difference,
              lambda span: difference(*_ends(span), inclusive=span.inclusive),
              lambda given, found: sentences.apart(*_ends(given), found, given.language)),
    Operation("working_days", "Working days", "Count the working days from one date to another, both included, without "
              "weekends and public holidays; lists the holidays left out.", WorkingSpan, working.WorkingDays,
              _working_days, lambda given, found: sentences.working(found, given.language)),
    Operation("add_working_days", "Add working days", "The date a number of working days after another.", WorkingShift,
              working.Arrival, _add_working_days,
              lambda given, found: sentences.arrival(_day(given.start), given.days, found, given.language)),
    Operation("add", "Add", "The date some days, weeks, months or years after another.", Shift, DayResult,
              lambda given: _day_result(shifted(_day(given.start), given.amount, given.unit), given.language),
              lambda given, found: sentences.one_day(found.result, given.language)),
    Operation("weekday", "Weekday", "The day of the week of a date.", OneDay, DayResult,
              lambda given: _day_result(_day(given.date), given.language),
              lambda given, found: sentences.one_day(found.result, given.language)),
    Operation("parse", "Read a date", "Read a date written in Vietnamese or English words.", Words, Reading, _parse,
              lambda given, found: sentences.read(found, given.language)),
)  # fmt: skip

if __name__ == "__main__":
    serve("date", OPERATIONS)
