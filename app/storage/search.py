"""Searching the chunks of one tenant: exact vectors and full text, fused by weighted reciprocal rank in one statement.

Both legs read the principal's visible chunks through a B-tree that begins with the tenant and compare them one by one:
recall is 1, and no tenant's size shows in another's time. There is no approximate index. The index of words, which all
tenants share, is not used here: PostgreSQL evaluates ``@@`` only after the row policies, as it is not leakproof.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt

from app.domain.principal import Scope
from app.storage.database import Transaction

STATISTICS_SAMPLE = 500
"""Chunks whose words are counted; all of a small corpus."""


class ChunkQuery(NamedTuple):
    """What to look for, in which of the principal's chunks."""

    vector: npt.NDArray[np.float32]
    """Unit length, in the space called `embedding_model`."""
    embedding_model: str
    terms: Sequence[tuple[str, float]]
    """(tsquery text, weight above 0): what a chunk's words are scored by."""
    match: str
    """tsquery text; only chunks that match it are scored."""
    is_folded: bool
    """Compare words without diacritics."""
    vector_weight: float
    text_weight: float
    rank_constant: int
    other_language: str
    """Documents in this language count by their vector alone, with both weights; empty for none."""
    departments: Sequence[str] | None
    """Narrows what the principal may read; never widens it."""
    on: date
    """The day the document must be in force."""
    with_superseded: bool
    """Also documents that were replaced since, if they were in force on that day."""
    candidates: int
    """Taken from each leg."""
    limit: int


class Hit(NamedTuple):
    """A chunk that was found, with its document; field names are the columns of the statement."""

    chunk_id: UUID
    document_id: UUID
    external_id: str
    title: str
    section: str
    text: str
    url: str
    department: str
    scope: Scope
    language: str
    created_at: datetime
    effective_from: date | None
    effective_to: date | None
    authority: str
    similarity: float
    text_rank: float
    coverage: float
    """Weight of the terms found in the chunk, as a share of all terms' weight (0–1)."""
    fused_score: float
    candidates: int
    """How many chunks the two legs brought in together; the same in every row."""


class DepartmentHit(NamedTuple):
    """A chunk that was found, without anything it says."""

    department: str
    language: str
    similarity: float
    coverage: float


def _visible(chunk: str) -> str:
    """The permission rule and the period, for a table with a chunk's rights; the row policies say the same again."""
    return f"""{chunk}.tenant_id = $1 and {chunk}.scope = any($2::text[])
        and ({chunk}.scope <> 'private' or {chunk}.department = 'general' or {chunk}.department = any($3::text[]))
        and ($4::text[] is null or {chunk}.department = any($4::text[]))
        and ($6::boolean or {chunk}.is_current)
        and ({chunk}.effective_from is null or {chunk}.effective_from <= $5::date)
        and ({chunk}.effective_to is null or {chunk}.effective_to >= $5::date)"""


def _found(column: str) -> str:
    """Both legs and their places. `column` is the full-text column: one of two constants, never a value.

    The few chunks found are read by their keys, each table once, before anything is joined: right after a load the
    planner knows nothing of the tables and would join every found row with every row of the tenant.
    """
    return f"""
with asked as materialized (
    select term.query::tsquery as query, term.weight
    from unnest($9::text[], $10::real[]) as term (query, weight)
),
by_vector as (
    select chunk_id, row_number() over (order by distance, chunk_id) as place
    from (
        select v.chunk_id, v.embedding <#> $8::vector as distance
        from chunk_vectors v
        where {_visible("v")} and v.embedding_model = $7
        order by distance, v.chunk_id limit $15
    ) as nearest
),
by_text as (
    select chunk_id, strength, row_number() over (order by strength desc, chunk_id) as place
    from (
        select c.chunk_id, (select sum(a.weight * ts_rank(c.{column}, a.query)) from asked a) as strength
        from chunks c
        where {_visible("c")} and c.{column} @@ $17::text::tsquery
        order by strength desc, c.chunk_id limit $15
    ) as matching
),
places as materialized (
    select coalesce(n.chunk_id, t.chunk_id) as chunk_id, n.place as vector_place, t.place as text_place, t.strength
    from by_vector n full join by_text t using (chunk_id)
),
pieces as materialized (
    select c.chunk_id, c.document_id, c.section, c.text, c.department, c.scope, c.effective_from, c.effective_to, (
        select coalesce(sum(a.weight) filter (where c.{column} @@ a.query) / nullif(sum(a.weight), 0), 0) from asked a
    ) as coverage
    from chunks c where c.tenant_id = $1 and c.chunk_id = any(array(select chunk_id from places))
),
angles as materialized (
    select v.chunk_id, v.embedding <#> $8::vector as distance
    from chunk_vectors v
    where v.tenant_id = $1 and v.chunk_id = any(array(select chunk_id from places)) and v.embedding_model = $7
),
papers as materialized (
    select d.document_id, d.external_id, d.title, d.url, d.lang as language, d.created_at, d.authority
    from documents d where d.tenant_id = $1 and d.document_id = any(array(select document_id from pieces))
),
found as (
    select pieces.*, papers.external_id, papers.title, papers.url, papers.language, papers.created_at,
        papers.authority, -angles.distance as similarity, coalesce(places.strength, 0) as text_rank,
        case when papers.language = $14
            then coalesce(($11::float8 + $12::float8) / ($13::integer + places.vector_place), 0)
            else coalesce($11::float8 / ($13::integer + places.vector_place), 0)
                + coalesce($12::float8 / ($13::integer + places.text_place), 0)
        end as fused_score,
        count(*) over () as candidates
    from places join pieces using (chunk_id) join angles using (chunk_id) join papers using (document_id)
)"""


def _search(column: str) -> str:
    columns = ", ".join(Hit._fields)
    return f"{_found(column)}\nselect {columns} from found order by fused_score desc, chunk_id limit $16"


def _departments(column: str) -> str:
    columns = ", ".join(DepartmentHit._fields)
    return f"{_found(column)}\nselect {columns} from found order by fused_score desc, chunk_id limit $16"


SEARCH = {False: _search("tsv"), True: _search("tsv_folded")}
"""By whether words are compared folded."""
_DEPARTMENTS = {False: _departments("tsv"), True: _departments("tsv_folded")}

_STATISTICS = {
    folded: f"""
with sampled as materialized (
    select c.{column} as words from chunks c where {_visible("c")} order by c.chunk_id limit {STATISTICS_SAMPLE}
)
select null as word, count(*) as chunks from sampled
union all
select lexeme, count(*) from sampled, unnest(words) group by lexeme"""
    for folded, column in ((False, "tsv"), (True, "tsv_folded"))
}
_CORPUS_VERSION = "select corpus_version from tenants where tenant_id = $1"


async def search_chunks(tx: Transaction, query: ChunkQuery) -> list[Hit]:
    """The best chunks for `query`, by fused score."""
    return [Hit(**row) for row in await tx.driver.fetch(SEARCH[query.is_folded], *arguments(tx, query))]


async def search_departments(tx: Transaction, query: ChunkQuery) -> list[DepartmentHit]:
    """Where the best chunks for `query` lie; no text leaves the database."""
    rows = await tx.driver.fetch(_DEPARTMENTS[query.is_folded], *arguments(tx, query))
    return [DepartmentHit(**row) for row in rows]


async def count_words(tx: Transaction, *, folded: bool, on: date) -> tuple[int, dict[str, int]]:
    """(chunks looked at, in how many of them each word stands) for a sample of what the principal may read."""
    rows = await tx.driver.fetch(_STATISTICS[folded], *_visibility(tx, None, on, with_superseded=False))
    counts: dict[str | None, int] = {row["word"]: row["chunks"] for row in rows}
    return counts.pop(None), {word: count for word, count in counts.items() if word is not None}


async def corpus_version(tx: Transaction) -> int | None:
    """A number that changes whenever a document of the tenant does; None when the tenant is not registered."""
    version: int | None = await tx.driver.fetchval(_CORPUS_VERSION, tx.principal.tenant_id)
    return version


def arguments(tx: Transaction, query: ChunkQuery) -> list[object]:
    """The bound parameters of `SEARCH`, in order."""
    return [
        *_visibility(tx, query.departments, query.on, with_superseded=query.with_superseded),
        query.embedding_model,
        query.vector,
        [term for term, _ in query.terms],
        [weight for _, weight in query.terms],
        query.vector_weight,
        query.text_weight,
        query.rank_constant,
        query.other_language,
        query.candidates,
        query.limit,
        query.match,
    ]


def _visibility(tx: Transaction, departments: Sequence[str] | None, on: date, *, with_superseded: bool) -> list[object]:
    """The parameters $1 to $6 of `_visible`."""
    asker = tx.principal
    wanted = None if departments is None else list(departments)
    return [asker.tenant_id, sorted(asker.scopes), sorted(asker.departments), wanted, on, with_superseded]
