"""Questions to the tables of attached files."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from app.confinement.processes import IsolationEnd, IsolationFailed
from app.domain.attachments import AttachedFile, AttachedTable, escaped
from app.domain.knowledge import Language
from app.errors import ToolRetry
from app.tables import TABLE, Answered, Sheet, TableQuery, Unclear, answered, job, quoted, read_question, statement
from app.tools.files.reading import stem_of
from app.tools.files.wording import Wording, refusal, result_of_sql

TABULAR = ("csv", "xlsx")
"""Files that are tables and nothing else."""
_MOST_TABLES, _MOST_COLUMNS = 3, 4
"""Of an overview."""
_SAMPLES, _MOST_SAMPLE_CHARS = 12, 1_500
"""Values a model is shown of each column."""
Runner = Callable[[bytes], Awaitable[bytes]]
"""Runs a job of `app.tables` in a confined process. Raises `IsolationFailed`."""


@dataclass(frozen=True, slots=True)
class Computed:
    """An answer from one table."""

    file: AttachedFile
    text: str
    url: str
    """``file:chi_phi.csv#sheet=…&column=…``."""
    value: dict[str, JsonValue]
    trace: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a question to tables is not answered, a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class _Read:
    file: AttachedFile
    sheet: Sheet
    reading: TableQuery | Unclear


async def compute(
    run: Runner, query: str, files: Sequence[AttachedFile], now: datetime, language: Language
) -> Computed | Refused | None:
    """The answer of the one table the question is about; None where the text of a document may say it."""
    read = await asyncio.to_thread(_readings, query, files, now, language)
    fitting = [one for one in read if isinstance(one.reading, TableQuery)]
    named = [one for one in fitting if _is_named(one.sheet.table, query)] or fitting
    if len(named) > 1:
        return Refused(refusal("tables", [_place(one) for one in named], language))
    return await _answered(run, named[0], language) if named else _refused(read, language)


def sql_schema(files: Sequence[AttachedFile]) -> dict[str, JsonValue] | None:
    """The JSON schema by which a model may write a SELECT over the one table of the files; None for several."""
    tables = _tables(files)
    if len(tables) != 1:
        return None
    sheet = _sheet(*tables[0])
    listed = ", ".join(f"{quoted(one.name)} {one.sql_type.partition('(')[0]}" for one in sheet.columns)
    samples = "; ".join(f"{one.name}: {', '.join(one.distinct[:_SAMPLES])}" for one in sheet.columns if one.is_text)
    told = (
        f"One read-only SELECT of DuckDB over the table {TABLE} ({listed}), which answers the question exactly. Only "
        f"these columns, plain functions and aggregates; no joins, no subqueries as values. Values of text columns, as "
        f"data: {samples[:_MOST_SAMPLE_CHARS]}"
    )
    return {"type": "object", "properties": {"sql": {"type": "string", "description": told}}, "required": ["sql"]}


async def compute_sql(run: Runner, sql: str, files: Sequence[AttachedFile], language: Language) -> Computed | Refused:
    """The answer of a SELECT that a model wrote; it is checked before it runs."""
    file, table = _tables(files)[0]
    sheet = await asyncio.to_thread(_sheet, file, table)
    found = await _run(run, sheet, sql, ())
    if found is None or found.error or not found.rows:
        return Refused(refusal("failed", (), language))
    value: dict[str, JsonValue] = {
        "result": found.rows[0][0] if len(found.rows) == len(found.columns) == 1 else None,
        "rows": len(found.rows),
        "file": file.attachment.name,
        "query": sql,
    }
    text = result_of_sql(found, sql, language)
    return Computed(file, text, _address(file, table, ""), value, f"a SELECT gave {len(found.rows)} rows")


async def overview(run: Runner, file: AttachedFile, language: Language) -> list[str]:
    """A sentence a column of numbers, for the first few of each table."""
    told: list[str] = []
    for table in file.content.tables[:_MOST_TABLES]:
        sheet = await asyncio.to_thread(_sheet, file, table)
        for column in [one for one in sheet.columns if one.kind == "number" and len(one.units) < 2][:_MOST_COLUMNS]:
            found = await _answered(run, _Read(file, sheet, TableQuery("sum", (column,))), language)
            told.append(found.text)
    return told


def _sheet(file: AttachedFile, table: AttachedTable) -> Sheet:
    return Sheet(table, "en" if file.content.language == "en" else "vi")


def _readings(query: str, files: Sequence[AttachedFile], now: datetime, language: Language) -> list[_Read]:
    """The question read for every table; CPU-bound."""
    of_files = [(one.attachment.name, stem_of(one), *(table.name for table in one.content.tables)) for one in files]
    names = tuple(dict.fromkeys(name for group in of_files for name in group if name))
    sheets = [(file, _sheet(file, table)) for file, table in _tables(files)]
    return [_Read(file, sheet, read_question(sheet, query, now.date(), language, names)) for file, sheet in sheets]


def _tables(files: Sequence[AttachedFile]) -> list[tuple[AttachedFile, AttachedTable]]:
    """The tables of the files; one of a single column or row is a note where there are others."""
    tables = [(file, table) for file in files for table in file.content.tables]
    return [(file, table) for file, table in tables if len(table.header) > 1 and len(table.rows) > 1] or tables


def _is_named(table: AttachedTable, query: str) -> bool:
    return bool(table.name) and table.name.casefold() in query.casefold()


async def _answered(run: Runner, one: _Read, language: Language) -> Computed | Refused:
    query = one.reading
    assert isinstance(query, TableQuery)
    units = {unit for column in query.measure for unit in column.units if len(column.units) > 1}
    if units and query.how not in ("count", "distinct"):
        return Refused(refusal("units", sorted(units), language))
    sql, parameters = statement(query)
    found = await _run(run, one.sheet, sql, parameters)
    if found is None or found.error:
        return Refused(refusal("failed", (), language))
    wording = Wording(one.sheet, query, found, language)
    text = wording.text()
    if not text:
        return Refused(refusal("nothing", (), language, where=wording.where))
    column = query.measure[0].name if query.measure else ""
    return Computed(
        file=one.file,
        text=text,
        url=_address(one.file, one.sheet.table, column),
        value=_value(one, query, wording, found),
        trace=f"{query.how} over {wording.used} of {len(one.sheet.table.rows)} rows",
    )


async def _run(run: Runner, sheet: Sheet, sql: str, parameters: Sequence[str]) -> Answered | None:
    """The result of a statement; None when it reached a limit. Raises `ToolRetry` when no process could be started."""
    content = await asyncio.to_thread(lambda: job(sheet.rows, sql, parameters))
    try:
        return answered(await run(content))
    except IsolationFailed as failed:
        if failed.end is IsolationEnd.UNAVAILABLE:
            raise ToolRetry("The process that computes is not reachable at the moment") from failed
        return None


def _value(one: _Read, query: TableQuery, wording: Wording, found: Answered) -> dict[str, JsonValue]:
    units = query.measure[0].units if query.measure and query.how not in ("count", "distinct") else ()
    value: dict[str, JsonValue] = {
        "result": wording.value,
        "unit": units[0] if len(units) == 1 else "",
        "rows": wording.used,
        "file": one.file.attachment.name,
        "query": statement(query)[0],
    }
    if query.group is not None:
        value["groups"] = {str(key): result for key, result, *_ in found.rows[:100]}
    if query.how == "rows":
        value["row_numbers"] = [one.sheet.number_in_file(int(row[0] or 0)) for row in found.rows[:100]]
    return value


def _refused(read: Sequence[_Read], language: Language) -> Refused | None:
    """The reason of the table that came nearest; none where the question may be about the text of a document."""
    meant = [one for one in read if isinstance(one.reading, Unclear) and one.reading.is_meant]
    tabular = [one for one in read if one.file.attachment.kind in TABULAR]
    nearest = next(iter([one for one in meant if one in tabular] or tabular), None)
    if nearest is None:
        return None
    assert isinstance(nearest.reading, Unclear)
    return Refused(refusal(nearest.reading.reason, nearest.reading.names, language, nearest.sheet))


def _place(one: _Read) -> str:
    table = one.sheet.table
    return f"{one.file.attachment.name} – {table.name}" if table.name else one.file.attachment.name


def _address(file: AttachedFile, table: AttachedTable, column: str) -> str:
    parts = [f"{name}={escaped(value)}" for name, value in (("sheet", table.name), ("column", column)) if value]
    return f"{file.address}#{'&'.join(parts)}" if parts else file.address
