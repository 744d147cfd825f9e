"""What each way to name a day or a span of days means, as a table of patterns and rules.

Vietnamese patterns read folded text, English ones lower case. Names of days and months without their year lean the way
the asker looks (`Lean`).
"""

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Literal

from app.text.date_words import (
    BACK,
    DAY_MINUTES,
    EN_WEEKDAYS,
    MONTH_NAMES,
    ORDERS,
    PARTS_OF_DAY,
    SHORT_WEEKDAYS,
    SMALL,
    UNIT_MINUTES,
    UNIT_MONTHS,
    VI_MONTHS,
    VI_WEEKDAYS,
)

_DAYS_OF_A_QUARTER = 92
Lean = Literal["past", "year"]
"""The last time that was, or that of this year."""
Grain = Literal["hours", "day", "week", "month", "quarter", "half", "year", "span"]


@dataclass(frozen=True, slots=True)
class Found:
    """A span of time: ``since <= t < until``, both aware."""

    since: datetime
    until: datetime
    grain: Grain
    is_dated: bool = True
    """It names its year or counts from today; otherwise the leaning chose the year."""
    part: str = ""
    """``early mid late`` of a longer time."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule may look at."""

    match: re.Match[str]
    now: datetime
    """In the asker's time zone."""
    lean: Lean

    @property
    def today(self) -> date:
        """The asker's day."""
        return self.now.date()

    @property
    def monday(self) -> date:
        """The first day of this week."""
        return self.today - timedelta(days=self.today.weekday())

    def group(self, name: str) -> str:
        """The text of a group; empty when it did not match or the pattern has none."""
        return self.match.groupdict().get(name) or ""

    @property
    def count(self) -> int:
        """How many units; 1 when none is named."""
        written = self.group("count") or "1"
        return int(written) if written.isdecimal() else int(SMALL[written])

    @property
    def year(self) -> int | None:
        """The year that is named or counted from this one; None when none is."""
        if written := self.group("year"):
            return int(written) + (2000 if len(written) == 2 else 0)
        if self.group("which_next"):
            return self.today.year + 1
        which = self.group("which")
        return self.today.year + BACK[which] if which else None

    @property
    def month(self) -> int:
        """The month that is named or numbered."""
        named, written = self.group("named"), self.group("month")
        return MONTH_NAMES[named] if named else int(written) if written.isdecimal() else VI_MONTHS[written]

    def days(self, first: date, count: int = 1, grain: Grain = "day", *, is_dated: bool = True) -> Found:
        """`count` whole days from midnight of `first` on."""
        since = datetime.combine(first, time(), self.now.tzinfo)
        return Found(since, since + timedelta(days=count), grain, is_dated)

    def months(self, year: int, month: int, count: int, grain: Grain, *, is_dated: bool = True) -> Found:
        """`count` whole months; `month` may lie outside 1–12 and is carried into the year."""
        first = shifted_by_months(date(year, 1, 1), month - 1)
        days = (shifted_by_months(first, count) - first).days
        return _part_of(self.days(first, days, grain, is_dated=is_dated), self.group("part"))

    def year_of(self, month: int, day: int = 1, near: str = "") -> int:
        """The year that is named, else the one that “last”, “this” or “next” or the leaning chooses for a day."""
        if self.year is not None:
            return self.year
        if near == "next":
            return self.today.year + (month <= self.today.month)
        is_last = near == "last" or (self.lean == "past" and not near)
        return self.today.year - (is_last and (month, day) > (self.today.month, self.today.day))


Rule = Callable[[Said], Found]


def shifted_by_months(start: date, months: int) -> date:
    """The same day of another month, or its last day. Raises `ValueError` beyond the years 1 to 9999."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))


def _part_of(found: Found, part: str) -> Found:
    """The first, second or last third of a span, cut at whole days."""
    if not part:
        return found
    at = 0 if re.search("dau|early|begin|start", part) else 1 if re.search("giua|mid", part) else 2
    days = (found.until - found.since).days
    if days > _DAYS_OF_A_QUARTER:  # of a year four months
        cuts = [found.since.replace(month=month) for month in (1, 5, 9)]
    else:
        cuts = [found.since + timedelta(days=days // 3 * number) for number in range(3)]
    since, until = [*cuts, found.until][at : at + 2]
    return Found(since, until, found.grain, found.is_dated, ("early", "mid", "late")[at])


def _days_from_now(shift: int) -> Rule:
    return lambda at: at.days(at.today + timedelta(days=shift))


def _part_of_day(at: Said) -> Found:
    """``sáng nay``, ``tối qua``, ``chiều mai``, ``last night``, ``tomorrow morning``."""
    start, end = PARTS_OF_DAY[at.match["part_of_day"]]
    said = at.match[0]
    shift = -1 if re.search("qua|yesterday|last", said) else 1 if re.search(r"mai\b|tomorrow", said) else 0
    midnight = at.days(at.today + timedelta(days=shift)).since
    return Found(midnight + timedelta(hours=start), midnight + timedelta(hours=end), "hours")


def _shifted(at: Said, sign: int) -> datetime:
    unit, count = at.match["unit"], at.count
    if months := UNIT_MONTHS.get(unit, 0):
        return datetime.combine(shifted_by_months(at.today, sign * count * months), at.now.timetz())
    return at.now + timedelta(minutes=sign * count * UNIT_MINUTES[unit])


def _counted(sign: int, *, is_day: bool) -> Rule:
    """``7 ngày qua``, ``next two weeks`` reach to or from now; ``3 ngày trước``, ``in two weeks`` are that day,
    and of minutes and hours all that lies between."""

    def rule(at: Said) -> Found:
        moment = _shifted(at, sign)
        if is_day and not 0 < UNIT_MINUTES[at.match["unit"]] < DAY_MINUTES:
            return at.days(moment.date())
        return Found(min(moment, at.now), max(moment, at.now), "span")

    return rule


def _week(at: Said) -> Found:
    found = at.days(at.monday + timedelta(weeks=BACK[at.group("which")]), 7, "week")
    return _part_of(found, at.group("part"))


def _weekend(at: Said) -> Found:
    """The weekend that began last, or that comes; when “last” is said during it, the one before."""
    week, saturday = at.group("week"), at.monday + timedelta(days=5)
    if week in ("truoc", "last", "qua", "roi") or (at.lean == "past" and not week and saturday > at.today):
        saturday -= timedelta(weeks=1)
    elif week in ("sau", "toi", "next"):
        saturday += timedelta(weeks=1)
    return at.days(saturday, 2)


def _weekday(at: Said) -> Found:
    """``thứ hai``: the last or the coming one; with ``tuần trước``, ``of next week`` that of the week."""
    name = at.group("weekday")
    wanted = 6 if at.group("sunday") else VI_WEEKDAYS.get(name, EN_WEEKDAYS.get(name, SHORT_WEEKDAYS.get(name, 0)))
    if week := at.group("week"):
        return at.days(at.monday + timedelta(days=wanted, weeks=BACK[week]))
    which = at.group("week2")
    back = (at.today.weekday() - wanted) % 7
    if which == "next":
        return at.days(at.monday + timedelta(days=7 + wanted))
    if at.lean == "past" or BACK.get(which, 0) < 0:
        back = 7 if back == 0 and which and BACK[which] < 0 else back
        return at.days(at.today - timedelta(days=back), is_dated=bool(which))
    return at.days(at.today + timedelta(days=7 - back), is_dated=bool(which))


def _relative_months(length: int, grain: Grain) -> Rule:
    def rule(at: Said) -> Found:
        month = (at.today.month - 1) // length * length + 1
        return at.months(at.today.year, month + length * BACK[at.group("which") or "nay"], length, grain)

    return rule


def _named_month(at: Said) -> Found:
    """``tháng 11``, ``11/2026``, ``November``."""
    if not 1 <= at.month <= 12:
        raise ValueError("no such month")
    return at.months(at.year_of(at.month, near=at.group("near")), at.month, 1, "month", is_dated=at.year is not None)


def _quarter(at: Said) -> Found:
    """``quý 2``, ``quý II/2026``, ``Q3 last year``, ``the second quarter``."""
    order = at.group("quarter")
    number = int(order) if order.isdecimal() else ORDERS[order]
    month = 3 * number - 2
    return at.months(at.year_of(month), month, 3, "quarter", is_dated=at.year is not None)


def _half(at: Said) -> Found:
    """``nửa đầu năm``, ``6 tháng cuối năm 2025``, ``first half of 2026``, ``H1``."""
    is_first = bool(re.search("dau|first|1", at.group("half")))
    months = at.count if at.group("count") else 6
    if not 1 <= months <= 12:
        raise ValueError("no such part of a year")
    year = at.year or at.today.year
    return at.months(year, 1 if is_first else 13 - months, months, "half", is_dated=at.year is not None)


def _year(at: Said) -> Found:
    year = at.year if at.year is not None else at.today.year + BACK[at.group("whole") or "this"]
    return at.months(year, 1, 12, "year")


def _date(at: Said) -> Found:
    """A day of a month."""
    day, month = int(at.match["day"]), at.month
    return at.days(date(at.year_of(month, day), month, day), is_dated=at.year is not None)


def _day_of_month(at: Said) -> Found:
    """``ngày 12``, ``the 12th``: of the last month it was in, else of this one."""
    day, shift = int(at.match["day"]), 0
    if which := at.group("month_which"):
        shift = BACK[which]
    elif at.lean == "past" and day > at.today.day:
        shift = -1
    month = shifted_by_months(at.today.replace(day=1), shift)
    return at.days(month.replace(day=day), is_dated=bool(which))


RULES: dict[str, Rule] = {
    "date": _date, "named_month": _named_month, "quarter": _quarter, "half": _half, "year": _year, "week": _week,
    "weekend": _weekend, "weekday": _weekday, "day_of_month": _day_of_month, "part_of_day": _part_of_day,
    "ago": _counted(-1, is_day=True), "ahead": _counted(1, is_day=True),
    "rolling": _counted(-1, is_day=False), "rolling_on": _counted(1, is_day=False),
    "relative_month": _relative_months(1, "month"), "relative_quarter": _relative_months(3, "quarter"),
    **{f"today {shift:+}": _days_from_now(shift) for shift in (-2, -1, 0, 1, 2)},
}  # fmt: skip
"""By the names the lines of ``date_patterns.txt`` call them by."""
