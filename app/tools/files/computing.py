"""Questions to the tables of attached files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from pydantic import JsonValue

from app.domain.attachments import AttachedFile, AttachedTable, escaped
from app.domain.knowledge import Language
from app.text.dates import period_in, zone_of
from app.tools.files.reading import stem_of
from app.tools.tables.filters import Asked, Days
from app.tools.tables.query import TableAnswer, TableQuery, run
from app.tools.tables.question import Unclear, read_question
from app.tools.tables.sheet import Sheet
from app.tools.tables.wording import refusal, sentence, unclear, unit_of

TABULAR = ("csv", "xlsx")
"""Files that are tables and nothing else."""
_MOST_ROWS = 100
_MOST_TABLES, _MOST_COLUMNS = 3, 4
"""Of an overview."""


@dataclass(frozen=True, slots=True)
class Computed:
    """An answer from one table."""

    file: AttachedFile
    text: str
    url: str
    """``file:chi_phi.csv#sheet=…&column=…``."""
    value: JsonValue
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


def compute(query: str, files: Sequence[AttachedFile], now: datetime, language: Language) -> Computed | Refused | None:
    """The answer of the one table the question is about; None when it is no question to a table. CPU-bound."""
    asked = _asked(files, now, language)
    read = [
        _Read(file, sheet, reading)
        for file in files
        for table in file.content.tables
        for sheet in [Sheet(table, "en" if file.content.language == "en" else "vi")]
        for reading in [read_question(sheet, query, asked)]
        if reading is not None
    ]
    fitting = [one for one in read if isinstance(one.reading, TableQuery)]
    named = [one for one in fitting if _is_named(one.sheet.table, query)] or fitting
    if len(named) > 1:
        return Refused(refusal("tables", [_place(one) for one in named], language))
    if named:
        return _answered(named[0], language)
    return _refused(read, language)


def overview(file: AttachedFile, language: Language) -> list[str]:
    """A sentence a column of numbers, for the first few of each table. CPU-bound."""
    told: list[str] = []
    for table in file.content.tables[:_MOST_TABLES]:
        sheet = Sheet(table, "en" if file.content.language == "en" else "vi")
        computable = [one for one in sheet.columns if one.is_numeric and len(one.numbers.units) < 2]
        for column in computable[:_MOST_COLUMNS]:
            query = TableQuery(aggregate="sum", column=column.at)
            told.append(sentence(sheet, query, run(sheet, query), language))
    return told


def _asked(files: Sequence[AttachedFile], now: datetime, language: Language) -> Asked:
    def days(phrase: str) -> Days | None:
        zone = now.tzinfo or zone_of(language)
        period = period_in(phrase, now, language, zone)
        if period is None:
            return None
        since, until = (None if at is None else at.astimezone(zone).date() for at in (period.since, period.until))
        return since, until

    sheets = [table.name for file in files for table in file.content.tables if table.name]
    return Asked(
        language=language,
        days=days,
        full_names=tuple(file.attachment.name for file in files),
        loose_names=tuple(dict.fromkeys([*sheets, *map(stem_of, files)])),
    )


def _is_named(table: AttachedTable, query: str) -> bool:
    return bool(table.name) and table.name.casefold() in query.casefold()


def _answered(one: _Read, language: Language) -> Computed | Refused:
    query = one.reading
    assert isinstance(query, TableQuery)
    computes = query.column is not None and query.aggregate in ("sum", "average", "max", "min")
    units = one.sheet.columns[query.column].numbers.units if query.column is not None and computes else ()
    if len(units) > 1:
        return Refused(refusal("units", units, language))
    answer = run(one.sheet, query)
    column = "" if query.column is None else one.sheet.columns[query.column].name
    return Computed(
        file=one.file,
        text=sentence(one.sheet, query, answer, language),
        url=_address(one.file, one.sheet.table, column),
        value=_value(one, query, answer),
        trace=f"{query.aggregate} over {answer.used} of {len(one.sheet.table.rows)} rows, "
        f"{len(answer.unreadable)} unreadable, {answer.blank} blank, {answer.totals} totals",
    )


def _value(one: _Read, query: TableQuery, answer: TableAnswer) -> JsonValue:
    value: dict[str, JsonValue] = {
        "result": None if answer.value is None else _plain(answer.value),
        "unit": unit_of(one.sheet, query),
        "rows": answer.used,
        "skipped": len(answer.unreadable),
        "blank": answer.blank,
        "file": one.file.attachment.name,
        "query": query.model_dump(mode="json", exclude_defaults=True),
    }
    if answer.groups:
        value["groups"] = {group.label: _plain(group.value) for group in answer.groups[:_MOST_ROWS]}
    if answer.rows:
        value["row_numbers"] = [row + 1 for row in answer.rows[:_MOST_ROWS]]
    return value


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _refused(read: Sequence[_Read], language: Language) -> Refused | None:
    """The reason of the table that came nearest; none where the question may be about the text of a document."""
    meant = [one for one in read if isinstance(one.reading, Unclear) and one.reading.is_meant]
    tabular = [one for one in read if one.file.attachment.kind in TABULAR]
    nearest = next(iter([one for one in meant if one in tabular] or tabular), None)
    if nearest is None:
        return None
    assert isinstance(nearest.reading, Unclear)
    return Refused(unclear(nearest.reading, language))


def _place(one: _Read) -> str:
    table = one.sheet.table
    return f"{one.file.attachment.name} – {table.name}" if table.name else one.file.attachment.name


def _address(file: AttachedFile, table: AttachedTable, column: str) -> str:
    parts = [f"{name}={escaped(value)}" for name, value in (("sheet", table.name), ("column", column)) if value]
    return f"{file.address}#{'&'.join(parts)}" if parts else file.address
