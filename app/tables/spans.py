"""Read the times and the numbers of a question, each with its sign."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from app.domain.knowledge import Language
from app.tables.query import Unread
from app.tables.sheet import Column
from app.tables.words import Mention, Token, names_of, tokens
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
_SIGNS = frozenset((">", ">=", "<", "<="))


class Times(NamedTuple):
    """A stretch of time that is asked for."""

    start: int
    end: int
    first: date
    last: date
    grain: str
    is_dated: bool
    sign: str = "between"
    said: str = ""


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

    def times_in(self, fixed: set[int]) -> list[Times]:
        """The times of the question; none at places that are fixed."""
        found: list[Times] = []
        for one in dates_in(self.question, self.today, "year"):
            places = [at for at, token in enumerate(self.said) if one.start <= token.at < one.end]
            is_other = _is_other_word([self.said[at] for at in places])
            if places and not fixed.intersection(places) and one.grain != "hours" and not is_other:
                found.append(Times(places[0], places[-1] + 1, one.first, one.last, one.grain, one.is_dated))
        found = [more for one in found for more in self._continued(one, found)]
        return self._signed_times(sorted(set(found)))

    def _continued(self, one: Times, found: Sequence[Times]) -> list[Times]:
        """“tháng 1, 2 và 5”, “tháng 2 đến 4”: numbers behind a month or quarter are further ones."""
        all_of, at = [one], one.end
        while one.grain in ("month", "quarter") and not one.is_dated and at < len(self.said):
            step = 1 if self.said[at].key in _JOINED else 0
            token = self.said[at + step] if at + step < len(self.said) else None
            most = 12 // MONTHS_OF[one.grain]
            if token is None or not token.key.isdigit() or not 1 <= int(token.key) <= most:
                break
            size = MONTHS_OF[one.grain]
            first = date(one.first.year, int(token.key) * size - size + 1, 1)
            all_of.append(Times(at + step, at + step + 1, first, _end_of(first, size), one.grain, one.is_dated))
            at += step + 1
        return all_of

    def _signed_times(self, found: list[Times]) -> list[Times]:
        """Two times of one range put together, and open ones with their sign."""
        signed: list[Times] = []
        for one in found:
            before = self.said[one.start - 1].key if one.start else ""
            last = signed[-1] if signed else None
            is_range = (
                last is not None
                and last.sign in ("between", ">=")
                and one.start - last.end == 1
                and (_JOINED.get(before) == "to" or self.key(last.start - 1) in ("between", "giua"))
            ) or (last is not None and one.start == last.end and "-" in self._gap(last, one))
            if last is not None and is_range:
                opened = last.sign == "between" and self.key(last.start - 1) in ("tu", "from", "between", "giua")
                start = last.start - opened
                first = last.first.replace(year=one.first.year) if one.is_dated and not last.is_dated else last.first
                signed[-1] = Times(start, one.end, first, one.last, one.grain, one.is_dated)
                continue
            sign, size = self._sign_before(one.start, _SIGNS)
            if not names_of("time_signs", self.said[one.start - size : one.start]):
                sign, size = "", 0
            signed.append(one._replace(start=one.start - size, sign=sign or "between"))
        return signed

    def _gap(self, one: Times, two: Times) -> str:
        return self.question[self.said[one.end - 1].at + len(self.said[one.end - 1].written) : self.said[two.start].at]

    def key(self, at: int) -> str:
        """The word at a place; empty outside."""
        return self.said[at].key if 0 <= at < len(self.said) else ""

    def _sign_before(self, start: int, wanted: frozenset[str]) -> tuple[str, int]:
        for size in range(4, 0, -1):
            names = names_of("signs", self.said[max(start - size, 0) : start])
            if start >= size and (sign := next((name for name in names if name in wanted), "")):
                return sign, size
        return "", 0

    def _sign_behind(self, end: int) -> tuple[str, int]:
        for gap in range(3):
            for size in range(3, 0, -1):
                if names := names_of("signs_behind", self.said[end + gap : end + gap + size]):
                    return names[0], gap + size
        return "", 0

    def bounds_in(self, taken: set[int], first: Sequence[Mention]) -> list[Bound]:
        """The numbers of the question with their signs. Raises `Unread` for one that has none."""
        found: list[Bound] = []
        numbers: list[tuple[int, int, Decimal, bool]] = []
        for one in numbers_in(self.question, self.language):
            places = [at for at, token in enumerate(self.said) if one.start <= token.at < one.end]
            if places and not taken.intersection(places) and not one.is_share:
                numbers.append((places[0], places[-1] + 1, one.value, one.is_spelled))
        skip = False
        for at, (start, end, value, is_spelled) in enumerate(numbers):
            if skip:
                skip = False
                continue
            pair = numbers[at + 1] if at + 1 < len(numbers) else None
            if pair and (bound := self._between(start, end, value, pair)):
                found.append(bound)
                skip = True
            elif bound := self._bound(start, end, value, first):
                found.append(bound)
            elif self._is_limit(start, end, value):
                self.limit = int(value)
                found.append(Bound(start, end, "limit", (value,)))
            elif value == 1 and any(one.start == end and one.kind in ("noun", "value") for one in first):
                found.append(Bound(start, end, "one", (value,)))
            elif not is_spelled:
                raise Unread("number", self.said[start].written)
        return found

    def _between(self, start: int, end: int, value: Decimal, pair: tuple[int, int, Decimal, bool]) -> Bound | None:
        opened = self.key(start - 1) in ("tu", "from", "between", "giua", "khoang")
        gap = [token.key for token in self.said[end : pair[0]]]
        joined = [one for one in gap if one in _JOINED]
        if not opened or len(gap) > NEAR or not joined:
            return None
        written = self.said[pair[0]].key
        if value < pair[2] and pair[1] - pair[0] > 1 and end - start == 1 and written.isdigit():
            value *= pair[2] / Decimal(written)
        return Bound(start - 1, pair[1], "between", (value, pair[2]))

    def _bound(self, start: int, end: int, value: Decimal, first: Sequence[Mention]) -> Bound | None:
        sign, size = self._sign_behind(end)
        opened = self.key(start - 1) in ("tu", "from")
        if sign:
            return Bound(start - opened, end + size, sign, (value,))
        sign, size = self._sign_before(start, _SIGNS)
        if sign:
            return Bound(start - size, end, sign, (value,))
        sign, size = self._sign_before(start, frozenset("="))
        counted = [one for one in first if one.start == end and one.kind in ("noun", "value")]
        beside = [one for one in first if one.end == start - size and _is_numeric(one) and not counted]
        is_strong = size and self.key(start - 1) in _EQUAL
        return Bound(start - size, end, "=", (value,)) if beside or is_strong else None

    def _is_limit(self, start: int, end: int, value: Decimal) -> bool:
        around = [self.said[max(at, 0) : at + 1] for at in (start - 1, *range(end, end + NEAR + 2))]
        ends = any({"max", "min"} & set(names_of("cues", one)) for one in around)
        before = self.key(start - 1) in ("top", "bottom", "first", "last")
        behind = GAP_END in [token.key for one in around for token in one]
        return value == int(value) and 0 < value <= 100 and (ends or before or behind)

    def written(self, asked: Sequence[Times]) -> str:
        """Times as the question writes them."""
        text = self.question
        return ", ".join(
            text[self.said[one.start].at : self.said[one.end - 1].at + len(self.said[one.end - 1].written)]
            for one in asked
        )


def _is_numeric(one: Mention) -> bool:
    return one.kind in ("column", "concept") and any(column.kind == "number" for column in one.columns)


def _is_other_word(said: Sequence[Token]) -> bool:
    """Whether words look like “thứ tư” only without their marks: “thứ tự”, “thu từ”."""
    written = " ".join(token.written.lower() for token in said)
    return (
        [token.key for token in said[:2]] == ["thu", "tu"]
        and not written.isascii()
        and not written.startswith("thứ tư")
    )


def tells(column: Column, asked: Sequence[Times]) -> bool:
    """Whether the cells of a column are fine enough for the times that are asked for."""
    size = MONTHS_OF[column.kind]
    if column.kind == "day":
        return True
    if column.sql_type != "DATE":
        return (column.kind == "year" and all(one.grain == "year" for one in asked)) or (
            column.kind != "year"
            and not any(one.grain == "year" or one.is_dated or one.grain in ("day", "week") for one in asked)
            and all(_months(one) % size == 0 for one in asked)
        )
    return all(one.grain not in ("day", "week") and _months(one) % size == 0 for one in asked)


def _months(one: Times) -> int:
    return (one.last.year - one.first.year) * 12 + one.last.month - one.first.month + 1


def _end_of(first: date, months: int) -> date:
    behind = first.month + months
    return date(first.year + (behind - 1) // 12, (behind - 1) % 12 + 1, 1) - timedelta(days=1)


def time_values(column: Column, asked: Sequence[Times]) -> tuple[str, tuple[str, ...]]:
    """Sign and values of a condition on a column of times. Raises `Unread` where the year is not clear."""
    if column.sql_type != "DATE":
        return "in", tuple(
            str(one.first.year if column.kind == "year" else number)
            for one in asked
            for number in range((one.first.month + 2) // 3 if column.kind == "quarter" else one.first.month,
                                ((one.last.month + 2) // 3 if column.kind == "quarter" else one.last.month) + 1)
        )  # fmt: skip
    years = column.years
    if any(not one.is_dated for one in asked) and len(years) != 1:
        raise Unread("years", *map(str, years))
    spans = [(_in_year(one.first, one, years), _in_year(one.last, one, years)) for one in asked]
    sign = asked[0].sign
    if len(spans) == 1 and sign != "between":
        edge = spans[0][0] if sign in ("<", ">=") else spans[0][1]
        return sign, (edge.isoformat(),)
    if len(spans) == 1:
        return "between", (spans[0][0].isoformat(), spans[0][1].isoformat())
    days = {value for value in column.values if isinstance(value, date)}
    return "in", tuple(sorted(day.isoformat() for day in days if any(a <= day <= b for a, b in spans)))


def _in_year(day: date, one: Times, years: Sequence[int]) -> date:
    return (
        day
        if one.is_dated
        else _end_of(day.replace(year=years[0], day=1), 1)
        if (day + timedelta(1)).day == 1
        else (day.replace(year=years[0]))
    )
