"""Connectors of a tenant and what was brought in of each; only its administrators read and write them.

Whoever synchronises holds the connector by a lease: writes of a lease that was taken over change nothing and raise.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.record import Record
from app.storage.database import Database, Transaction, dump
from app.storage.documents import STOPPED

_DOCUMENTS = """
from connector_documents k left join documents d on d.tenant_id = k.tenant_id and d.document_id = k.document_id
left join document_versions v
    on v.tenant_id = d.tenant_id and v.document_id = d.document_id and v.version = d.latest_version
left join tasks t on t.tenant_id = v.tenant_id and t.task_id = v.task_id
"""
_VIEW = f"""
select c.connector_id, c.name, c.kind, c.definition, c.every_minutes, c.cursor, c.due_at, c.may_withdraw_all,
    c.lease is not null and c.leased_until > now() as is_running, c.started_at, c.finished_at, c.succeeded_at,
    c.last_error, c.report, n.documents, n.waiting, n.failed
from connectors c left join lateral (
    select count(k.document_id) as documents, count(*) filter (where d.status = 'failed' or {STOPPED}) as failed,
        count(*) filter (where not (d.status = any('{{ready,partial,failed}}') or {STOPPED})) as waiting {_DOCUMENTS}
    where k.tenant_id = c.tenant_id and k.connector_id = c.connector_id
) n on true
where c.tenant_id = $1 and app_is_admin()
"""
_ADD = """
insert into connectors (tenant_id, connector_id, name, kind, definition, every_minutes, created_by)
values ($1, $2, $3, $4, $5, $6, $7) on conflict (tenant_id, name) do nothing
"""
_KNOWN = f"""
select k.source_id, k.tag, k.content_hash, k.fault, k.document_id, d.department, d.scope,
    case when {STOPPED} then 'STOPPED' when d.status = 'failed' then d.status_code else '' end as failed_with
{_DOCUMENTS}
where k.tenant_id = $1 and k.connector_id = $2
"""
_NOTE = """
insert into connector_documents (tenant_id, connector_id, source_id, tag, content_hash, document_id, fault)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (tenant_id, connector_id, source_id) do update set tag = $4,
    content_hash = case when $5 = '' then connector_documents.content_hash else $5 end,
    document_id = coalesce($6, connector_documents.document_id), fault = $7
"""
_RENEW = """
update connectors set leased_until = now() + make_interval(secs => $4)
where tenant_id = $1 and connector_id = $2 and lease = $3 returning true
"""
_FINISH = """
update connectors set lease = null, leased_until = now(), finished_at = now(), last_error = $4, report = $5,
    succeeded_at = case when $4 = '' then now() else succeeded_at end, cursor = $6,
    may_withdraw_all = may_withdraw_all and due_at > started_at,
    due_at = case when due_at > started_at then due_at else started_at + make_interval(mins => every_minutes) end
where tenant_id = $1 and connector_id = $2 and lease = $3 returning true
"""
_ASK = """
update connectors set due_at = now(), may_withdraw_all = $3
where tenant_id = $1 and connector_id = $2 returning true
"""


class LeaseLost(Exception):
    """Somebody else synchronises this connector now, or it was removed."""


class Turn(NamedTuple):
    """A connector that is to be synchronised, held by a lease."""

    tenant_id: UUID
    connector_id: UUID
    lease: UUID


class StoredConnector(Record):
    """A connector as it stands, with the counts of its documents."""

    connector_id: UUID
    name: str
    kind: str
    definition: dict[str, Any]
    every_minutes: int
    cursor: str
    due_at: datetime
    may_withdraw_all: bool
    is_running: bool
    started_at: datetime | None
    finished_at: datetime | None
    """The end of the last synchronisation, well or not."""
    succeeded_at: datetime | None
    last_error: str
    """Of the last synchronisation; empty = it did everything."""
    report: dict[str, Any]
    """What the last synchronisation did."""
    documents: int
    waiting: int
    """Documents whose newest version is on its way."""
    failed: int
    """Documents whose newest version could not be read."""


class KnownItem(NamedTuple):
    """What is known of one thing of a source."""

    source_id: str
    tag: str
    content_hash: str
    fault: str
    """Why it is no document; empty = it is one."""
    document_id: UUID | None
    department: str | None
    scope: str | None
    failed_with: str
    """Code of the newest version's failure; "" when it did not fail."""


async def take(database: Database, seconds: float) -> Turn | None:
    """Take the connector of any tenant that has been due the longest, for so long; None = none is due."""
    async with database.operator_scope() as tx:  # nobody acts yet: only the function sees a row
        row = await tx.driver.fetchrow("select * from take_connector($1)", seconds)
    return None if row is None else Turn(*row)


async def listing(tx: Transaction) -> list[StoredConnector]:
    """The tenant's connectors by name."""
    rows = await tx.driver.fetch(f"{_VIEW} order by c.name", tx.tenant_id)
    return [StoredConnector.model_validate(dict(row)) for row in rows]


async def find(tx: Transaction, connector_id: UUID) -> StoredConnector | None:
    """One of the tenant's connectors."""
    row = await tx.driver.fetchrow(f"{_VIEW} and c.connector_id = $2", tx.tenant_id, connector_id)
    return None if row is None else StoredConnector.model_validate(dict(row))


async def add(tx: Transaction, connector_id: UUID, definition: Mapping[str, Any]) -> bool:
    """Write a connector, due at once; False when the tenant has one of this name."""
    named = [definition[key] for key in ("name", "kind")]
    done = await tx.driver.execute(
        _ADD, tx.tenant_id, connector_id, *named, dump(definition), definition["every_minutes"], tx.principal.user_id
    )
    return done == "INSERT 0 1"


async def remove(tx: Transaction, connector_id: UUID) -> None:
    """Forget a connector and what it brought in, not the documents themselves."""
    gone = "delete from connectors where tenant_id = $1 and connector_id = $2"
    await tx.driver.execute(gone, tx.tenant_id, connector_id)


async def ask(tx: Transaction, connector_id: UUID, *, may_withdraw_all: bool) -> bool:
    """Have a connector synchronised as soon as somebody is free; False = not there."""
    return await tx.driver.fetchval(_ASK, tx.tenant_id, connector_id, may_withdraw_all) is not None


async def known(tx: Transaction, connector_id: UUID) -> list[KnownItem]:
    """Everything known of a connector's source."""
    return [KnownItem(*row) for row in await tx.driver.fetch(_KNOWN, tx.tenant_id, connector_id)]


async def note(
    tx: Transaction, connector_id: UUID, source_id: str, tag: str, *, content_hash: str = "",
    document_id: UUID | None = None, fault: str = "",
) -> None:  # fmt: skip
    """Keep what was found of one thing of the source; a hash or document that is not named stays."""
    await tx.driver.execute(_NOTE, tx.tenant_id, connector_id, source_id, tag, content_hash, document_id, fault)


async def forget(tx: Transaction, connector_id: UUID, source_ids: Sequence[str]) -> None:
    """Drop what is known of things that are gone, and were no documents."""
    gone = "delete from connector_documents where tenant_id = $1 and connector_id = $2 and source_id = any($3::text[])"
    await tx.driver.execute(gone, tx.tenant_id, connector_id, list(source_ids))


async def renew(tx: Transaction, turn: Turn, seconds: float) -> None:
    """Hold a connector longer, and hold others off until the commit. Raises `LeaseLost`."""
    if await tx.driver.fetchval(_RENEW, tx.tenant_id, turn.connector_id, turn.lease, seconds) is None:
        raise LeaseLost


async def finish(tx: Transaction, turn: Turn, error: str, report: Mapping[str, Any], cursor: str) -> None:
    """Give a connector back until it is due again, with how it went. Raises `LeaseLost`."""
    values = (tx.tenant_id, turn.connector_id, turn.lease, error, dump(report), cursor)
    if await tx.driver.fetchval(_FINISH, *values) is None:
        raise LeaseLost
