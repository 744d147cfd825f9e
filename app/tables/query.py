"""A question to a table as it was understood, and the statement that answers it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.tables.jobs import ROW, TABLE, quoted
from app.tables.sheet import Column

How = Literal["sum", "average", "median", "count", "distinct", "rows", "share", "difference"]
_SIGNS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "IN", "not in": "NOT IN"}
_FOUND = 200
"""Groups or rows that are looked at; more are counted."""


@dataclass(frozen=True)
class Filter:
    """A condition on the rows."""

    column: Column
    sign: str
    """``in``, ``not in``, ``=``, ``<``, ``<=``, ``>``, ``>=``, ``between``, ``empty`` or ``none`` (empty or zero)."""
    values: tuple[str, ...] = ()
    other: Column | None = None
    """The column of the same row it is compared with, instead of values."""
    said: str = ""
    """A time as it was asked for."""


@dataclass(frozen=True)
class TableQuery:
    """What is computed from which rows."""

    how: How
    measure: tuple[Column, ...] = ()
    """The column that is computed with, or none."""
    filters: tuple[Filter, ...] = ()
    group: Column | None = None
    grain: str = ""
    """``month``, ``quarter`` or ``year`` where days are put together by them."""
    order: Literal["", "most", "least"] = ""
    limit: int = 0
    """How many rows or groups are asked for; 0 = all of them, or the one at the end with its equals."""
    place: int = 1
    label: Column | None = None
    """The column the answer names rows by."""
    sides: tuple[Filter, ...] = ()
    """Of a difference the two groups; of a share what makes the part."""
    shown: tuple[Column, ...] = ()
    """Columns the question asks for besides."""


class Unclear(Exception):
    """Why a question cannot be read: a key of the wording (``words``, ``column``, ``value``, ``years`` …) and names."""

    def __init__(self, reason: str, *names: str, is_meant: bool = True):
        """`is_meant`: whether the question is surely one to a table."""
        self.reason, self.names, self.is_meant = reason, names, is_meant


class _Conditions:
    """Conditions as SQL; values are parameters."""

    def __init__(self) -> None:
        self.parameters: list[str] = []

    def all_of(self, filters: Sequence[Filter]) -> str:
        return " AND ".join(map(self._one, filters)) or "1 = 1"

    def _one(self, one: Filter) -> str:
        name = quoted(one.column.name)
        if one.other is not None:
            return f"{name} {_SIGNS[one.sign]} {quoted(one.other.name)}"
        if one.sign in ("empty", "none"):
            return f"({name} IS NULL" + (f" OR {name} = 0)" if one.sign == "none" else ")")
        marks = [f"CAST({self._mark(value)} AS {one.column.sql_type})" for value in one.values]
        if one.sign == "between":
            return f"{name} BETWEEN {marks[0]} AND {marks[1]}"
        if one.sign == "not in":
            return f"({name} IS NULL OR {name} NOT IN ({', '.join(marks)}))"
        return f"{name} IN ({', '.join(marks)})" if one.sign == "in" else f"{name} {_SIGNS[one.sign]} {marks[0]}"

    def _mark(self, value: str) -> str:
        self.parameters.append(value)
        return f"${len(self.parameters)}"


def statement(query: TableQuery) -> tuple[str, list[str]]:
    """The SELECT of a query with its parameters.

    Columns of the result: of rows the number and the measure; of groups the key, the value, rows and cells; of a
    share and a difference value and rows of both sides; else value, rows, cells and different texts.
    """
    conditions = _Conditions()
    where = conditions.all_of(query.filters)
    value, cells = _value(query), _measure(query)
    if query.how == "rows":
        order = f"{cells} {'ASC' if query.order == 'least' else 'DESC'}, " if query.order else ""
        has_value = f" AND {cells} IS NOT NULL" if query.order else ""
        sql = f"SELECT {ROW}, {cells} FROM {TABLE} WHERE {where}{has_value} ORDER BY {order}{ROW}"
    elif query.group is not None:
        key = _key(query.group, query.grain)
        is_time = not query.order and (query.grain or not query.group.is_text)
        order = "1" if is_time else f"2 {'ASC' if query.order == 'least' else 'DESC'} NULLS LAST, 1"
        sql = (
            f"SELECT {key}, {value}, count(*), count({cells}) FROM {TABLE} WHERE {where} AND {key} IS NOT NULL "
            f"GROUP BY 1 ORDER BY {order}"
        )
    elif query.sides:
        parts = [conditions.all_of([side]) for side in query.sides]
        parts = parts if query.how == "difference" else [" AND ".join(parts), "1 = 1"]
        sides = ", ".join(f"{value} FILTER (WHERE {part}), count(*) FILTER (WHERE {part})" for part in parts)
        sql = f"SELECT {sides} FROM {TABLE} WHERE {where}"
    else:
        different = quoted(query.label.name) if query.label else ROW
        sql = f"SELECT {value}, count(*), count({cells}), count(DISTINCT {different}) FROM {TABLE} WHERE {where}"
    return f"{sql} LIMIT {_FOUND}", conditions.parameters


def _measure(query: TableQuery) -> str:
    return " * ".join(quoted(column.name) for column in query.measure) or ROW


def _value(query: TableQuery) -> str:
    cells = _measure(query)
    if query.how == "distinct" and query.label:
        return f"count(DISTINCT {quoted(query.label.name)})"
    if not query.measure or query.how == "count":
        return "count(*)"
    function = {"average": "avg", "median": "median"}.get(query.how, "sum")
    return f"{function}({cells})"


def _key(column: Column, grain: str) -> str:
    name = quoted(column.name)
    if column.kind != "day" or not grain:
        return name
    if grain == "quarter":
        return f"concat(year({name}), '-Q', quarter({name}))"
    return f"strftime({name}, '{'%Y' if grain == 'year' else '%Y-%m'}')"
