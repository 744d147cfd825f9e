"""What documents said before: every published version of a document and of those before and behind it.

The statement names the permission rule itself; the row policies say the same again. A line ends where the caller may
not read its next document: nothing of that one is known here.
"""

from collections.abc import Collection
from uuid import UUID

from app.changes import DocumentVersion
from app.storage.database import Transaction
from app.storage.neighbours import readable, reader

_LETTERS = 120_000
"""Of a version; a longer one is compared by its beginning."""
_LINKS = 12
"""Documents a line is followed over, in both directions."""
_ROWS = 200


_LINES = f"""
with recursive line as (
    select d.document_id, d.external_id, d.supersedes, 0 as links
    from documents d where {readable("d")} and d.current_version > 0 and d.document_id = any($4::uuid[])
    union
    select o.document_id, o.external_id, o.supersedes, line.links + 1
    from line join documents o on o.tenant_id = $1 and o.document_id <> line.document_id
        and (o.external_id = line.supersedes or o.supersedes = line.external_id)
    where line.links < {_LINKS} and {readable("o")} and o.current_version > 0
)
select d.document_id, d.external_id, d.supersedes, v.version, v.title, d.url, d.department, d.scope,
    d.lang as language, d.authority,
    case when v.version = d.current_version then d.created_at
        else coalesce((v.draft ->> 'created_at')::timestamptz, v.created_at) end as created_at,
    v.effective_from, v.effective_to, v.published_at, d.effective_to as closes, left(v.text, {_LETTERS}) as text
from documents d
join document_versions v on v.tenant_id = d.tenant_id and v.document_id = d.document_id
where {readable("d")} and {readable("v")} and d.document_id in (select document_id from line)
    and v.published_at is not null and v.version <= d.current_version
order by d.document_id, v.version desc limit {_ROWS}
"""


async def lines_of(tx: Transaction, document_ids: Collection[UUID]) -> list[DocumentVersion]:
    """The versions of these documents, and of those they replace and are replaced by, newest first for each."""
    rows = await tx.driver.fetch(_LINES, *reader(tx), list(document_ids))
    return [DocumentVersion(**row) for row in rows]
