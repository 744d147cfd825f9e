"""Rows of ``feedback``: what a person thought of an own answer. Nobody else reads it."""

from datetime import datetime
from uuid import UUID

from app.domain.principal import Scope
from app.domain.record import Record
from app.storage.database import OperatorTransaction, Transaction

_PUT = """
insert into feedback (tenant_id, user_id, task_id, rating, correction)
select tenant_id, user_id, task_id, $4, $5 from tasks
where tenant_id = $1 and user_id = $2 and task_id = $3 and parent_task_id is null and kind = 'chat'
    and principal -> 'scopes' <@ to_jsonb($6::text[]) and principal -> 'departments' <@ to_jsonb($7::text[])
on conflict (tenant_id, user_id, task_id) do update
    set rating = excluded.rating, correction = excluded.correction,
        updated_at = case when (feedback.rating, feedback.correction) = (excluded.rating, excluded.correction)
            then feedback.updated_at else clock_timestamp() end
returning rating, correction, created_at, updated_at
"""


class Feedback(Record):
    """What somebody thought of an answer."""

    rating: int
    """-1 bad, 0 neither, 1 good."""
    correction: str
    """What the answer should have said; empty = nothing was said."""
    created_at: datetime
    updated_at: datetime
    """When it last changed."""


async def put(tx: Transaction, task_id: UUID, rating: int, correction: str) -> Feedback | None:
    """Keep the caller's feedback on an own run; the same again changes nothing.

    None when the caller has no such run, or asked it with rights that are lost by now.
    """
    row = await tx.driver.fetchrow(
        _PUT, *tx.whose, task_id, rating, correction,
        *tx.rights,
    )  # fmt: skip
    return None if row is None else Feedback.model_validate(dict(row))


_KNOWN_DOCUMENTS = """
select external_id, url, department, scope from documents
where tenant_id = $1 and current_version > 0 order by external_id
"""
_LEFT_BY_MODELS = ("model_calls", "model_usage")


class KnownDocumentRow(Record):
    """A published document the caller may see; field names are columns."""

    external_id: str
    url: str
    department: str
    scope: Scope


async def known_documents(tx: Transaction) -> list[KnownDocumentRow]:
    """The published documents of the caller's tenant, by external id."""
    rows = await tx.driver.fetch(_KNOWN_DOCUMENTS, tx.tenant_id)
    return [KnownDocumentRow.model_validate(dict(row)) for row in rows]


async def empty(tx: Transaction) -> None:
    """Remove every document of the caller's tenant with all that was made from it; only an administrator can."""
    await tx.driver.execute("delete from documents where tenant_id = $1", tx.tenant_id)
    await tx.driver.execute("delete from embedding_cache where tenant_id = $1", tx.tenant_id)


async def remove_tenant(tx: OperatorTransaction, tenant_id: UUID) -> None:
    """Remove an emptied tenant with its people, and what models cost it."""
    for table in _LEFT_BY_MODELS:
        await tx.driver.execute(f"delete from {table} where tenant_id = $1", tenant_id)
    await tx.driver.execute("delete from tenants where tenant_id = $1", tenant_id)
