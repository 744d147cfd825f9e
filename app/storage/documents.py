"""Documents and their chunks: what is stored, and publishing a new version in one step.

Only administrators write here (the row policies say so as well). Reading a document's text follows the permission rule.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID, uuid5

import numpy as np
import numpy.typing as npt
from pgvector import Vector

from app.domain.principal import Scope
from app.storage.database import Transaction


class StoredDocument(NamedTuple):
    """What must be known of a document to tell whether it has to be published again."""

    external_id: str
    version: int
    content_hash: str | None
    """Of the current version; None when the principal may not read it."""
    has_vectors: bool
    """Whether its chunks have vectors of the model that was asked about."""


class DocumentRow(NamedTuple):
    """A document as it will stand in the database; field names are columns."""

    document_id: UUID
    external_id: str
    title: str
    url: str
    department: str
    scope: Scope
    lang: str
    authority: str
    created_at: datetime
    effective_from: date | None
    effective_to: date | None
    supersedes: str | None


class ChunkRow(NamedTuple):
    """A chunk with everything it is found by."""

    position: int
    section: str
    text: str
    words: str
    """Text form of a ``tsvector``."""
    folded_words: str
    vector: npt.NDArray[np.float32]
    """Unit length, in the space the version is published in."""


_STORED = """
select d.external_id, d.current_version as version, v.content_hash,
    exists (select from chunk_vectors c where c.tenant_id = d.tenant_id and c.document_id = d.document_id
        and c.embedding_model = $3) as has_vectors
from documents d
left join document_versions v
    on v.tenant_id = d.tenant_id and v.document_id = d.document_id and v.version = d.current_version
where d.tenant_id = $1 and d.external_id = any($2::text[])
"""
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
_ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('documents ' || $1::uuid::text, 0))"
"""Publishing closes other documents too: two of them in different order would wait for each other."""
_UPSERT = """
insert into documents (tenant_id, document_id, external_id, title, url, department, scope, lang, authority, created_at,
    effective_from, effective_to, supersedes)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
on conflict (tenant_id, document_id) do update set title = excluded.title, url = excluded.url,
    department = excluded.department, scope = excluded.scope, lang = excluded.lang, authority = excluded.authority,
    created_at = excluded.created_at, effective_from = excluded.effective_from, effective_to = excluded.effective_to,
    supersedes = excluded.supersedes, is_current = true, updated_at = now()
returning current_version + 1
"""
_VERSION = """
insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope, created_by)
values ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_CHUNKS = """
insert into chunks (tenant_id, chunk_id, document_id, version, position, section, text, tsv, tsv_folded, department,
    scope, effective_from, effective_to)
select $1, c.chunk_id, $2, $3, c.position, c.section, c.text, c.words::tsvector, c.folded_words::tsvector,
    $4, $5, $6, $7
from unnest($8::uuid[], $9::integer[], $10::text[], $11::text[], $12::text[], $13::text[])
    as c (chunk_id, position, section, text, words, folded_words)
"""
_VECTORS = """
insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, effective_from, effective_to,
    embedding_model, embedding)
select $1, c.chunk_id, $2, $3, $4, $5, $6, $7, c.embedding
from unnest($8::uuid[], $9::vector[]) as c (chunk_id, embedding)
"""
_PUBLISH = """
update documents set current_version = $3, status = 'ready', status_detail = '', updated_at = now()
where tenant_id = $1 and document_id = $2
"""
_CLOSE_SUPERSEDED = """
update documents o
set effective_to = least(coalesce(o.effective_to, 'infinity'), n.began - 1),
    is_current = o.is_current and n.began > $3, updated_at = now()
from (
    select supersedes, min(coalesce(effective_from, created_at::date)) as began,
        bool_or(external_id = $2) as by_this
    from documents where tenant_id = $1 and supersedes is not null group by supersedes
) n
where o.tenant_id = $1 and o.external_id = n.supersedes and (o.external_id = $2 or n.by_this)
"""


async def stored_documents(
    tx: Transaction, external_ids: Sequence[str], embedding_model: str
) -> dict[str, StoredDocument]:
    """Those of the named documents that are there, by external id."""
    rows = await tx.driver.fetch(_STORED, tx.principal.tenant_id, list(external_ids), embedding_model)
    return {row["external_id"]: StoredDocument(**row) for row in rows}


async def cached_embeddings(
    tx: Transaction, model: str, content_hashes: Sequence[str]
) -> dict[str, npt.NDArray[np.float32]]:
    """Vectors the tenant has had computed before, by content hash."""
    rows = await tx.driver.fetch(_CACHED, tx.principal.tenant_id, model, list(content_hashes))
    return {row["content_hash"]: row["embedding"].to_numpy() for row in rows}


async def remember_embeddings(tx: Transaction, model: str, vectors: dict[str, npt.NDArray[np.float32]]) -> None:
    """Keep computed vectors, as the model gave them, by content hash."""
    rows = list(map(Vector, vectors.values()))
    await tx.driver.execute(_REMEMBER, tx.principal.tenant_id, model, list(vectors), rows)


async def publish_document(
    tx: Transaction,
    document: DocumentRow,
    *,
    content_hash: str,
    text: str,
    embedding_model: str,
    chunks: Sequence[ChunkRow],
    today: date,
) -> int:
    """Write document, version, chunks and vectors; the version before vanishes from search in the same commit.

    A document that `document` supersedes is closed on the day before it begins, whichever of the two came first. Gives
    the version number back.
    """
    tenant = tx.principal.tenant_id
    await tx.driver.execute(_ONE_AT_A_TIME, tenant)
    version: int = await tx.driver.fetchval(_UPSERT, tenant, *document)
    rights = (document.department, document.scope)
    period = (document.effective_from, document.effective_to)
    await tx.driver.execute(
        _VERSION, tenant, document.document_id, version, content_hash, text, *rights, tx.principal.user_id
    )
    ids = [uuid5(document.document_id, f"{version}:{one.position}") for one in chunks]
    positions, sections, texts, words, folded, vectors = (list(column) for column in zip(*chunks, strict=True))
    await tx.driver.execute(
        _CHUNKS, tenant, document.document_id, version, *rights, *period, ids, positions, sections, texts, words, folded
    )
    await tx.driver.execute(
        _VECTORS, tenant, document.document_id, *rights, *period, embedding_model, ids, list(map(Vector, vectors))
    )
    await tx.driver.execute(_PUBLISH, tenant, document.document_id, version)
    await tx.driver.execute(_CLOSE_SUPERSEDED, tenant, document.external_id, today)
    return version
