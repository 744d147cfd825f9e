"""Run one checked SELECT over the rows of one table, in DuckDB, with nothing but memory and time.

`execute` is the function of `confinement.processes` here: bytes in, bytes out, both JSON. Three guards
stand one behind the other: the statement is read and every part of it compared with a list of what is allowed; the
database can reach no file, no network and no extension, and its settings are locked; the process can open nothing and
is killed at its limits of time and memory.
"""

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb

from app.tables.jobs import ROW, TABLE, Answered, Rows, job, quoted

MAX_ROWS = 500
"""Rows of a result; further ones are cut."""
_MAX_SQL_CHARS = 4_000
_MAX_DETAIL_CHARS = 300
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1, "async_threads": 0, "memory_limit": "160MB", "enable_external_access": False,
    "autoinstall_known_extensions": False, "autoload_known_extensions": False, "allow_community_extensions": False,
    "python_enable_replacements": False, "lock_configuration": True,
}  # fmt: skip
_FUNCTIONS = frozenset(
    {
        "+", "-", "*", "/", "//", "%", "||", "~~", "!~~", "~~*", "!~~*", "sum", "avg", "min", "max", "count",
        "count_star", "median", "mode", "stddev_samp", "abs", "round", "ceil", "floor", "lower", "upper", "length",
        "trim", "ltrim", "rtrim", "strip_accents", "contains", "starts_with", "ends_with", "prefix", "suffix",
        "substring", "substr", "left", "right", "concat", "replace", "year", "month", "quarter", "day", "week",
        "dayofweek", "date_part", "date_trunc", "date_diff", "datediff", "strftime", "greatest", "least", "coalesce",
        "nullif", "ifnull", "any_value", "first", "arg_max", "arg_min", "string_agg",
    }
)  # fmt: skip
_EXPRESSIONS = frozenset(
    {"COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "FUNCTION", "OPERATOR", "CASE", "CAST", "BETWEEN", "STAR",
     "PARAMETER", "TYPE"}
)  # fmt: skip
_TYPES = frozenset({"INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "VARCHAR", "DATE", "BOOLEAN", "INTERVAL"})
_NODES = frozenset({"SELECT_NODE"})
_SOURCES = frozenset({"BASE_TABLE", "SUBQUERY", "EMPTY"})


class StatementRefused(Exception):
    """A statement holds something that is not allowed; the message names it."""


def execute(content: bytes) -> bytes:
    """Check and run the statement of a job. Faults of the statement are told in the result, never raised."""
    told = json.loads(content)
    connection = _database()
    try:
        checked_select(connection, told["sql"], [name for name, _ in told["columns"]])
        fill(connection, Rows(told["columns"], told["cells"]))
        return json.dumps(run(connection, told["sql"], told["parameters"])._asdict()).encode()
    except StatementRefused as refused:
        fault = str(refused)
    except duckdb.Error as error:
        fault = str(error).split("\n", 1)[0]
    return json.dumps(Answered((), (), error=fault[:_MAX_DETAIL_CHARS])._asdict()).encode()


def open_database() -> duckdb.DuckDBPyConnection:
    """A database in memory that reaches nothing outside and cannot be told to. Starts no thread."""
    return duckdb.connect(":memory:", config=dict(_SETTINGS))


def checked_select(connection: duckdb.DuckDBPyConnection, sql: str, columns: Sequence[str]) -> None:
    """Raise `StatementRefused` unless `sql` is one SELECT over the table's columns and allowed functions."""
    if len(sql) > _MAX_SQL_CHARS:
        raise StatementRefused("the statement is too long")
    found = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchone()
    tree: dict[str, Any] = json.loads(found[0]) if found else {"error": True}
    if tree.get("error"):
        raise StatementRefused(f"not a SELECT: {tree.get('error_message', '')}")
    if len(tree["statements"]) != 1:
        raise StatementRefused("there must be one statement")
    aliases = {part["alias"] for part in _parts(tree) if part.get("alias")}
    known = {name.casefold() for name in (*columns, *aliases, ROW, TABLE)}
    for part in _parts(tree):
        _check(part, known)


def fill(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    """Make the table of the job's cells. A text that is not of its column's type becomes empty."""
    kept = [f"TRY_CAST(r[{at}] AS {kind}) AS {quoted(name)}" for at, (name, kind) in enumerate(rows.columns, 2)]
    numbered = [[str(at), *cells] for at, cells in enumerate(rows.cells, 1)]
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {TABLE} AS SELECT {', '.join([f'r[1]::INTEGER AS {ROW}', *kept])} "
        "FROM (SELECT unnest(from_json($1::JSON, '[[\"VARCHAR\"]]')) AS r)",
        [json.dumps(numbered, ensure_ascii=False)],
    )


def run(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[str | int] = ()) -> Answered:
    """Run a statement that was checked, and read its first `MAX_ROWS` rows."""
    result = connection.execute(sql, list(parameters))
    names = tuple(str(column[0]) for column in result.description or ())
    found = result.fetchmany(MAX_ROWS + 1)
    return Answered(names, tuple(tuple(map(_text, row)) for row in found[:MAX_ROWS]), len(found) > MAX_ROWS)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """The database of this process: it is opened before the process is confined, for later nothing can be."""
    return open_database()


def _check(part: dict[str, Any], known: set[str]) -> None:
    kind, name = part.get("class"), str(part.get("function_name", "")).lower()
    if kind is not None and kind not in _EXPRESSIONS:
        raise StatementRefused(f"{kind.lower()} is not allowed")
    if kind == "FUNCTION" and (name not in _FUNCTIONS or part.get("schema") or part.get("catalog")):
        raise StatementRefused(f"the function {name} is not allowed")
    if kind == "TYPE" and (part["type_name"].upper() not in _TYPES or part.get("schema") or part.get("catalog")):
        raise StatementRefused(f"the type {part['type_name']} is not allowed")
    if kind == "COLUMN_REF" and not {one.casefold() for one in part["column_names"]} <= known:
        raise StatementRefused(f"there is no column {'.'.join(part['column_names'])}")
    if "cte_map" in part and (part.get("type") not in _NODES or part["cte_map"]["map"]):
        raise StatementRefused("only a plain SELECT is allowed")
    source = part.get("from_table")
    if source is not None:
        _check_source(source)


def _check_source(source: dict[str, Any]) -> None:
    kind = source.get("type")
    if kind not in _SOURCES:
        raise StatementRefused(f"{str(kind).lower()} is not allowed as a source of rows")
    outside = source.get("schema_name") or source.get("catalog_name") or source.get("at_clause")
    if kind == "BASE_TABLE" and (source["table_name"].casefold() != TABLE or outside):
        raise StatementRefused(f"there is no table {source['table_name']}")


def _parts(tree: object) -> Iterator[dict[str, Any]]:
    """Every object in a tree of JSON."""
    if isinstance(tree, dict):
        yield tree
        for one in tree.values():
            yield from _parts(one)
    elif isinstance(tree, list):
        for one in tree:
            yield from _parts(one)


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


SAMPLE = job(
    Rows((("a", "VARCHAR"), ("b", "DECIMAL(38,10)"), ("c", "DATE")), (("x", "1.5", "2026-01-02"), ("y", None, None))),
    f"SELECT a, count(*), sum(b), avg(b), median(b), min(c) FROM {TABLE} WHERE a IN ($1, 'y') AND a ILIKE '%' "
    "GROUP BY a ORDER BY sum(b) DESC NULLS LAST LIMIT 5",
    ["x"],
)
"""Run once before the process is confined, so that DuckDB loads all it loads lazily."""
