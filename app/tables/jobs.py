"""What goes to the confined process that computes, and what comes back: JSON of rows, a statement, a result.

The service imports this and never DuckDB: `app.tables.engine` is loaded in the confined process alone.
"""

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

SqlType = Literal["VARCHAR", "DECIMAL(38,10)", "DATE"]
TABLE, ROW = "data", "row_number"
"""The name of the table in statements, and of its column that counts the rows from 1."""


class Rows(NamedTuple):
    """The data of a job: a name and a type a column, and texts of the cells; None = empty."""

    columns: Sequence[tuple[str, SqlType]]
    cells: Sequence[Sequence[str | None]]


class Answered(NamedTuple):
    """What a statement gave: values as text, numbers in plain decimal spelling, days in ISO."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    is_cut: bool = False
    error: str = ""
    """Why there is no result; the rows are empty then."""


def job(rows: Rows, sql: str, parameters: Sequence[str | int] = ()) -> bytes:
    """The bytes `execute` takes."""
    told = {"columns": list(rows.columns), "cells": list(rows.cells), "sql": sql, "parameters": list(parameters)}
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


def answered(result: bytes) -> Answered:
    """The bytes `execute` gives."""
    read = json.loads(result)
    return Answered(tuple(read["columns"]), tuple(map(tuple, read["rows"])), read["is_cut"], read["error"])


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
