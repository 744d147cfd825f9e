"""Versions on their way in: taking one up, its original bytes, its stages.

Written by administrators. Whoever brought a version in sees it until it is published, also without the right to read
what it says; everybody else follows the permission rule.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.documents import DocumentStatus, ParseNote
from app.domain.knowledge import DocumentDraft
from app.storage.database import Transaction, dump


class KnownDocument(NamedTuple):
    """What a new arrival of the same external id goes by."""

    document_id: UUID
    current_version: int
    latest_version: int
    content_hash: str
    """Of the newest version; "" when it was not published, its document was changed since, or the caller may not
    read it."""
    failed_with: str
    """Code of the newest version's failure; "" when it did not fail."""
    has_vectors: bool
    """Whether its chunks have vectors of the space that was asked about."""
    fields: dict[str, Any]
    """The document's own fields, as `DocumentDraft` names them (without text)."""


class ArrivedVersion(NamedTuple):
    """A version as a worker takes it up."""

    document_id: UUID
    version: int
    current_version: int
    draft: DocumentDraft
    """With the text, once the file was parsed."""
    status: DocumentStatus
    status_code: str
    status_detail: str
    chunks_total: int
    file_name: str
    is_parsed: bool
    is_partial: bool
    """Whether some of the file's text could not be read."""
    pages: tuple[int, ...]
    warnings: tuple[ParseNote, ...]


_KNOWN = """
select d.document_id, d.current_version, d.latest_version, d.external_id, d.title, d.url, d.department, d.scope, d.lang,
    d.authority, d.created_at, d.effective_from, d.own_effective_to as effective_to, d.supersedes,
    case when (v.published_at is not null or v.status = 'failed') and d.amended = '{}' then v.content_hash else '' end
        as content_hash,
    case when v.status = 'failed' then v.status_code else '' end as failed_with,
    exists (select from chunk_vectors c where c.tenant_id = d.tenant_id and c.document_id = d.document_id
        and c.embedding_model = $3) as has_vectors
from documents d
left join document_versions v
    on v.tenant_id = d.tenant_id and v.document_id = d.document_id and v.version = d.latest_version
where d.tenant_id = $1 and d.external_id = any($2::text[])
"""
_FIELDS = (
    "external_id", "title", "url", "department", "scope", "lang", "authority", "created_at", "effective_from",
    "effective_to", "supersedes",
)  # fmt: skip
_TAKE_UP = """
with document as (
    insert into documents (tenant_id, document_id, external_id, title, url, department, scope, lang, authority,
        created_at, effective_from, effective_to, own_effective_to, supersedes, latest_version)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, 1)
    on conflict (tenant_id, document_id) do update set latest_version = documents.latest_version + 1,
        status = 'received', status_code = '', status_detail = '', amended = '{}', updated_at = now()
    returning latest_version
), version as (
    insert into document_versions (tenant_id, document_id, version, title, department, scope, effective_from,
        effective_to, content_hash, text, draft, kind, file_name, byte_count, is_parsed, task_id, created_by, status)
    select $1, $2, latest_version, $4, $6, $7, $11, $12, $14, $15, $16, $17, $18, $19, $20, $21, $22, 'received'
    from document
)
select latest_version from document
"""
_ORIGINAL = """
insert into document_originals (tenant_id, document_id, version, content, sha256)
values ($1, $2, $3, $4, encode(sha256($4), 'hex'))
"""
_ARRIVED = """
select v.document_id, v.version, d.current_version, v.draft, v.text, v.status, v.status_code, v.status_detail,
    v.chunks_total, v.file_name, v.is_parsed, v.is_partial, v.pages, v.warnings
from document_versions v join documents d using (tenant_id, document_id)
where v.tenant_id = $1 and v.document_id = $2 and v.task_id = $3
"""
_STAGE = """
with document as (
    -- First the document, then its versions: whoever changes or deletes the document locks them in this order.
    select document_id from documents where tenant_id = $1 and document_id = $2 for no key update
), staged as (
    update document_versions v set status = $4, status_code = $5, status_detail = $6, heartbeat_at = now(),
        chunks_total = coalesce($7, chunks_total), chunks_embedded = coalesce($8, chunks_embedded),
        passages = coalesce($9::text[], passages)
    from document
    where v.tenant_id = $1 and v.document_id = document.document_id and v.version = $3 and v.published_at is null
    returning v.version
), told as (
    update documents d set status = $4, status_code = $5, status_detail = $6, updated_at = now()
    from staged
    where d.tenant_id = $1 and d.document_id = $2 and d.latest_version = staged.version
        and (d.status, d.status_code) is distinct from ($4, $5)
)
select version from staged
"""
_PARSED = """
update document_versions set text = $4, draft = $5, title = $6, kind = $7, pages = $8,
    warnings = $9, is_partial = $10, is_parsed = true, heartbeat_at = now()
where tenant_id = $1 and document_id = $2 and version = $3
"""


async def known_documents(tx: Transaction, external_ids: list[str], embedding_model: str) -> dict[str, KnownDocument]:
    """Those of the named documents that are there, by external id."""
    rows = await tx.driver.fetch(_KNOWN, tx.tenant_id, external_ids, embedding_model)
    return {
        row["external_id"]: KnownDocument(
            row["document_id"], row["current_version"], row["latest_version"], row["content_hash"] or "",
            row["failed_with"], row["has_vectors"], {name: row[name] for name in _FIELDS},
        )
        for row in rows
    }  # fmt: skip


async def take_up(
    tx: Transaction, document_id: UUID, draft: DocumentDraft, *, content_hash: str, kind: str, file_name: str = "",
    original: bytes | None = None, task_id: UUID | None = None,
) -> int:  # fmt: skip
    """Store a new version, and the document when it is the first one; gives the version number.

    The document's fields stay as they are until the version is published. The caller holds `changes_one_at_a_time`.
    """
    tenant = tx.tenant_id
    fields = draft.model_dump(include=set(_FIELDS))
    size = len(draft.text.encode()) if original is None else len(original)
    version: int = await tx.driver.fetchval(
        _TAKE_UP, tenant, document_id, *(fields[name] for name in _FIELDS), content_hash, draft.text,
        _draft_json(draft), kind, file_name, size, original is None, task_id, tx.principal.user_id,
    )  # fmt: skip
    if original is not None:
        await tx.driver.execute(_ORIGINAL, tenant, document_id, version, original)
    return version


async def arrived(tx: Transaction, document_id: UUID, task_id: UUID) -> ArrivedVersion | None:
    """The version a task was registered for; None when its document was deleted or nothing had changed."""
    row = await tx.driver.fetchrow(_ARRIVED, tx.tenant_id, document_id, task_id)
    if row is None:
        return None
    draft = DocumentDraft.model_validate({**row["draft"], "text": row["text"]})
    warnings = tuple(ParseNote.model_validate(one) for one in row["warnings"])
    return ArrivedVersion(
        row["document_id"], row["version"], row["current_version"], draft, DocumentStatus(row["status"]),
        row["status_code"], row["status_detail"], row["chunks_total"], row["file_name"], row["is_parsed"],
        row["is_partial"], tuple(row["pages"]), warnings,
    )  # fmt: skip


async def amendments(tx: Transaction, document_id: UUID, version: int) -> dict[str, Any] | None:
    """What an administrator changed of the document since this version arrived, by field, for its publication.

    None when the version is not the newest arrival any more, or its document was deleted: it must not be published.
    """
    found: dict[str, Any] | None = await tx.driver.fetchval(
        "select amended from documents where tenant_id = $1 and document_id = $2 and latest_version = $3 for update",
        tx.tenant_id,
        document_id,
        version,
    )
    return found


async def original_of(tx: Transaction, document_id: UUID, version: int) -> tuple[bytes, str] | None:
    """(bytes, file name) of a version that came as a file and that the caller may see."""
    row = await tx.driver.fetchrow(
        "select o.content, v.file_name from document_originals o join document_versions v"
        " using (tenant_id, document_id, version) where tenant_id = $1 and document_id = $2 and version = $3",
        tx.tenant_id,
        document_id,
        version,
    )
    return None if row is None else (bytes(row["content"]), row["file_name"])


async def set_stage(
    tx: Transaction, document_id: UUID, version: int, stage: DocumentStatus, *, code: str = "", detail: str = "",
    passages: Sequence[str] | None = None, chunks_embedded: int | None = None,
) -> bool:  # fmt: skip
    """Note the stage of a version and that it is alive; False when it was deleted or is published already.

    `passages` are the hashes of what is about to be embedded.
    """
    total = None if passages is None else len(passages)
    found = await tx.driver.fetchval(
        _STAGE, tx.tenant_id, document_id, version, stage.value, code, detail, total, chunks_embedded,
        passages,
    )  # fmt: skip
    return found is not None


async def save_parsed(
    tx: Transaction, version: ArrivedVersion, draft: DocumentDraft, *, kind: str, pages: tuple[int, ...],
    warnings: tuple[ParseNote, ...], is_partial: bool,
) -> None:  # fmt: skip
    """Keep what was read from a file, so that a second attempt need not read it again."""
    await tx.driver.execute(
        _PARSED, tx.tenant_id, version.document_id, version.version, draft.text, _draft_json(draft),
        draft.title, kind, list(pages), dump([one.model_dump() for one in warnings]), is_partial,
    )  # fmt: skip


async def save_warnings(tx: Transaction, version: ArrivedVersion, title: str, warnings: Sequence[ParseNote]) -> None:
    """Keep what an administrator should know of a version, and the title it may be shown under."""
    await tx.driver.execute(
        "update document_versions set title = $4, warnings = $5"
        " where tenant_id = $1 and document_id = $2 and version = $3",
        tx.tenant_id, version.document_id, version.version, title, dump([one.model_dump() for one in warnings]),
    )  # fmt: skip


def _draft_json(draft: DocumentDraft) -> str:
    return draft.model_dump_json(exclude={"text"})
