"""Rows of ``attachments``: a person sees and changes only own files, and only until they expire."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.attachments import AttachedFile, Attachment
from app.storage.database import Transaction, dump, storable

_COLUMNS = "file_id, name, kind, byte_count, pages, tables, warnings, created_at, expires_at"
_ALIVE = "tenant_id = $1 and user_id = $2 and expires_at > clock_timestamp()"


class Use(NamedTuple):
    """What a person has attached."""

    files: int
    byte_count: int


async def sweep(tx: Transaction) -> int:
    """Remove every expired file of everybody; how many went."""
    swept: int = await tx.driver.fetchval("select sweep_attachments()")
    return swept


async def one_at_a_time(tx: Transaction) -> Use:
    """What the caller has attached; until the transaction ends, nobody else adds to it."""
    await tx.driver.execute(
        "select pg_advisory_xact_lock(hashtextextended('attachments ' || $1::text || $2::text, 0))", *map(str, tx.whose)
    )
    row = await tx.driver.fetchrow(
        f"select count(*)::int as files, coalesce(sum(byte_count), 0)::int8 as bytes from attachments where {_ALIVE}",
        *tx.whose,
    )
    assert row is not None
    return Use(row["files"], row["bytes"])


async def renew(tx: Transaction, sha256: str, name: str, expires_at: datetime) -> Attachment | None:
    """The caller's file with these bytes and this name, alive for longer; None when there is none."""
    row = await tx.driver.fetchrow(
        f"update attachments set expires_at = $5 where {_ALIVE} and sha256 = $3 and name = $4 returning {_COLUMNS}",
        *tx.whose, sha256, name, expires_at,
    )  # fmt: skip
    return None if row is None else Attachment.model_validate(dict(row))


async def add(tx: Transaction, file: AttachedFile, sha256: str) -> None:
    """Store a file of the caller."""
    told = file.attachment
    await tx.driver.execute(
        "insert into attachments (tenant_id, user_id, file_id, name, kind, byte_count, sha256, pages, tables, warnings,"
        " content, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        *tx.whose, told.file_id, told.name, told.kind, told.byte_count, sha256, told.pages, told.tables,
        dump([note.model_dump() for note in told.warnings]), storable(file.content.model_dump_json()), told.created_at,
        told.expires_at,
    )  # fmt: skip


async def listing(tx: Transaction) -> list[Attachment]:
    """The caller's files, newest first."""
    rows = await tx.driver.fetch(
        f"select {_COLUMNS} from attachments where {_ALIVE} order by created_at desc, file_id", *tx.whose
    )
    return [Attachment.model_validate(dict(row)) for row in rows]


async def read(tx: Transaction, file_id: UUID) -> tuple[Attachment, str] | None:
    """One of the caller's files with its content as JSON text; None for every other id."""
    row = await tx.driver.fetchrow(
        f"select {_COLUMNS}, content from attachments where {_ALIVE} and file_id = $3", *tx.whose, file_id
    )
    if row is None:
        return None
    fields = dict(row)
    content = fields.pop("content")
    return Attachment.model_validate(fields), content


async def delete(tx: Transaction, file_id: UUID) -> bool:
    """Remove one of the caller's files; False when there is none of this id."""
    done = await tx.driver.execute(
        "delete from attachments where tenant_id = $1 and user_id = $2 and file_id = $3", *tx.whose, file_id
    )
    return done == "DELETE 1"
