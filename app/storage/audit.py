"""Rows of the audit and of the ends of its chains. The database numbers and chains what is added (migration 0018).

Administrators and auditors of a tenant read its rows; every statement asks for the tenant and the role, and row
security does again.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.storage.database import OperatorTransaction, Transaction

_PAGE = """
select a.seq, a.created_at, a.user_id, u.name as user, a.action, a.target, a.details
from audit a left join users u on u.tenant_id = a.tenant_id and u.user_id = a.user_id
where a.tenant_id = $1 and (app_is_admin() or app_is_auditor()) and ($2::text is null or a.action = $2)
    and ($3::uuid is null or a.user_id = $3) and ($4::timestamptz is null or a.created_at >= $4)
    and ($5::timestamptz is null or a.created_at < $5) and ($6::bigint is null or a.seq < $6)
order by a.seq desc limit $7
"""
# Both in one statement, so that the end belongs to the rows although others write meanwhile.
_CHAIN = """
select coalesce(h.seq, 0) as head_seq, coalesce(h.hash, '') as head_hash, coalesce(h.removed_seq, 0) as removed_seq,
    coalesce(h.removed_hash, '') as removed_hash, a.*
from (select $1::uuid as tenant_id) t left join audit_heads h on h.tenant_id = t.tenant_id
left join lateral (
    select seq, previous_hash, user_id, action, target, details::text as details, hash,
        to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at
    from audit where audit.tenant_id = t.tenant_id and seq > greatest($2::bigint, h.removed_seq) order by seq limit $3
) a on true
where app_is_admin() or app_is_auditor()
order by a.seq
"""


class AuditEntry(Record):
    """An act, as it was written down in the transaction that did it: ids, names of fields, rights; nothing anybody
    asked or was told."""

    seq: int
    """Its number in the company's chain, from 1 without a gap."""
    created_at: datetime
    user_id: UUID
    """Who acted; all zeros for the operator, the database itself, and whoever was refused without a name."""
    user: str | None
    """Name; None for people who are known by their tokens alone, or not any more."""
    action: str
    """``question_asked``, ``read_task``, ``document_changed`` …"""
    target: str
    """Id of what it was done to."""
    details: dict[str, Any]


class Wanted(Record):
    """Which acts to list; what is None does not matter."""

    action: str | None = None
    user_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Acts before this time."""


class Head(NamedTuple):
    """The end of a tenant's chain, and how far its beginning was removed."""

    seq: int
    hash: bytes
    """Of the last row; empty before the first."""
    removed_seq: int
    """The last row that was removed after its time; 0 = none was."""
    removed_hash: bytes


class Link(NamedTuple):
    """A row of the audit as its hash is made of it."""

    seq: int
    previous_hash: bytes
    user_id: UUID
    action: str
    target: str
    details: str
    """JSON text as the database writes it."""
    hash: bytes
    created_at: str
    """UTC, with microseconds."""


async def page(tx: Transaction, wanted: Wanted, behind: int | None, limit: int) -> list[AuditEntry]:
    """List the tenant's acts that match, newest first, behind a number; none unless an administrator or auditor
    asks."""
    rows = await tx.driver.fetch(
        _PAGE, tx.tenant_id, wanted.action, wanted.user_id, wanted.since, wanted.until, behind, limit
    )
    return [AuditEntry.model_validate(dict(row)) for row in rows]


async def chain(tx: Transaction, behind: int, limit: int) -> tuple[Head, Sequence[Link]]:
    """Read the end of the tenant's chain and its rows behind a number, in order; both of one moment."""
    rows = await tx.driver.fetch(_CHAIN, tx.tenant_id, behind, limit)
    head = Head(*(rows[0][f"{name}"] for name in ("head_seq", "head_hash", "removed_seq", "removed_hash")))
    return head, [Link(*(row[name] for name in Link._fields)) for row in rows if row["seq"] is not None]


async def remove(tx: OperatorTransaction, tenant_id: UUID, before: datetime, most: int) -> int:
    """Remove the oldest rows of a tenant that were written before a time, at most so many; how many went. The chain
    stays whole: only its beginning goes, and a row says so."""
    return int(await tx.driver.fetchval("select remove_audit($1, $2, $3)", tenant_id, before, most))


_OLD = {
    "conversations": """
delete from sessions where (tenant_id, user_id, session_id) in (
    select s.tenant_id, s.user_id, s.session_id from sessions s
    where s.updated_at < $1 and not exists (
        select from users u where u.tenant_id = s.tenant_id and u.user_id = s.user_id and u.legal_hold)
    limit $2)
""",
    "files": """
delete from attachments where (tenant_id, user_id, file_id) in (
    select a.tenant_id, a.user_id, a.file_id from attachments a
    where a.created_at < $1 and not exists (
        select from users u where u.tenant_id = a.tenant_id and u.user_id = a.user_id and u.legal_hold)
    limit $2)
""",
}


async def remove_old(tx: OperatorTransaction, kind: str, before: datetime, most: int) -> int:
    """Remove conversations last used, or files attached, before a time, of nobody under legal hold; how many went."""
    return int((await tx.driver.execute(_OLD[kind], before, most)).split()[1])


async def drop_logs(tx: OperatorTransaction, before: datetime) -> int:
    """Drop the months of system logs that ended before a time; how many lines went."""
    return int(await tx.driver.fetchval("select drop_log_months($1)", before))


async def demand_not_held(tx: Transaction, user_id: UUID) -> None:
    """Refuse to erase what a person under legal hold has. Raises `AppError` (409)."""
    if await tx.driver.fetchval(
        "select legal_hold from users where tenant_id = $1 and user_id = $2", tx.tenant_id, user_id
    ):
        detail = "This person is under legal hold: nothing may be erased until the operator lifts it."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)


async def hold(tx: OperatorTransaction, tenant_id: UUID, user_id: UUID, *, held: bool) -> bool:
    """Put a person under legal hold, or lift it; False when there is no such person."""
    statement = "update users set legal_hold = $3 where tenant_id = $1 and user_id = $2 returning true"
    return await tx.driver.fetchval(statement, tenant_id, user_id, held) is not None
