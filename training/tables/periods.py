"""Stretches of days: whether a day lies in one, and one without a year in a given one."""

from collections.abc import Sequence
from datetime import date, timedelta


def holds(sign: str, day: date, ends: Sequence[date]) -> bool:
    """Whether a day is before, behind or between the ends."""
    match sign:
        case "between":
            return ends[0] <= day <= ends[1]
        case "<":
            return day < ends[0]
        case "<=":
            return day <= ends[0]
        case ">":
            return day > ends[0]
        case _:
            return day >= ends[0]


def in_year(day: date, year: int) -> date:
    """A day in another year; the last of a month stays the last."""
    is_end = (day + timedelta(1)).day == 1
    return end_of(date(year, day.month, 1), 1) if is_end else day.replace(year=year)


def end_of(first: date, months: int) -> date:
    """The last day of so many months."""
    behind = first.month - 1 + months
    return date(first.year + behind // 12, behind % 12 + 1, 1) - timedelta(days=1)
