"""What a question to a table may speak of: cells, numbers, times, empty cells, columns; each with how well it fits.

Nothing is decided here: an anchor is one possible reading of a few words, and readings may overlap.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import permutations

import numpy as np
import numpy.typing as npt

from app.domain.knowledge import Language
from app.tables.query import Filter
from app.tables.sheet import SCALES, Column, Sheet
from app.text.dates import Mention, dates_in
from app.text.language import normalise
from app.text.numbers import numbers_in
from training.tables.periods import end_of, holds, in_year
from training.tables.spelling import in_order, keys, likeness, runs, tokens

Mask = npt.NDArray[np.bool_]
_YEAR = re.compile(r"(?:19|20)\d\d")
_MOST_VALUES = 4_000
_MOST_OF_A_COLUMN, FEW = 5, 8
"""Anchors of one column that are kept; and different values up to which one may be meant by other words."""
_LEAST_COVERED, _SHUFFLED = 0.2, 0.6
_SIGNS = ("=", ">", ">=", "<", "<=")
_SIGNS_OF: dict[str, Callable[..., Mask]] = {
    "=": lambda cells, limit: cells == limit,
    ">": lambda cells, limit: cells > limit,
    ">=": lambda cells, limit: cells >= limit,
    "<": lambda cells, limit: cells < limit,
    "<=": lambda cells, limit: cells <= limit,
    "between": lambda cells, low, high: (cells >= low) & (cells <= high),
}
MONTHS_OF = {"day": 1, "month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, eq=False)
class Anchor:
    """A condition some words may state."""

    kind: str
    """``value``, ``number``, ``time``, ``weak`` (a value its words do not name), ``empty``, ``filled``, ``columns``."""
    places: frozenset[int]
    """Of its words in the question; none where no word is a part of it."""
    condition: Filter
    mask: Mask
    """The rows it holds for."""
    quality: float
    """How much of the value is said, 0–1."""
    spelling: float = 1.0
    """How alike the words are written, 0–1."""
    sign: str = ""


class Anchors:
    """Everything the words of one question may state of one sheet."""

    def __init__(self, sheet: Sheet, question: str, today: date, language: Language):
        self.sheet, self.question = sheet, normalise(question)
        self.said = tokens(question)
        self.today, self.language = today, language
        self.row_count = len(sheet.kept)
        self.values = list(self._values())
        exact = {at for one in self.values if one.quality == 1 and len(one.places) > 1 for at in one.places}
        self.mentions = [(self._places(one.start, one.end), one) for one in dates_in(self.question, today, "year")]
        self.mentions = [(at, one) for at, one in self.mentions if at and not exact & at and one.grain != "hours"]
        self.mentions += [
            (frozenset({at}), Mention(0, 0, date(int(token.key), 1, 1), date(int(token.key), 12, 31), "year", True, ""))
            for at, token in enumerate(self.said)
            if _YEAR.fullmatch(token.key) and not any(at in places for places, _ in self.mentions)
        ]
        self.mentions.sort(key=lambda pair: min(pair[0]))
        self.times = list(self._times())
        dated = {at for one in self.times for at in one.places}
        numbers = [(self._places(one.start, one.end), one) for one in numbers_in(self.question, language)]
        self.numbers = [(at, one.value) for at, one in numbers if at and not exact & at and not one.is_share]
        self.bounds = list(self._bounds(dated))
        self.unsaid = list(self._unsaid())
        self.negated = [
            Anchor("not", one.places, Filter(one.condition.column, "not in", one.condition.values), ~one.mask,
                   one.quality, one.spelling, "not in")
            for one in self.values
        ]  # fmt: skip

    @property
    def all(self) -> list[Anchor]:
        """Every anchor."""
        return [*self.values, *self.negated, *self.times, *self.bounds, *self.unsaid]

    def _places(self, start: int, end: int) -> frozenset[int]:
        return frozenset(at for at, token in enumerate(self.said) if start <= token.at < end)

    # -- cells

    def _values(self) -> Iterator[Anchor]:
        for column in self.sheet.columns:
            if column.is_text and len(column.distinct) <= _MOST_VALUES:
                found = sorted(self._values_of(column), key=lambda one: -one.quality * len(one.places) * one.spelling)
                whole = [one.places for one in found if one.quality > 0.99]
                kept = [one for one in found if not any(one.places < other for other in whole)]
                yield from kept[:_MOST_OF_A_COLUMN]

    def _values_of(self, column: Column) -> Iterator[Anchor]:
        """Values of a column by the words they share with the question; those that share the same ones together."""
        words = {value: tokens(value) for value in column.distinct}
        held = Counter(key for value in words.values() for key in {token.key for token in value})
        spelt = {token.key: token for value in words.values() for token in value}
        alike = {
            (at, key): score
            for at, token in enumerate(self.said)
            for key in ([token.key] if token.key in held else held)
            if (score := likeness(token, spelt[key])) > 0
        }
        at_key: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for (at, key), score in alike.items():
            at_key[key].append((at, score))
        weight = {key: math.log(1 + len(words) / count) for key, count in held.items()}
        groups: dict[frozenset[int], list[tuple[float, float, str]]] = defaultdict(list)
        for value, own in words.items():
            whole = sum(weight[token.key] for token in own)
            for places, matched in runs(own, at_key):
                score = sum(weight[key] for key in matched) / whole
                if score >= _LEAST_COVERED:
                    likes = [max(likeness(self.said[at], token) for token in own) for at in places]
                    groups[places].append((score, min(likes), value))
        for places, found in groups.items():
            best = max(score for score, _, _ in found)
            chosen = [one for one in found if one[0] > best - 0.05]
            values = tuple(value for _, _, value in chosen)
            spelling = max(one[1] for one in chosen)
            if any(len(v) <= 3 and v.isupper() and self.said[min(places)].written != v for v in values):
                spelling = min(spelling, 0.5)
            if not any(in_order([self.said[at] for at in sorted(places)], words[value]) for value in values):
                best *= _SHUFFLED
            mask = _among(column, values)
            yield Anchor("value", places, Filter(column, "in", values), mask, best, spelling, "in")

    # -- times

    def _times(self) -> Iterator[Anchor]:
        columns = [one for one in self.sheet.columns if one.kind in MONTHS_OF]
        spans: list[tuple[frozenset[int], date, date, str, bool, bool]] = []
        for at, one in self.mentions:
            spans.append((at, one.first, one.last, one.grain, one.is_dated, False))
        for (at, one), (behind, other) in zip(self.mentions, self.mentions[1:], strict=False):
            if 0 < min(behind) - max(at) <= 4 and one.first <= other.last:
                first = one.first if one.is_dated or not other.is_dated else one.first.replace(year=other.first.year)
                between = frozenset(range(min(at), max(behind) + 1))
                spans.append((between, first, other.last, one.grain, other.is_dated, True))
        spans += [(at, first, last, grain, is_dated, True) for at, first, last, grain, is_dated in self._continued()]
        for column in columns:
            for places, first, last, grain, is_dated, is_range in spans:
                yield from self._time_of(column, places, first, last, grain, is_dated, is_range)

    def _continued(self) -> Iterator[tuple[frozenset[int], date, date, str, bool]]:
        """“tháng 2 đến 4”, “1 to 10 July”: a number beside a time is the other end of it."""
        for at, one in self.mentions:
            size = MONTHS_OF.get(one.grain, 0)
            for place in (max(at) + 1, max(at) + 2):
                number = self._number_at(place)
                if one.grain in ("month", "quarter") and one.first.month // size < number <= 12 // size:
                    first = date(one.first.year, number * size - size + 1, 1)
                    yield frozenset(range(min(at), place + 1)), one.first, end_of(first, size), one.grain, one.is_dated
            for place in (min(at) - 1, min(at) - 2):
                number = self._number_at(place)
                if one.grain == "day" and one.first == one.last and 0 < number < one.last.day:
                    places = frozenset(range(place, max(at) + 1))
                    yield places, one.last.replace(day=number), one.last, one.grain, one.is_dated
                if one.grain in ("month", "quarter") and one.is_dated and 0 < number * size < one.last.month:
                    first = date(one.first.year, number * size - size + 1, 1)
                    yield frozenset(range(place, max(at) + 1)), first, one.last, one.grain, one.is_dated

    def _number_at(self, place: int) -> int:
        key = self.said[place].key if 0 <= place < len(self.said) else ""
        return int(key) if key.isdigit() and len(key) < 3 else 0

    def _time_of(
        self,
        column: Column,
        places: frozenset[int],
        first: date,
        last: date,
        grain: str,
        is_dated: bool,
        is_range: bool,
    ) -> Iterator[Anchor]:
        said = self.question[
            self.said[min(places)].at : self.said[max(places)].at + len(self.said[max(places)].written)
        ]
        if column.sql_type != "DATE":
            size = MONTHS_OF[column.kind]
            if column.kind == "year":
                numbers = range(first.year, last.year + 1)
            elif is_dated and any(one.kind == "year" for one in self.sheet.columns) and grain == "year":
                return
            else:
                numbers = range((first.month - 1) // size + 1, (last.month - 1) // size + 2)
                if grain in ("day", "week", "year"):
                    return
            values = tuple(str(number) for number in numbers)
            mask = np.array([str(value) in values for value in column.values], dtype=bool)
            exact = 1.0 if column.kind == grain or (grain == "month" and column.kind == "quarter") else 0.5
            yield Anchor("time", places, Filter(column, "in", values, said=said), mask, exact, 1.0, "between")
            return
        cells = [value if isinstance(value, date) else None for value in column.values]
        if not is_dated:
            days = [day for day in cells if day is not None]
            spans = [(in_year(first, year), in_year(last, year)) for year in column.years]
            spans = [span for span in spans if span[0] <= max(days) and span[1] >= min(days)]
            if len(spans) != 1:
                return
            first, last = spans[0]
        signs = ("between",) if is_range else ("between", ">", ">=", "<", "<=")
        for sign in signs:
            ends = (first, last) if sign == "between" else (first,) if sign in ("<", ">=") else (last,)
            values = tuple(day.isoformat() for day in ends)
            mask = np.array([day is not None and holds(sign, day, ends) for day in cells], dtype=bool)
            yield Anchor("time", places, Filter(column, sign, values, said=said), mask, 1.0, 1.0, sign)

    # -- numbers

    def _bounds(self, dated: set[int]) -> Iterator[Anchor]:
        free = [(at, value) for at, value in self.numbers if not at <= dated]
        for number, (at, value) in enumerate(free):
            yield from self._bounds_of(at, (value,))
            if number + 1 == len(free) or not 1 <= min(free[number + 1][0]) - max(at) <= 4:
                continue
            behind, other = free[number + 1]
            between, written = frozenset(range(min(at), max(behind) + 1)), self.said[min(behind)].key
            lows = [value]
            if len(behind) > len(at) and written.isdigit() and int(written):
                lows.append(value * other / Decimal(written))
            for low in lows:
                if low < other:
                    yield from self._bounds_of(between, (low, other))

    def _bounds_of(self, places: frozenset[int], values: tuple[Decimal, ...]) -> Iterator[Anchor]:
        """Numbers as conditions on every column of numbers; in its own unit, too, where that is a thousand or more."""
        for column in self.sheet.columns:
            if column.kind != "number":
                continue
            cells = np.array([np.nan if one is None else float(one) for one in column.values])  # type: ignore[arg-type]
            for scale in {Decimal(1), _scale_of(column)}:
                limits = tuple(value / scale for value in values)
                for sign in _SIGNS if len(limits) == 1 else ("between",):
                    condition = Filter(column, sign, tuple(format(one, "f") for one in limits))
                    mask = _SIGNS_OF[sign](cells, *map(float, limits))
                    fits = 1.0 if scale == 1 else 0.9
                    yield Anchor("number", places, condition, mask, fits, 1.0, sign)

    # -- what is not said by words of the table

    def _compared(self) -> Iterator[Anchor]:
        """Two columns of numbers or of days, one above the other."""
        for kind in ("number", "day"):
            columns = [one for one in self.sheet.columns if one.kind == kind and one.sql_type != "VARCHAR"]
            for one, other in permutations(columns, 2):
                pairs = zip(one.values, other.values, strict=True)
                mask = np.array([a is not None and b is not None and a > b for a, b in pairs], dtype=bool)  # type: ignore[operator]
                if mask.any() and not mask.all():
                    yield Anchor("columns", frozenset(), Filter(one, ">", other=other), mask, 0.0, 1.0, ">")

    def _unsaid(self) -> Iterator[Anchor]:
        yield from self._compared()
        nowhere: frozenset[int] = frozenset()
        for column in self.sheet.columns:
            blank = np.array([value is None for value in column.values], dtype=bool)
            if blank.any() and not blank.all():
                yield Anchor("empty", nowhere, Filter(column, "empty"), blank, 0.0, 1.0, "empty")
                yield Anchor("filled", nowhere, Filter(column, "filled"), ~blank, 0.0, 1.0, "filled")
            zero = np.array([value == 0 or value is None for value in column.values], dtype=bool)
            if column.kind == "number" and zero.sum() > blank.sum() and not zero.all():
                yield Anchor("empty", nowhere, Filter(column, "none"), zero, 0.0, 1.0, "empty")
                yield Anchor("filled", nowhere, Filter(column, "some"), ~zero, 0.0, 1.0, "filled")
            named = {value for one in self.values if one.condition.column is column for value in one.condition.values}
            if column.is_text and 1 < len(column.distinct) <= FEW and len(column.distinct) * 2 <= self.row_count:
                for value in column.distinct:
                    if value not in named:
                        condition = Filter(column, "in", (value,))
                        yield Anchor("weak", nowhere, condition, _among(column, (value,)), 0.0, 1.0, "in")


def _scale_of(column: Column) -> Decimal:
    """What a number of the column stands for where its unit is thousands or more: “triệu đồng”."""
    words = keys(" ".join((column.name, *column.units)))
    return next((Decimal(10) ** SCALES[word] for word in words if len(word) > 2 and word in SCALES), Decimal(1))


def _among(column: Column, values: Sequence[str]) -> Mask:
    wanted = set(values)
    return np.array([value in wanted for value in column.values], dtype=bool)
