"""A question to a table as a record, and its exact answer over the stored rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Context, Decimal, localcontext
from typing import Literal, assert_never

from app.domain.record import Record
from app.tools.tables.cells import When
from app.tools.tables.sheet import Column, Sheet

Aggregate = Literal["sum", "average", "count", "max", "min", "list", "distinct"]
GroupUnit = Literal["value", "month", "quarter", "year"]
_EXACT = Context(prec=100)
_AVERAGE_PLACES = 12
_FIRST_DAY = 1
_ZERO = Decimal(0)


class ValueIs(Record):
    """Cells that read as one of these, folded; or none of them."""

    column: int
    values: tuple[str, ...]
    shown: tuple[str, ...]
    """The values as the table writes them."""
    excluded: bool = False


class NumberIs(Record):
    """Numbers within bounds."""

    column: int
    low: Decimal | None = None
    high: Decimal | None = None
    low_included: bool = True
    high_included: bool = True


class PeriodIs(Record):
    """Cells that lie within one of these years, quarters and months; empty = any."""

    column: int
    years: tuple[int, ...] = ()
    quarters: tuple[int, ...] = ()
    months: tuple[int, ...] = ()

    def holds(self, when: When) -> bool:
        """Whether a time lies within it."""
        parts = ((self.years, when.year), (self.quarters, when.quarter_of), (self.months, when.month))
        return all(not wanted or part in wanted for wanted, part in parts)


class DaysIn(Record):
    """Cells that lie within ``since <= day < until``; None = open."""

    column: int
    since: date | None
    until: date | None


Filter = ValueIs | NumberIs | PeriodIs | DaysIn


class TableQuery(Record):
    """What is asked of one table; columns by number."""

    aggregate: Aggregate
    column: int | None = None
    """What is computed with; None for counting rows."""
    filters: tuple[Filter, ...] = ()
    group_by: int | None = None
    group_unit: GroupUnit = "value"
    top: int | None = None
    """So many rows or groups, the greatest (or smallest) first."""
    ascending: bool = False
    """Smallest first."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows with one label, and their value."""

    label: str
    value: Decimal
    rows: int


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The answer and what it rests on."""

    value: Decimal | None
    """None where there is nothing to compute with, and for lists."""
    used: int
    """Rows the value was computed from."""
    matched: int
    """Rows the filters left."""
    unreadable: tuple[str, ...] = ()
    """Cells of matching rows that are no numbers."""
    blank: int = 0
    """Cells of matching rows that say nothing."""
    totals: int = 0
    """Rows left out because they add up others."""
    groups: tuple[Group, ...] = ()
    rows: tuple[int, ...] = ()
    """The rows themselves, by number from 0, where rows are asked for."""
    labels: tuple[str, ...] = ()
    """Different values, where those are asked for."""
    undated: int = 0
    """Rows a time was asked of whose own cannot be read; they are left out."""
    is_exact: bool = True
    """False for an average that had to be rounded."""


def run(sheet: Sheet, query: TableQuery) -> TableAnswer:
    """The answer. Decimals are exact; an average has twelve places."""
    rows = [row for row in range(len(sheet.table.rows)) if row not in sheet.totals]
    undated = _undated(sheet, query.filters, rows)
    for one in query.filters:
        rows = [row for row in rows if _keeps(sheet, one, row)]
    return replace(_over(sheet, query, rows), undated=undated)


def _undated(sheet: Sheet, filters: Sequence[Filter], rows: Sequence[int]) -> int:
    timed = [sheet.columns[one.column] for one in filters if isinstance(one, PeriodIs | DaysIn)]
    return sum(any(column.whens[row] is None for column in timed) for row in rows)


def _over(sheet: Sheet, query: TableQuery, rows: list[int]) -> TableAnswer:
    if query.aggregate == "distinct":
        return _distinct(sheet, query, rows)
    if query.column is None:
        return _counted(sheet, query, rows)
    numbers = sheet.columns[query.column].numbers
    if query.aggregate in ("list", "count") and not sheet.columns[query.column].is_numeric:
        return _counted(sheet, query, [row for row in rows if sheet.columns[query.column].cells[row] != ""])
    used = [row for row in rows if numbers.values[row] is not None]
    blanks = [row for row in rows if row in numbers.blanks]
    missed = [row for row in rows if numbers.values[row] is None and row not in numbers.blanks]
    value, is_exact = _value(query.aggregate, [value for row in used if (value := numbers.values[row]) is not None])
    return TableAnswer(
        value=value,
        used=len(used),
        matched=len(rows),
        unreadable=tuple(str(sheet.columns[query.column].cells[row]) for row in missed),
        blank=len(blanks),
        totals=len(sheet.totals),
        groups=_groups(sheet, query, used),
        rows=_picked(query, used, numbers.values),
        is_exact=is_exact,
    )


def _keeps(sheet: Sheet, one: Filter, row: int) -> bool:
    column = sheet.columns[one.column]
    match one:
        case ValueIs():
            return (column.folded[row] in one.values) != one.excluded
        case NumberIs():
            return _within(column.numbers.values[row], one)
        case PeriodIs():
            when = column.whens[row]
            return when is not None and one.holds(when)
        case DaysIn():
            return _lies_in(column.whens[row], one)
        case _:
            assert_never(one)


def _within(value: Decimal | None, bounds: NumberIs) -> bool:
    if value is None:
        return False
    if bounds.low is not None and (value < bounds.low or (value == bounds.low and not bounds.low_included)):
        return False
    return bounds.high is None or value < bounds.high or (value == bounds.high and bounds.high_included)


def _lies_in(when: When | None, span: DaysIn) -> bool:
    if when is None or when.year is None or when.month is None:
        return False
    try:
        day = date(when.year, when.month, when.day or _FIRST_DAY)
    except ValueError:
        return False
    return (span.since is None or day >= span.since) and (span.until is None or day < span.until)


def _value(aggregate: Aggregate, values: Sequence[Decimal]) -> tuple[Decimal | None, bool]:
    if aggregate == "count":
        return Decimal(len(values)), True
    if not values or aggregate == "list":
        return None, True
    match aggregate:
        case "sum":
            return total(values), True
        case "average":
            return _mean(values)
        case "max":
            return max(values), True
        case "min":
            return min(values), True
        case "distinct":
            return None, True
        case _:
            assert_never(aggregate)


def total(values: Iterable[Decimal]) -> Decimal:
    """Their exact sum."""
    with localcontext(_EXACT):
        return sum(values, Decimal(0))


def _mean(values: Sequence[Decimal]) -> tuple[Decimal, bool]:
    with localcontext(_EXACT):
        mean = sum(values, Decimal(0)) / len(values)
        rounded = mean.quantize(Decimal(1).scaleb(-_AVERAGE_PLACES))
        return (rounded, rounded * len(values) == sum(values, Decimal(0)))


def _counted(sheet: Sheet, query: TableQuery, rows: list[int]) -> TableAnswer:
    value = Decimal(len(rows)) if query.aggregate == "count" else None
    shown = tuple(rows) if query.aggregate == "list" else ()
    return TableAnswer(
        value=value,
        used=len(rows),
        matched=len(rows),
        totals=len(sheet.totals),
        groups=_groups(sheet, query, rows),
        rows=shown,
    )


def _distinct(sheet: Sheet, query: TableQuery, rows: list[int]) -> TableAnswer:
    assert query.column is not None
    column = sheet.columns[query.column]
    labels = tuple(dict.fromkeys(str(column.cells[row]) for row in rows if column.cells[row] != ""))
    value = Decimal(len(labels))
    return TableAnswer(value=value, used=len(rows), matched=len(rows), totals=len(sheet.totals), labels=labels)


def _groups(sheet: Sheet, query: TableQuery, rows: Sequence[int]) -> tuple[Group, ...]:
    """By value, the greatest first; by label where neither was asked for."""
    if query.group_by is None:
        return ()
    by_label: dict[str, list[int]] = {}
    column = sheet.columns[query.group_by]
    for row in rows:
        by_label.setdefault(_label(column, query.group_unit, row), []).append(row)
    numbers = None if query.column is None else sheet.columns[query.column].numbers.values
    groups = [
        Group(label, value, len(own))
        for label, own in by_label.items()
        if (value := _of_group(query.aggregate, own, numbers)) is not None
    ]
    if query.top is not None:
        groups.sort(key=lambda group: (group.value if query.ascending else -group.value, group.label))
    elif query.group_unit != "value":
        groups.sort(key=lambda group: group.label)
    return tuple(groups)


def _of_group(aggregate: Aggregate, rows: list[int], numbers: tuple[Decimal | None, ...] | None) -> Decimal | None:
    if numbers is None or aggregate == "count":
        return Decimal(len(rows))
    return _value(aggregate, [value for row in rows if (value := numbers[row]) is not None])[0]


def _label(column: Column, unit: GroupUnit, row: int) -> str:
    when = column.whens[row] if unit != "value" else None
    if when is None:
        return str(column.cells[row]) if unit == "value" else ""
    year = f"{when.year}-" if when.year else ""
    match unit:
        case "month":
            return f"{year}{when.month:02d}" if when.month else ""
        case "quarter":
            return f"{year}Q{when.quarter_of}" if when.quarter_of else ""
        case "year":
            return str(when.year or "")
        case _:
            return str(column.cells[row])


def _picked(query: TableQuery, rows: Sequence[int], numbers: tuple[Decimal | None, ...]) -> tuple[int, ...]:
    """The rows that are asked for: those that hold the greatest value, the top few, or all of a list."""
    if query.group_by is not None:
        return ()
    if query.aggregate == "list":
        return tuple(rows)
    if query.aggregate not in ("max", "min") or not rows:
        return ()
    ascending = query.aggregate == "min"
    ordered = sorted(rows, key=lambda row: numbers[row] or _ZERO, reverse=not ascending)
    if query.top is not None:
        return tuple(ordered[: query.top])
    best = numbers[ordered[0]]
    return tuple(row for row in ordered if numbers[row] == best)
