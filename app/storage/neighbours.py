"""Passages near one another, by the vectors they are stored with; the model is not asked.

Every statement names the permission rule itself; the row policies say the same again. What the caller may not read is
not compared.
"""

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from app.storage.database import Transaction


class PassageRow(NamedTuple):
    """A passage in force, as it is compared; field names are columns."""

    chunk_id: UUID
    document_id: UUID
    section: str
    text: str
    lang: str
    title: str
    day: date
    """When its document began to hold."""


class Neighbour(NamedTuple):
    """A passage of another document near one that was asked about."""

    chunk_id: UUID
    """Which was asked about."""
    similarity: float
    """Cosine of the stored vectors."""
    passage: PassageRow


def readable(row: str) -> str:
    """The permission rule for a table with a chunk's or document's rights; $1 to $3 of every statement here."""
    return f"""{row}.tenant_id = $1 and {row}.scope = any($2::text[])
        and ({row}.scope <> 'private' or {row}.department = 'general' or {row}.department = any($3::text[]))"""


def in_force(chunk: str) -> str:
    """Today ($4) or later."""
    return f"{chunk}.is_current and coalesce({chunk}.effective_to, 'infinity') >= $4::date"


def at_one_time(one: str, other: str) -> str:
    """Whether two rows with periods are in force on a common day."""
    return f"""coalesce({one}.effective_from, '-infinity') <= coalesce({other}.effective_to, 'infinity')
        and coalesce({other}.effective_from, '-infinity') <= coalesce({one}.effective_to, 'infinity')"""


_DAY = "coalesce(d.effective_from, d.created_at::date)"
_PASSAGES = f"""
select c.chunk_id, c.document_id, c.section, c.text, d.lang, d.title, {_DAY} as day
from chunks c join documents d on d.tenant_id = c.tenant_id and d.document_id = c.document_id
where {readable("c")} and {in_force("c")} and c.document_id = $5
order by c.version desc, c.position limit $6
"""
_NEIGHBOURS = f"""
with mine as materialized (
    select v.chunk_id, v.document_id, v.embedding, v.effective_from, v.effective_to
    from chunk_vectors v where {readable("v")} and v.chunk_id = any($5::uuid[]) and v.embedding_model = $6
),
related as materialized (
    select o.document_id from documents d join documents o on o.tenant_id = d.tenant_id
    where d.tenant_id = $1 and d.document_id in (select document_id from mine)
        and (o.document_id = d.document_id or o.external_id = d.supersedes or o.supersedes = d.external_id)
),
near as materialized (
    select mine.chunk_id, n.chunk_id as other_chunk_id, -n.distance as similarity
    from mine cross join lateral (
        select v.chunk_id, v.embedding <#> mine.embedding as distance
        from chunk_vectors v
        where {readable("v")} and {in_force("v")} and v.embedding_model = $6 and {at_one_time("v", "mine")}
            and v.document_id <> all(array(select document_id from related))
        order by distance, v.chunk_id limit $7
    ) n
    where n.distance <= -$8::float8
)
select near.chunk_id as mine, near.similarity, c.chunk_id, c.document_id, c.section, c.text, d.lang, d.title,
    {_DAY} as day
from near
join chunks c on c.tenant_id = $1 and c.chunk_id = near.other_chunk_id
join documents d on d.tenant_id = $1 and d.document_id = c.document_id
order by near.chunk_id, near.similarity desc, c.chunk_id
"""
_LENGTHS = f"""
select c.document_id, sum(length(c.text))::integer as letters from chunks c
where {readable("c")} and {in_force("c")} and c.document_id = any($5::uuid[]) group by c.document_id
"""


async def passages_of(tx: Transaction, document_id: UUID, today: date, limit: int) -> list[PassageRow]:
    """The document's passages that are or will be in force and the caller may read."""
    rows = await tx.driver.fetch(_PASSAGES, *tx.reader, today, document_id, limit)
    return [PassageRow(**row) for row in rows]


async def neighbours(
    tx: Transaction, chunk_ids: Sequence[UUID], space: str, today: date, *, most: int, least_similarity: float
) -> list[Neighbour]:
    """For each passage of one document the nearest of other documents in force at the same time, nearest first.

    Documents that one of the two replaces do not count. Reads stored vectors of `space` only.
    """
    rows = await tx.driver.fetch(_NEIGHBOURS, *tx.reader, today, list(chunk_ids), space, most, least_similarity)
    return [
        Neighbour(row["mine"], row["similarity"], PassageRow(*(row[name] for name in PassageRow._fields)))
        for row in rows
    ]


async def lengths(tx: Transaction, document_ids: Collection[UUID], today: date) -> dict[UUID, int]:
    """How many letters the readable passages in force of each document have."""
    rows = await tx.driver.fetch(_LENGTHS, *tx.reader, today, list(document_ids))
    return {row["document_id"]: row["letters"] for row in rows}


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
    v.effective_from, v.effective_to, v.published_at, d.effective_to as closes, left(v.text, {_LETTERS}) as text,
    array(select jsonb_path_query(v.warnings, '$[*].sentences[*]') #>> '{{}}') as planted
from documents d
join document_versions v on v.tenant_id = d.tenant_id and v.document_id = d.document_id
where {readable("d")} and {readable("v")} and d.document_id in (select document_id from line)
    and v.published_at is not null and v.version <= d.current_version
order by d.document_id, v.version desc limit {_ROWS}
"""


async def lines_of(tx: Transaction, document_ids: Collection[UUID]) -> list[dict[str, Any]]:
    """The versions of these documents, and of those they replace and are replaced by, newest first for each; without
    the sentences that were left out when they arrived."""
    rows = [dict(row) for row in await tx.driver.fetch(_LINES, *tx.reader, list(document_ids))]
    for row in rows:
        for sentence in row.pop("planted"):
            row["text"] = row["text"].replace(sentence, "")
    return rows
