"""Vectors of one tenant in a new space, written beside those that are searched, and the switch from one to the other.

Only administrators write here. The switch and the removal look at every chunk of the tenant, also those the caller may
not read; what is embedded is what the caller may read.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import asyncpg
import numpy as np
import numpy.typing as npt
from pgvector import Vector

from app.errors import AppError, ErrorCode
from app.storage.database import Transaction
from app.storage.publishing import changes_one_at_a_time

NO_CHUNK = UUID(int=0)
"""Stands before the first chunk."""


class ChunkText(NamedTuple):
    """A chunk with all that its vector is made of; field names are columns."""

    chunk_id: UUID
    title: str
    language: str
    section: str
    text: str
    position: int
    page: int | None


_WITHOUT_VECTORS = """
select c.chunk_id, coalesce(nullif(v.title, ''), d.title) as title, d.lang as language, c.section, c.text, c.position,
    c.page
from chunks c
join documents d on d.tenant_id = c.tenant_id and d.document_id = c.document_id
join document_versions v
    on v.tenant_id = c.tenant_id and v.document_id = c.document_id and v.version = c.version
where c.tenant_id = $1 and c.scope = any($2::text[])
    and (c.scope <> 'private' or c.department = 'general' or c.department = any($3::text[]))
    and c.chunk_id > $4 and not exists (
        select from chunk_vectors n
        where n.tenant_id = c.tenant_id and n.chunk_id = c.chunk_id and n.embedding_model = $5)
order by c.chunk_id limit $6
"""
_ADD = """
insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, effective_from, effective_to,
    is_current, embedding_model, embedding)
select c.tenant_id, c.chunk_id, c.document_id, c.department, c.scope, c.effective_from, c.effective_to, c.is_current,
    $2, fresh.embedding
from unnest($3::uuid[], $4::vector[]) as fresh (chunk_id, embedding)
join chunks c on c.tenant_id = $1 and c.chunk_id = fresh.chunk_id
on conflict do nothing
"""


async def searched_space(tx: Transaction) -> str | None:
    """The space the tenant is searched in; None when it has no vectors."""
    space: str | None = await tx.driver.fetchval(
        "select embedding_space from tenants where tenant_id = $1", tx.principal.tenant_id
    )
    return space


async def chunks_without_vectors(tx: Transaction, space: str, limit: int, *, after: UUID = NO_CHUNK) -> list[ChunkText]:
    """The next readable chunks, in the order of their ids, that have no vector in `space`."""
    asker = tx.principal
    rows = await tx.driver.fetch(
        _WITHOUT_VECTORS, asker.tenant_id, sorted(asker.scopes), sorted(asker.departments), after, space, limit
    )
    return [ChunkText(*row) for row in rows]


async def add_vectors(tx: Transaction, space: str, chunk_ids: Sequence[UUID], vectors: npt.NDArray[np.float32]) -> None:
    """Write vectors of `space` beside the others, with the rights their chunks have at the commit.

    Chunks that are gone by now and vectors that are there already are left out.
    """
    await changes_one_at_a_time(tx)
    await tx.driver.execute(_ADD, tx.principal.tenant_id, space, list(chunk_ids), list(map(Vector, vectors)))


async def switch_space(tx: Transaction, space: str) -> bool:
    """Search the tenant in `space` from this commit on; False, and nothing changes, while a chunk has no vector there.

    Raises `AppError` PERMISSION_DENIED for a caller who does not administer the tenant.
    """
    return await _as_administrator(tx, "switch_embedding_space", space) == 0


async def drop_space(tx: Transaction, space: str) -> int:
    """Remove the vectors of a space that is not searched; gives how many there were, 0 for the one that is.

    Raises `AppError` PERMISSION_DENIED for a caller who does not administer the tenant.
    """
    return await _as_administrator(tx, "drop_embedding_space", space)


async def _as_administrator(tx: Transaction, function: str, space: str) -> int:
    try:
        count: int = await tx.driver.fetchval(f"select {function}($1)", space)
    except asyncpg.InsufficientPrivilegeError as error:
        detail = "Only an administrator changes the vectors a tenant is searched by."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403) from error
    return count
