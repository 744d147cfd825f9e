"""Asks tables in this process, as the confined one would."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import uuid4

from app.domain.attachments import AttachedFile, AttachedTable, Attachment, Cell, FileContent
from app.domain.knowledge import Language
from app.tables import Sheet, TableQuery, Unclear, answered, job, read_question, statement
from app.tables.engine import execute
from app.tools.files.wording import Wording

TODAY = date(2026, 11, 22)


@dataclass(frozen=True)
class Asked:
    """An answer, or why there is none."""

    value: str | None
    text: str
    query: TableQuery | None
    rows: tuple[tuple[str | None, ...], ...] = ()
    reason: str = ""


def table(header: tuple[str, ...], *rows: tuple[Cell, ...], name: str = "") -> AttachedTable:
    return AttachedTable(name=name, header=header, rows=rows)


def ask(
    of: AttachedTable, question: str, language: Language = "vi", names: tuple[str, ...] = ("chi_phi.csv", "chi_phi")
) -> Asked:
    sheet = Sheet(of, language)
    query = read_question(sheet, question, TODAY, language, names)
    if isinstance(query, Unclear):
        return Asked(None, "", None, reason=query.reason)
    sql, parameters = statement(query)
    found = answered(execute(job(sheet.rows, sql, parameters)))
    assert not found.error, (question, found.error)
    wording = Wording(sheet, query, found, language)
    return Asked(wording.value, wording.text(), query, found.rows)


def file(name: str, kind: str, **content: object) -> AttachedFile:
    read = FileContent.model_validate({"language": "vi", **content})
    now = datetime(2026, 11, 22, 3, tzinfo=UTC)
    attachment = Attachment(
        file_id=uuid4(), name=name, kind=kind, byte_count=2048, pages=None, tables=len(read.tables), created_at=now,
        expires_at=now,
    )  # fmt: skip
    return AttachedFile(attachment=attachment, content=read)
