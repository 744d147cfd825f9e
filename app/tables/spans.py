"""Read the times and the numbers of a question, each with its sign."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from app.domain.knowledge import Language
from app.tables.query import Unclear
from app.tables.sheet import Column
from app.tables.words import Mention, names_of, tokens
from app.text.dates import dates_in
from app.text.language import normalise
from app.text.numbers import numbers_in

NEAR = 3
"""Words that may stand between two that belong together."""
MONTHS_OF = {"day": 1, "month": 1, "quarter": 3, "year": 12}
GAP_END = "nhat"
_EQUAL = ("bang", "=", "exactly", "equal", "dung", "to", "only", "just", "chi", "co")
_OPENED = ("tu", "from", "between", "giua", "khoang")
_JOINED = {"va": "and", "and": "and", "den": "to", "toi": "to", "to": "to", "until": "to", "through": "to"}
_SIGNS = (">", ">=", "<", "<=")


class Times(NamedTuple):
    """A stretch of time that is asked for."""

    start: int
    end: int
    first: date
    last: date
    grain: str
    is_dated: bool
    sign: str = "between"

    @property
    def months(self) -> int:
        """How many months it touches."""
        return (self.last.year - self.first.year) * 12 + self.last.month - self.first.month + 1

    def in_year(self, year: int) -> tuple[date, date]:
        """Its first and last day; in the given year where it names none."""
        if self.is_dated:
            return self.first, self.last
        is_end = (self.last + timedelta(1)).day == 1
        last = _end_of(date(year, self.last.month, 1), 1) if is_end else self.last.replace(year=year)
        return self.first.replace(year=year), last


class Bound(NamedTuple):
    """Numbers with a sign."""

    start: int
    end: int
    sign: str
    values: tuple[Decimal, ...]


class Spans:
    """The times and numbers of one question."""

    def __init__(self, question: str, today: date, language: Language):
        self.question, self.language, self.today = normalise(question), language, today
        self.said = tokens(question)
        self.limit = 0
        """How many rows are asked for: “top 3”."""

    def key(self, at: int) -> str:
        """The word at a place; empty outside."""
        return self.said[at].key if 0 <= at < len(self.said) else ""

    def written(self, asked: Sequence[Times]) -> str:
        """Times as the question writes them."""
        ends = [(self.said[one.start], self.said[one.end - 1]) for one in asked]
        return ", ".join(self.question[first.at : last.at + len(last.written)] for first, last in ends)

    def times_in(self, fixed: set[int]) -> list[Times]:
        """The times of the question, ranges put together and open ones with their sign; none at fixed places."""
        found: set[Times] = set()
        for day in dates_in(self.question, self.today, "year"):
            places = self._places(day.start, day.end)
            is_order = [token.written.lower() for token in self.said[places.start : places.stop]][:2] == ["thứ", "tự"]
            if places and not fixed.intersection(places) and day.grain != "hours" and not is_order:
                time = Times(places.start, places.stop, day.first, day.last, day.grain, day.is_dated)
                found |= self._continued(time)
        signed: list[Times] = []
        for one in sorted(found):
            sign, size = self._sign_before(one.start, _SIGNS)
            if signed and self._is_range(signed[-1], one):
                last = signed.pop()
                is_opened = last.sign == "between" and self.key(last.start - 1) in _OPENED
                first = last.first.replace(year=one.first.year) if one.is_dated > last.is_dated else last.first
                signed.append(one._replace(start=last.start - is_opened, first=first))
            elif names_of("time_signs", self.said[one.start - size : one.start]):
                signed.append(one._replace(start=one.start - size, sign=sign))
            else:
                signed.append(one)
        return signed

    def _places(self, start: int, end: int) -> range:
        """The words of a stretch of the text."""
        places = [at for at, token in enumerate(self.said) if start <= token.at < end]
        return range(places[0], places[-1] + 1) if places else range(0)

    def _continued(self, one: Times) -> set[Times]:
        """“tháng 1, 2 và 5”, “tháng 2 đến 4”: numbers behind a month or quarter are further ones."""
        found, at, size = {one}, one.end, MONTHS_OF.get(one.grain, 0)
        while one.grain in ("month", "quarter") and not one.is_dated:
            at += self.key(at) in _JOINED
            if not self.key(at).isdigit() or not 1 <= int(self.key(at)) <= 12 // size:
                break
            first = date(one.first.year, int(self.key(at)) * size - size + 1, 1)
            found.add(Times(at, at + 1, first, _end_of(first, size), one.grain, one.is_dated))
            at += 1
        return found

    def _is_range(self, last: Times, one: Times) -> bool:
        """Whether two times are the ends of one."""
        end = self.said[last.end - 1]
        if one.start == last.end:
            return "-" in self.question[end.at + len(end.written) : self.said[one.start].at]
        is_joined = _JOINED.get(self.key(one.start - 1)) == "to" or self.key(last.start - 1) in ("between", "giua")
        return one.start - last.end == 1 and last.sign in ("between", ">=") and is_joined

    def _sign_before(self, start: int, wanted: Sequence[str]) -> tuple[str, int]:
        for size in range(min(4, start), 0, -1):
            names = names_of("signs", self.said[start - size : start])
            if sign := next((name for name in names if name in wanted), ""):
                return sign, size
        return "", 0

    def _sign_behind(self, end: int) -> tuple[str, int]:
        for gap in range(3):
            for size in range(3, 0, -1):
                if names := names_of("signs_behind", self.said[end + gap : end + gap + size]):
                    return names[0], gap + size
        return "", 0

    def bounds_in(self, taken: set[int], first: Sequence[Mention]) -> list[Bound]:
        """The numbers of the question with their signs. Raises `Unclear` for one that has none."""
        numbers = [(self._places(one.start, one.end), one) for one in numbers_in(self.question, self.language)]
        free = [(at, one) for at, one in numbers if at and not taken.intersection(at) and not one.is_share]
        found: list[Bound] = []
        for number, (at, one) in enumerate(free):
            pair = free[number + 1] if number + 1 < len(free) else None
            if found and at.start < found[-1].end:
                continue
            counted = [m for m in first if m.start == at.stop and m.kind in ("noun", "value")]
            bound = self._between(at, one.value, pair[0], pair[1].value) if pair else None
            if bound or (bound := self._bound(at, one.value, [m for m in first if not counted and m.numeric])):
                found.append(bound)
            elif self._is_limit(at, one.value):
                self.limit = int(one.value)
                found.append(Bound(at.start, at.stop, "limit", (one.value,)))
            elif one.value == 1 and counted:
                found.append(Bound(at.start, at.stop, "one", (one.value,)))
            elif not one.is_spelled:
                raise Unclear("number", self.said[at.start].written)
        return found

    def _between(self, at: range, low: Decimal, behind: range, high: Decimal) -> Bound | None:
        """“từ 5 đến 10 triệu”: the unit of the second holds for the first."""
        gap = [token.key for token in self.said[at.stop : behind.start]]
        if self.key(at.start - 1) not in _OPENED or len(gap) > NEAR or not any(one in _JOINED for one in gap):
            return None
        written = self.key(behind.start)
        if low < high and len(behind) > 1 and len(at) == 1 and written.isdigit():
            low *= high / Decimal(written)
        return Bound(at.start - 1, behind.stop, "between", (low, high))

    def _bound(self, at: range, value: Decimal, numeric: Sequence[Mention]) -> Bound | None:
        sign, size = self._sign_behind(at.stop)
        if sign:
            return Bound(at.start - (self.key(at.start - 1) in ("tu", "from")), at.stop + size, sign, (value,))
        sign, size = self._sign_before(at.start, _SIGNS)
        if not sign:
            _, size = self._sign_before(at.start, "=")
            is_strong = size and self.key(at.start - 1) in _EQUAL
            sign = "=" if is_strong or any(one.end == at.start - size for one in numeric) else ""
        return Bound(at.start - size, at.stop, sign, (value,)) if sign else None

    def _is_limit(self, at: range, value: Decimal) -> bool:
        behind = [self.said[place : place + 1] for place in range(at.stop, at.stop + NEAR + 2)]
        around = [self.said[max(at.start - 1, 0) : at.start], *behind]
        ends = any({"max", "min"} & {*names_of("cues", one)} or [t.key for t in one] == [GAP_END] for one in around)
        is_first = self.key(at.start - 1) in ("top", "bottom", "first", "last")
        return value == int(value) and 0 < value <= 100 and (ends or is_first)


def tells(column: Column, asked: Sequence[Times]) -> bool:
    """Whether the cells of a column are fine enough for the times that are asked for."""
    if column.kind == "day":
        return True
    if column.kind == "year" and column.sql_type != "DATE":
        return all(one.grain == "year" for one in asked)
    is_coarse = any(one.grain in ("day", "week") or one.months % MONTHS_OF[column.kind] for one in asked)
    return not is_coarse and (
        column.sql_type == "DATE" or not any(one.grain == "year" or one.is_dated for one in asked)
    )


def time_values(column: Column, asked: Sequence[Times]) -> tuple[str, tuple[str, ...]]:
    """Sign and values of a condition on a column of times. Raises `Unclear` where the year is not clear."""
    if column.sql_type != "DATE":
        size = MONTHS_OF[column.kind]
        if column.kind == "year":
            return "in", tuple(str(one.first.year) for one in asked)
        spans = [((one.first.month - 1) // size + 1, (one.last.month - 1) // size + 1) for one in asked]
        return "in", tuple(str(number) for a, b in spans for number in range(a, b + 1))
    years = column.years
    if any(not one.is_dated for one in asked) and len(years) != 1:
        raise Unclear("years", *map(str, years))
    days = [one.in_year(years[0]) for one in asked]
    sign = asked[0].sign
    if len(days) == 1 and sign != "between":
        return sign, (days[0][sign not in ("<", ">=")].isoformat(),)
    if len(days) == 1:
        return "between", (days[0][0].isoformat(), days[0][1].isoformat())
    held = {value for value in column.values if isinstance(value, date)}
    return "in", tuple(sorted(day.isoformat() for day in held if any(a <= day <= b for a, b in days)))


def _end_of(first: date, months: int) -> date:
    behind = first.month - 1 + months
    return date(first.year + behind // 12, behind % 12 + 1, 1) - timedelta(days=1)
