"""The queries a question may mean: every computation of a small closed language over conditions its words may state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from app.tables.sheet import Column
from training.tables.anchors import Anchor, Anchors, Mask

MOST_SETS = 48
_MOST_ANCHORS = 5
_MOST_LIMIT = 50
_NONE: Mask = np.zeros(0, dtype=bool)
_GRAINS = ("month", "quarter", "year")


@dataclass(frozen=True, eq=False)
class Conditions:
    """Anchors that can hold together, and the rows they leave."""

    anchors: tuple[Anchor, ...]
    mask: Mask
    score: float

    @cached_property
    def places(self) -> frozenset[int]:
        """The words they explain."""
        return frozenset().union(*(one.places for one in self.anchors))

    @cached_property
    def key(self) -> bytes:
        """The rows, to be compared."""
        return self.mask.tobytes()


class Shape(NamedTuple):
    """What is computed of the rows."""

    how: str
    """``rows``, ``count``, ``distinct``, ``sum``, ``average``, ``share`` or ``difference``."""
    order: str = ""
    """``most`` or ``least`` where the rows or groups at an end are asked for."""
    measure: Column | None = None
    group: Column | None = None
    grain: str = ""
    limit: int = 0
    of: str = ""
    """Of a difference what is subtracted: ``count``, ``sum`` or ``average``; of a share ``count`` or ``sum``."""


@dataclass(eq=False)
class Candidate:
    """A query the question may mean."""

    shape: Shape
    conditions: Conditions
    sides: tuple[Anchor, ...] = ()
    """Of a difference the two sides, of a share the part."""
    base: Mask = field(default_factory=lambda: _NONE)
    """The rows without the sides."""

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Equal for candidates that give the same result."""
        shape = self.shape
        at = [column.at if column is not None else -1 for column in (shape.measure, shape.group)]
        sides = tuple(one.mask.tobytes() for one in self.sides)
        return (*shape[:2], *at, shape.grain, shape.limit, shape.of, self.conditions.key, sides)


def conditions_of(anchors: Sequence[tuple[float, Anchor]], row_count: int) -> list[Conditions]:
    """Sets of anchors that can hold together, the likeliest first; `anchors` come with their log odds."""
    every = Conditions((), np.ones(row_count, dtype=bool), 0.0)
    found = [every]
    for odds, one in sorted(anchors, key=lambda pair: -pair[0]):
        found += [both for known in found if (both := _joined(known, one, odds)) is not None]
        found = sorted(found, key=lambda known: -known.score)[: MOST_SETS * 2]
    best: dict[tuple[bytes, frozenset[int]], Conditions] = {}
    for known in found:
        best.setdefault((known.key, known.places), known)
    chosen = list(best.values())[:MOST_SETS]
    return chosen if every in chosen else [*chosen, every]


def _joined(known: Conditions, one: Anchor, odds: float) -> Conditions | None:
    if len(known.anchors) >= _MOST_ANCHORS:
        return None
    mask = known.mask
    same = [other for other in known.anchors if other.condition.column is one.condition.column]
    for other in known.anchors:
        if other.places & one.places:
            return None
    if one.sign in ("in", "between") and any(other.sign == one.sign for other in same) and one.kind != "number":
        # Several values or times of one column: rows with any of them.
        rest = [other for other in known.anchors if other not in same]
        either = np.logical_or.reduce([other.mask for other in same if other.sign == one.sign] + [one.mask])
        mask = np.logical_and.reduce([other.mask for other in rest] + [either])
    elif any(other.sign == one.sign or "empty" in (other.sign, one.sign) for other in same):
        if one.sign != "not in":
            return None
        mask = mask & one.mask
    else:
        mask = mask & one.mask
    return Conditions((*known.anchors, one), mask, known.score + odds)


def shapes_of(anchors: Anchors) -> list[Shape]:
    """Every computation over some rows of the table that needs no sides."""
    columns = anchors.sheet.columns
    numeric = [one for one in columns if one.kind == "number"]
    ends = [one for one in columns if one.kind != "text"]
    limits = sorted({int(value) for _, value in anchors.numbers if value == int(value) and 1 < value <= _MOST_LIMIT})
    found = [Shape("rows"), Shape("count")]
    found += [Shape("distinct", group=one) for one in columns if one.is_text]
    found += [Shape(how, measure=one) for how in ("sum", "average") for one in numeric]
    found += [
        Shape("rows", order, one, limit=limit) for order in ("most", "least") for one in ends for limit in (0, *limits)
    ]
    for group, grain in _groups(columns):
        for how, measures in (("count", [None]), ("sum", numeric), ("average", numeric)):
            for measure in measures:
                if measure is group:
                    continue
                found.append(Shape(how, "", measure, group, grain))
                found += [
                    Shape(how, order, measure, group, grain, limit)
                    for order in ("most", "least")
                    for limit in (0, *limits)
                ]
    return found


def _groups(columns: Sequence[Column]) -> Iterator[tuple[Column, str]]:
    for one in columns:
        repeated = len(set(one.values)) < len(one.values)
        if one.kind == "day" and one.sql_type == "DATE":
            yield one, ""
            yield from ((one, grain) for grain in _GRAINS)
        elif repeated and (one.kind != "number" or len(set(one.values)) <= 12):
            yield one, ""


def candidates_of(anchors: Anchors, found: Sequence[Conditions], shapes: Sequence[Shape]) -> Iterator[Candidate]:
    """All candidates of some conditions."""
    for conditions in found:
        for shape in shapes:
            if conditions.anchors or shape[:2] != ("rows", ""):
                yield Candidate(shape, conditions)
    yield from with_sides(anchors, found)


def with_sides(anchors: Anchors, found: Sequence[Conditions]) -> Iterator[Candidate]:
    """Shares and differences."""
    numeric = [one for one in anchors.sheet.columns if one.kind == "number"]
    for conditions in found:
        yield from _shares(conditions, numeric)
        yield from _differences(conditions, numeric)


def _shares(conditions: Conditions, numeric: Sequence[Column]) -> Iterator[Candidate]:
    if not conditions.anchors:
        return
    for part in [(one,) for one in conditions.anchors] if len(conditions.anchors) > 1 else [conditions.anchors]:
        rest = [one for one in conditions.anchors if one not in part]
        if any(one.condition.column is part[0].condition.column for one in rest):
            continue
        base = _all(rest, conditions)
        yield Candidate(Shape("share", of="count"), conditions, part, base)
        for one in numeric:
            yield Candidate(Shape("share", measure=one, of="sum"), conditions, part, base)


def _differences(conditions: Conditions, numeric: Sequence[Column]) -> Iterator[Candidate]:
    for a, b in combinations(conditions.anchors, 2):
        if a.condition.column is not b.condition.column or (a.mask & b.mask).any() or a.kind != b.kind:
            continue
        if a.sign not in ("in", "between") or b.sign != a.sign:
            continue
        base = _all([one for one in conditions.anchors if one not in (a, b)], conditions)
        yield Candidate(Shape("difference", of="count"), conditions, (a, b), base)
        for of in ("sum", "average"):
            for one in numeric:
                yield Candidate(Shape("difference", measure=one, of=of), conditions, (a, b), base)


def _all(anchors: Sequence[Anchor], conditions: Conditions) -> Mask:
    mask = np.ones(len(conditions.mask), dtype=bool)
    for one in anchors:
        mask = mask & one.mask
    return mask
