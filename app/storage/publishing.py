"""Publishing a version: its chunks become what is found, and what it replaces vanishes in the same commit.

Only administrators write here (the row policies say so as well).
"""

from collections.abc import Collection, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID, uuid5

import asyncpg
from pgvector import Vector

from app.domain.documents import DocumentStatus
from app.domain.knowledge import DocumentDraft
from app.errors import AppError, ErrorCode
from app.storage.database import Transaction

if TYPE_CHECKING:  # a fifth of a second, which who changes only users does without
    import numpy as np
    import numpy.typing as npt


class ChunkRow(NamedTuple):
    """A chunk with everything it is found by."""

    position: int
    section: str
    page: int | None
    text: str
    words: str
    """Text form of a ``tsvector``."""
    folded_words: str
    passage_hash: str
    """Of what was embedded; names its vector in the tenant's cache."""
    vector: "npt.NDArray[np.float32]"
    """Unit length, in the space the version is published in."""


class Publication(NamedTuple):
    """A stored version that is ready to be found."""

    document_id: UUID
    draft: DocumentDraft
    """The document as it will stand."""
    version: int
    chunks: Sequence[ChunkRow]
    status: DocumentStatus = DocumentStatus.READY
    status_detail: str = ""


_FIELDS = (
    "title", "url", "department", "scope", "lang", "authority", "created_at", "effective_from", "effective_to",
    "supersedes",
)  # fmt: skip
_CACHED = """
select content_hash, embedding from embedding_cache
where tenant_id = $1 and embedding_model = $2 and content_hash = any($3::text[])
"""
_REMEMBER = """
insert into embedding_cache (tenant_id, embedding_model, content_hash, embedding)
select $1, $2, fresh.content_hash, fresh.embedding
from unnest($3::text[], $4::vector[]) as fresh (content_hash, embedding)
on conflict do nothing
"""
_FORGET = """
delete from embedding_cache where tenant_id = $1 and content_hash = any($2::text[])
    and content_hash not in (select passage_hash from chunks where tenant_id = $1 and passage_hash = any($2::text[]))
"""
_CHANGES_ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('documents ' || $1::uuid::text, 0))"
_CHUNKS = """
insert into chunks (tenant_id, chunk_id, document_id, version, position, section, page, text, tsv, tsv_folded,
    passage_hash, department, scope, effective_from, effective_to, is_current)
select $1, c.chunk_id, $2, $3, c.position, c.section, c.page, c.text, c.words::tsvector, c.folded_words::tsvector,
    c.passage_hash, $4, $5, $6, $7, true
from unnest($8::uuid[], $9::integer[], $10::text[], $11::integer[], $12::text[], $13::text[], $14::text[], $15::text[])
    as c (chunk_id, position, section, page, text, words, folded_words, passage_hash)
"""
_VECTORS = """
insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, effective_from, effective_to,
    is_current, embedding_model, embedding)
select $1, c.chunk_id, $2, $3, $4, $5, $6, true, $7, c.embedding
from unnest($8::uuid[], $9::vector[]) as c (chunk_id, embedding)
"""
_PUBLISH = """
with done as (
    update document_versions set status = $14, status_code = '', status_detail = $15,
        chunks_total = cardinality($16::text[]), chunks_embedded = cardinality($16::text[]), passages = $16::text[],
        heartbeat_at = now(), published_at = now()
    where tenant_id = $1 and document_id = $2 and version = $3
), before as (
    select supersedes from documents where tenant_id = $1 and document_id = $2
)
update documents set title = $4, url = $5, department = $6, scope = $7, lang = $8, authority = $9, created_at = $10,
    effective_from = $11, effective_to = $12, own_effective_to = $12, supersedes = $13, current_version = $3,
    is_current = true,
    status = case when latest_version = $3 then $14 else status end,
    status_code = case when latest_version = $3 then '' else status_code end,
    status_detail = case when latest_version = $3 then $15 else status_detail end, updated_at = now()
where tenant_id = $1 and document_id = $2
returning (select supersedes from before)
"""
_SETTLE = """
update documents o set effective_to = least(o.own_effective_to, n.began - 1), updated_at = now(),
    is_current = coalesce(n.began > $3, true)
from (
    select named.external_id, (
        select min(document_begins(new.tenant_id, new.document_id)) from documents new
        where new.tenant_id = $1 and new.supersedes = named.external_id and new.external_id <> named.external_id
            and new.current_version > 0
    ) as began
    from unnest($2::text[]) as named (external_id)
) n
where o.tenant_id = $1 and o.external_id = n.external_id
    and (o.effective_to, o.is_current)
        is distinct from (least(o.own_effective_to, n.began - 1), coalesce(n.began > $3, true))
"""


async def cached_embeddings(
    tx: Transaction, model: str, content_hashes: Sequence[str]
) -> "dict[str, npt.NDArray[np.float32]]":
    """Vectors the tenant has had computed before, by content hash."""
    rows = await tx.driver.fetch(_CACHED, tx.tenant_id, model, list(content_hashes))
    return {row["content_hash"]: row["embedding"].to_numpy() for row in rows}


async def remember_embeddings(tx: Transaction, model: str, vectors: "dict[str, npt.NDArray[np.float32]]") -> None:
    """Keep computed vectors, as the model gave them, by content hash."""
    rows = list(map(Vector, vectors.values()))
    await tx.driver.execute(_REMEMBER, tx.tenant_id, model, list(vectors), rows)


async def forget_embeddings(tx: Transaction, content_hashes: Sequence[str]) -> None:
    """Drop kept vectors of text that stands in no chunk the caller may read."""
    await tx.driver.execute(_FORGET, tx.tenant_id, list(content_hashes))


async def changes_one_at_a_time(tx: Transaction) -> None:
    """Wait until no other transaction changes documents of the tenant, and let the others wait for this one.

    Publishing closes other documents too: two of them in different order would wait for each other for ever.
    """
    await tx.driver.execute(_CHANGES_ONE_AT_A_TIME, tx.tenant_id)


async def publish(tx: Transaction, one: Publication, *, embedding_model: str, today: date) -> None:
    """Write chunks and vectors of a stored version and let it be found; what it replaces vanishes in the commit.

    A version before it that began earlier stays for the days before this one begins. A document that another one
    supersedes is closed on the day before that begins, whichever of the two came first. The caller holds
    `changes_one_at_a_time`.
    """
    tenant, draft = tx.tenant_id, one.draft
    rights, period = (draft.department, draft.scope), (draft.effective_from, draft.effective_to)
    ids = [uuid5(one.document_id, f"{one.version}:{chunk.position}") for chunk in one.chunks]
    *columns, vectors = (list(column) for column in zip(*one.chunks, strict=True))
    await tx.driver.execute(_CHUNKS, tenant, one.document_id, one.version, *rights, *period, ids, *columns)
    await tx.driver.execute(
        _VECTORS, tenant, one.document_id, *rights, *period, embedding_model, ids, list(map(Vector, vectors))
    )
    before: str | None = await tx.driver.fetchval(
        _PUBLISH, tenant, one.document_id, one.version, *(getattr(draft, name) for name in _FIELDS), one.status.value,
        one.status_detail, [chunk.passage_hash for chunk in one.chunks],
    )  # fmt: skip
    await settle(tx, {draft.external_id, before, draft.supersedes}, today)


async def settle(tx: Transaction, external_ids: Collection[str | None], today: date) -> None:
    """Close each named document on the day before the first one that supersedes it begins, or open it again when
    nothing does any more."""
    names = [name for name in external_ids if name]
    await tx.driver.execute(_SETTLE, tx.tenant_id, names, today)


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
        "select embedding_space from tenants where tenant_id = $1", tx.tenant_id
    )
    return space


async def chunks_without_vectors(tx: Transaction, space: str, limit: int, *, after: UUID = NO_CHUNK) -> list[ChunkText]:
    """The next readable chunks, in the order of their ids, that have no vector in `space`."""
    rows = await tx.driver.fetch(_WITHOUT_VECTORS, *tx.reader, after, space, limit)
    return [ChunkText(*row) for row in rows]


async def add_vectors(
    tx: Transaction, space: str, chunk_ids: Sequence[UUID], vectors: "npt.NDArray[np.float32]"
) -> None:
    """Write vectors of `space` beside the others, with the rights their chunks have at the commit.

    Chunks that are gone by now and vectors that are there already are left out.
    """
    await changes_one_at_a_time(tx)
    await tx.driver.execute(_ADD, tx.tenant_id, space, list(chunk_ids), list(map(Vector, vectors)))


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
