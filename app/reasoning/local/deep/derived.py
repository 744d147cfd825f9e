"""Quantities given between the lines: the hours from 18:00 to 21:00, the years since a day, a sum of prices."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise

from app.reasoning.local.deep.days import Day
from app.reasoning.local.deep.quantities import Quantity, part_around
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.numbers import plain

_CLOCKS = re.compile(
    r"(?:từ |from |between )?(?P<h1>\d{1,2})(?:[:h](?P<m1>\d{2})|h|\s?giờ(?! \d+ phút))\s*(?:đến|tới|to|"
    r"until|till|and|–|-)\s*"
    r"(?P<h2>\d{1,2})(?:[:h](?P<m2>\d{2})|h|\s?giờ)(?!\d)",
    re.IGNORECASE,
)
_SINCE = Saying(
    "đến nay", "tới nay", "cho đến nay", "until now", "to date", "up to now", "so far", "liên tục đến", "since"
)
_UNTIL = re.compile(
    r"(?:tính đến|đến hết|tính tới|đến|tới|until|as of|by|to|in|vào|hết|cuối)\s+(?:the end of\s+|cuối\s+|"
    r"hết\s+)?(?:tháng\s+|thang\s+)?"
    r"(?:(?P<m>\d{1,2})(?:/|\s+năm\s+)|(?P<name>january|february|march|april|may|june|july|august|"
    r"september|october|november|december)\s+)"
    r"(?P<y>\d{4})",
    re.IGNORECASE,
)
_END_OF_YEAR = re.compile(r"(?:hết|cuối|end of)\s+(?:năm|the year|year|nam)?\s*(?P<y>\d{4})", re.IGNORECASE)
_NAMES = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_SAME_LIST = re.compile(r"^\s*(?:,|và|va|and|&|\+|,\s*và|,\s*and)\s*$", re.IGNORECASE)
_PER_YEAR = re.compile(
    r"^\s*(?:/|mỗi|một|hằng|hàng|a|an|per|each|every)\s?(?P<unit>năm|tháng|ngày|tuần|year|month|day|week|đêm|night)",
    re.IGNORECASE,
)
_UNITS = {"năm": "year", "tháng": "month", "ngày": "day", "tuần": "week", "đêm": "night"}


@dataclass(frozen=True, slots=True)
class Derived:
    """A quantity with how it comes about."""

    quantity: Quantity
    expression: str
    """Plain arithmetic over what is stated; empty for a length of time."""
    sources: tuple[Quantity, ...] = ()


def hours_in(text: str) -> Iterator[Quantity]:
    """Hours between two times of the day that the question names."""
    for mark in _CLOCKS.finditer(text):
        start = int(mark["h1"]) * 60 + int(mark["m1"] or 0)
        end = int(mark["h2"]) * 60 + int(mark["m2"] or 0)
        if int(mark["h1"]) > 24 or int(mark["h2"]) > 24:
            continue
        minutes = (end - start) % (24 * 60)
        if minutes:
            around = part_around(text, mark.start(), mark.end())
            yield Quantity(Decimal(minutes) / 60, "hour", "hour", mark[0], mark.start(), mark.end(), "", around)


def compounds(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """“2 hours and 20 minutes” as one quantity of minutes."""
    kept = list(found)
    for first, second in pairwise(found):
        if (first.kind, second.kind) == ("hour", "minute") and re.fullmatch(
            r"\s*(?:and|và|,)?\s*", text[first.end : second.start]
        ):
            joined = Quantity(
                first.value * 60 + second.value,
                "minute",
                "minute",
                text[first.start : second.end],
                first.start,
                second.end,
                "",
                first.around,
            )
            kept = [joined if one == first else one for one in kept if one != second]
    return kept


def spans_of(text: str, days: Sequence[Day], today: date) -> Iterator[Quantity]:
    """Years and months from the first day named to the day the question speaks of."""
    if not days:
        return
    start = days[0]
    end = _end(text, days, today)
    if end is None or end <= start.day:
        return
    months = (
        (end.year - start.day.year) * 12
        + end.month
        - start.day.month
        + (1 if end.day + 1 - start.day.day >= 0 and _is_month_end(end) else 0)
    )
    months -= 0 if _is_month_end(end) or end.day >= start.day.day else 1
    around = part_around(text, start.start, start.end)
    yield Quantity(Decimal(months), "month", "month", start.text, start.start, start.end, "", around)
    if months >= 12:
        yield Quantity(Decimal(months) / 12, "year", "year", start.text, start.start, start.end, "", around)


def _is_month_end(day: date) -> bool:
    return date.fromordinal(day.toordinal() + 1).month != day.month


def _end(text: str, days: Sequence[Day], today: date) -> date | None:
    last_of_year = _END_OF_YEAR.search(text)
    if last_of_year:
        return date(int(last_of_year["y"]), 12, 31)
    for mark in _UNTIL.finditer(text):
        if any(one.start <= mark.start("y") < one.end for one in days):
            continue
        month = int(mark["m"]) if mark["m"] else _NAMES.index(mark["name"].lower()) + 1
        if 1 <= month <= 12:
            following = date(int(mark["y"]) + month // 12, month % 12 + 1, 1)
            return date.fromordinal(following.toordinal() - 1)
    if text in _SINCE:
        return today
    return days[-1].day if len(days) == 2 else None


def combined(text: str, quantities: Sequence[Quantity]) -> list[Derived]:
    """The sum of prices in a row, and a price per year times the years."""
    found: list[Derived] = []
    money = [one for one in quantities if one.kind == "money"]
    run = [money[0]] if money else []
    for before, one in pairwise(money):
        run = [*run, one] if _SAME_LIST.match(text[before.end : one.start]) else [one]
    if len(run) > 1 and len(run) == len(money):
        total = sum((one.value for one in run), Decimal(0))
        found.append(_derived(run[0], total, " + ".join(plain(one.value) for one in run), tuple(run), text))
    for one in money:
        per = _PER_YEAR.match(text[one.end :])
        unit = _UNITS.get(per["unit"].lower(), per["unit"].lower()) if per else ""
        times = next((q for q in quantities if q.kind == unit), None) if unit else None
        if times:
            expression = f"{plain(one.value)} * {plain(times.value)}"
            found.append(_derived(one, one.value * times.value, expression, (one, times), text))
    counted = [one for one in quantities if not one.kind and one.value > 1]
    if (
        len(money) == 1
        and len(counted) == 1
        and not found
        and re.search(r"\b(?:each|mỗi|một chiếc|apiece|/)\b", text, re.I)
    ):
        expression = f"{plain(counted[0].value)} * {plain(money[0].value)}"
        found.append(_derived(money[0], counted[0].value * money[0].value, expression, (counted[0], money[0]), text))
    return found


def _derived(one: Quantity, value: Decimal, expression: str, sources: tuple[Quantity, ...], text: str) -> Derived:
    last = max(source.end for source in sources)
    start = min(source.start for source in sources)
    quantity = Quantity(value, "money", one.unit, text[start:last], start, last, "", one.around)
    return Derived(quantity, expression, sources)


_RELATIVES = (
    r"(?:vợ|chồng|bố|mẹ|cha|con(?: gái| trai)?|cháu|wife|husband|mother|father|child(?:ren)?|son|daughter|parents?)"
)
_FAMILY = re.compile(rf"(?:(?P<n>\d+|[^\W\d_]+)\s)?(?P<who>{_RELATIVES})(?!\w)", re.IGNORECASE)
_SMALL = {"hai": 2, "ba": 3, "bốn": 4, "năm": 5, "two": 2, "three": 3, "four": 4, "five": 5}


def family_of(text: str) -> Iterator[Quantity]:
    """“cho vợ và hai con” is for three people, where more than one of them is named."""
    marks = list(_FAMILY.finditer(text))
    if len(marks) < 2 or not all(_SAME_LIST.match(text[a.end() : b.start()]) for a, b in pairwise(marks)):
        return
    counts = [
        int(said) if said.isdigit() else _SMALL.get(said.lower(), 1) for said in ((mark["n"] or "") for mark in marks)
    ]
    start, end = marks[0].start(), marks[-1].end()
    yield Quantity(
        Decimal(sum(counts)), "person", "person", text[start:end], start, end, "", part_around(text, start, end)
    )
