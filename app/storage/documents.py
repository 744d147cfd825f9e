"""The catalogue of documents: listing, changing, deleting, versions.

The permission rule decides who sees a document; an administrator sees every document of the tenant, but the text of
none beyond own rights. Only administrators change anything.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.documents import DocumentText, DocumentTitle, DocumentView, VersionView
from app.storage.database import Transaction, dump

STOPPED = """not d.status = any('{ready,partial,failed}') and v.task_id is not null and app_is_admin()
        and (t.task_id is null or t.status in ('failed', 'cancelled'))"""
"""Nobody is at work on it any more, and nobody could say so: its task was cancelled, or died too often."""
_TEXT_OF = "(app_may_read({0}.scope, {0}.department) or app_is_admin() and {0}.created_by = app_user())"
"""Whose text a version shows: that of who may read it, or brought it in."""
_VIEW = f"""
select d.document_id, d.external_id, d.title, d.url, d.department, d.scope, d.lang, d.authority, d.created_at,
    d.effective_from, d.effective_to, d.supersedes, d.current_version, d.updated_at,
    case when app_is_admin() then d.latest_version else d.current_version end as latest_version,
    case when {STOPPED} then 'failed' when app_is_admin() then d.status else coalesce(v.status, 'ready') end as status,
    case when {STOPPED} then 'STOPPED' when app_is_admin() then d.status_code else '' end as status_code,
    case when {STOPPED} then 'The work on it was stopped. Bring it in again.' when app_is_admin() then d.status_detail
        else '' end as status_detail,
    coalesce(v.kind, '') as kind, coalesce(v.file_name, '') as file_name, coalesce(v.byte_count, 0) as byte_count,
    case when app_is_admin() then coalesce(v.warnings, '[]')
        else (select coalesce(jsonb_agg(w - 'sentences' - 'proposes'), '[]') from jsonb_array_elements(v.warnings) w)
        end as warnings,
    coalesce(v.chunks_total, 0) as chunks_total,
    coalesce(v.chunks_embedded, 0) as chunks_embedded, v.heartbeat_at,
    case when app_is_admin() then v.task_id end as task_id
from documents d
left join document_versions v on v.tenant_id = d.tenant_id and v.document_id = d.document_id
    and v.version = case when app_is_admin() then d.latest_version else d.current_version end
    and {_TEXT_OF.format("v")}
left join tasks t on t.tenant_id = v.tenant_id and t.task_id = v.task_id and t.user_id = v.created_by
where d.tenant_id = $1 and (app_is_admin() or d.current_version > 0 and app_may_read(d.scope, d.department))
"""
_FIND = f"{_VIEW} and d.document_id = $2"
_NAMED_IN = """
select external_id, told from documents, unnest($3::text[]) as told where tenant_id = $1 and document_id <> $2
    and length(title) > 9 and strpos(lower(told), lower(title)) > 0 order by length(title) desc limit 1
"""
_PAGE = f"""
select * from ({_VIEW}
    and ($2::text is null or d.department = $2)
    and ($4::timestamptz is null or (d.updated_at, d.document_id) < ($4::timestamptz, $5::uuid))
) seen
where $3::text is null or status = $3
order by updated_at desc, document_id desc limit $6
"""
_AMEND = """
update documents set url = coalesce($3, url), department = coalesce($4, department), scope = coalesce($5, scope),
    lang = coalesce($6, lang), authority = coalesce($7, authority),
    effective_from = case when $12 ? 'effective_from' then $8::date else effective_from end,
    own_effective_to = case when $12 ? 'effective_to' then $9::date else own_effective_to end,
    supersedes = case when $12 ? 'supersedes' then $10 else supersedes end,
    created_at = coalesce($11, created_at), amended = amended || $12::jsonb, updated_at = now()
where tenant_id = $1 and document_id = $2
returning coalesce(effective_from <= own_effective_to, true)
"""
_VERSIONS = f"""
select v.version, v.status, v.status_code, v.status_detail, v.title, v.effective_from, v.effective_to, v.file_name,
    v.kind, v.byte_count, v.created_at, v.published_at, v.version = d.current_version as is_current, v.text, v.draft,
    before.text as text_before, before.draft as draft_before
from document_versions v join documents d using (tenant_id, document_id)
left join lateral (
    select b.text, b.draft from document_versions b
    where b.tenant_id = v.tenant_id and b.document_id = v.document_id and b.version < v.version
        and b.published_at is not null and {_TEXT_OF.format("b")}
    order by b.version desc limit 1
) before on true
where v.tenant_id = $1 and v.document_id = $2 and (app_is_admin() or v.published_at is not null)
    and {_TEXT_OF.format("v")}
order by v.version desc limit $3
"""


_READABLE = """
from documents d
join document_versions v
    on v.tenant_id = d.tenant_id and v.document_id = d.document_id and v.version = d.current_version
where d.tenant_id = $1 and d.url = any($2::text[]) and app_may_read(d.scope, d.department)
    and app_may_read(v.scope, v.department)
order by coalesce(d.effective_from, d.created_at::date) desc, d.document_id limit $3
"""
_TEXTS = f"""
select d.document_id, d.title, d.url, d.department, d.scope, d.created_at, d.effective_from, d.effective_to,
    coalesce(v.kind, '') as kind, left(v.text, $4) as text, length(v.text) > $4 as is_cut {_READABLE}
"""
_TITLES = f"select d.url, d.title, d.created_at {_READABLE}"


class VersionText(NamedTuple):
    """A version with what it says."""

    view: VersionView
    text: str
    draft: dict[str, Any]
    text_before: str | None
    """Of the version that was found until this one was published; None for the first."""
    draft_before: dict[str, Any] | None


async def find(tx: Transaction, document_id: UUID) -> DocumentView | None:
    """A document the caller may see."""
    row = await tx.driver.fetchrow(_FIND, tx.tenant_id, document_id)
    return None if row is None else DocumentView.model_validate(dict(row))


async def page(
    tx: Transaction, *, department: str | None, status: str | None, behind: tuple[datetime, UUID] | None, limit: int
) -> list[DocumentView]:
    """The documents the caller may see, last changed first, behind the given (updated_at, document_id)."""
    since, document_id = behind or (None, None)
    rows = await tx.driver.fetch(_PAGE, tx.tenant_id, department, status, since, document_id, limit)
    return [DocumentView.model_validate(dict(row)) for row in rows]


async def amend(tx: Transaction, document_id: UUID, changes: Mapping[str, Any]) -> bool:
    """Change fields of a document and, in the same commit, who may read its chunks and when they are in force; False
    when it would end before it begins, which must not be committed.

    `changes` names only what changes; a date or `supersedes` may be None. The caller holds `changes_one_at_a_time`
    and settles what is superseded afterwards.
    """
    named = ("url", "department", "scope", "lang", "authority", "effective_from", "effective_to", "supersedes")
    values = [changes.get(name) for name in (*named, "created_at")]
    said = dump(dict(changes))
    is_sound: bool = await tx.driver.fetchval(_AMEND, tx.tenant_id, document_id, *values, said)
    return is_sound


async def delete(tx: Transaction, document_id: UUID) -> bool:
    """Remove a document with its versions, chunks, vectors, kept embeddings and original files; False = not there."""
    done = await tx.driver.execute(
        "delete from documents where tenant_id = $1 and document_id = $2", tx.tenant_id, document_id
    )
    return done == "DELETE 1"


async def delete_all(tx: Transaction) -> None:
    """Remove every document of the caller's tenant with all that was made from it; only an administrator can."""
    await tx.driver.execute("delete from documents where tenant_id = $1", tx.tenant_id)
    await tx.driver.execute("delete from embedding_cache where tenant_id = $1", tx.tenant_id)


async def versions(tx: Transaction, document_id: UUID, limit: int) -> list[VersionText]:
    """The versions whose text the caller may read, newest first."""
    rows = await tx.driver.fetch(_VERSIONS, tx.tenant_id, document_id, limit)
    found: list[VersionText] = []
    for row in rows:
        fields = dict(row)
        said = [fields.pop(name) for name in ("text", "draft", "text_before", "draft_before")]
        found.append(VersionText(VersionView.model_validate(fields), *said))
    return found


async def texts(tx: Transaction, url: str, *, most_chars: int, limit: int) -> list[DocumentText]:
    """The documents of one address whose text the caller may read, the latest in force first."""
    rows = await tx.driver.fetch(_TEXTS, tx.tenant_id, [url], limit, most_chars)
    return [DocumentText.model_validate(dict(row)) for row in rows]


async def titles(tx: Transaction, urls: Sequence[str], *, limit: int) -> list[DocumentTitle]:
    """What documents of some addresses are called, as far as the caller may read them; the latest in force first."""
    rows = await tx.driver.fetch(_TITLES, tx.tenant_id, list(urls), limit)
    return [DocumentTitle.model_validate(dict(row)) for row in rows]


async def known(tx: Transaction) -> list[dict[str, Any]]:
    """Address and rights of the tenant's published documents that the caller may see, by external id."""
    rows = await tx.driver.fetch(
        "select external_id, url, department, scope from documents"
        " where tenant_id = $1 and current_version > 0 and (app_is_admin() or app_may_read(scope, department))"
        " order by external_id",
        tx.tenant_id,
    )
    return [dict(row) for row in rows]


async def named_in(tx: Transaction, document_id: UUID, told: Sequence[str]) -> tuple[str, str] | None:
    """The external id of the other document that one of some texts names by its whole title, and the text."""
    row = await tx.driver.fetchrow(_NAMED_IN, tx.tenant_id, document_id, list(told)) if told else None
    return (row["external_id"], row["told"]) if row else None


async def departments(tx: Transaction) -> frozenset[str]:
    """Every department a document of the tenant that the caller may see belongs to."""
    may_see = "tenant_id = $1 and (app_is_admin() or app_may_read(scope, department))"
    rows = await tx.driver.fetch(f"select distinct department from documents where {may_see}", tx.tenant_id)
    return frozenset(row["department"] for row in rows)


async def note(tx: Transaction, action: str, target: str, details: Mapping[str, Any]) -> None:
    """Write to the audit, in the caller's transaction, that the caller did something. No document text belongs here."""
    await tx.driver.execute(
        "insert into audit (tenant_id, user_id, action, target, details) values ($1, $2, $3, $4, $5)",
        *tx.whose,
        action,
        target,
        dump(dict(details)),
    )
