"""What an evaluation needs of the database: a tenant's documents at a glance, and the end of a throw-away tenant."""

from datetime import date
from uuid import UUID

from app.domain.principal import Scope
from app.domain.record import Record
from app.storage.database import OperatorTransaction, Transaction

_SHELF = """
select d.external_id, d.url, d.department, d.scope, d.effective_from, d.effective_to,
    coalesce(v.content_hash, '') as content_hash
from documents d left join document_versions v
    on v.tenant_id = d.tenant_id and v.document_id = d.document_id and v.version = d.current_version
where d.tenant_id = $1 and d.current_version > 0 order by d.external_id
"""
_LEFT_BY_MODELS = ("model_calls", "model_usage")


class ShelvedRow(Record):
    """A published document the caller may see; field names are columns."""

    external_id: str
    url: str
    department: str
    scope: Scope
    effective_from: date | None
    effective_to: date | None
    content_hash: str
    """Empty where the caller may not read it."""


async def shelf(tx: Transaction) -> list[ShelvedRow]:
    """The published documents of the caller's tenant, by external id."""
    rows = await tx.driver.fetch(_SHELF, tx.principal.tenant_id)
    return [ShelvedRow.model_validate(dict(row)) for row in rows]


async def empty(tx: Transaction) -> None:
    """Remove every document of the caller's tenant with all that was made from it; only an administrator can."""
    await tx.driver.execute("delete from documents where tenant_id = $1", tx.principal.tenant_id)
    await tx.driver.execute("delete from embedding_cache where tenant_id = $1", tx.principal.tenant_id)


async def remove_tenant(tx: OperatorTransaction, tenant_id: UUID) -> None:
    """Remove an emptied tenant with its people, and what models cost it."""
    for table in _LEFT_BY_MODELS:
        await tx.driver.execute(f"delete from {table} where tenant_id = $1", tenant_id)
    await tx.driver.execute("delete from tenants where tenant_id = $1", tenant_id)
