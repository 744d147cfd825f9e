"""The text of the search statements. Values are bound parameters always; what varies in the text is chosen here."""

from functools import cache
from typing import Literal, NamedTuple, get_args

from app.domain.knowledge import When

VectorLeg = Literal["exact", "ann", "off"]
"""How the vectors are read: every visible one compared, the tenant's own index walked, or not at all."""
WordLeg = Literal["lookup", "rows"]
"""How words are found: in the lists of the tenant, which all tenants keep in one index; or by the planner's choice of
the tenant's own index and reading every visible chunk."""

MATCHES_RANKED = 1_000
"""Chunks whose words are ranked at most; which ones, when more match, is left to the database."""
STATISTICS_SAMPLE = 500
"""Chunks whose words are counted; all of a small corpus."""


class Shape(NamedTuple):
    """What a search statement depends on, beside its parameters."""

    vectors: VectorLeg
    words: WordLeg
    is_folded: bool
    dimensions: int
    when: When = "in_force"


def visible(chunk: str, when: When = "in_force") -> str:
    """The permission rule and the period, for a table with a chunk's rights; the row policies say the same again."""
    period = f"""({chunk}.effective_from is null or {chunk}.effective_from <= $5::date)
        and ({chunk}.effective_to is null or {chunk}.effective_to >= $5::date)"""
    days = {"in_force": period, "otherwise": f"not ({period})", "upcoming": f"{chunk}.effective_from > $5::date"}
    return f"""{chunk}.tenant_id = $1 and {chunk}.scope = any($2::text[])
        and ({chunk}.scope <> 'private' or {chunk}.department = 'general' or {chunk}.department = any($3::text[]))
        and ($4::text[] is null or {chunk}.department = any($4::text[]))
        and ($6::boolean or {chunk}.is_current)
        and {days[when]}"""


@cache
def search_statement(shape: Shape, columns: tuple[str, ...]) -> str:
    """Both legs, fused; each found row read by its key. `columns` are those of the result."""
    return f"{_found(shape)}\nselect {', '.join(columns)} from found order by fused_score desc, chunk_id"


def _found(shape: Shape) -> str:
    """Both legs and their places. The few chunks found are read by their keys, after the limit: right after a load the
    planner knows nothing of the tables and would join every found row with every row of the tenant.

    A tsvector is taken out of its row once (`setweight` gives back what was indexed) and then asked for every term.
    """
    column = _column(folded=shape.is_folded)
    return f"""
with asked as materialized (
    select term.query::tsquery as query, term.weight from unnest($9::text[], $10::real[]) as term (query, weight)
),
by_vector as (
    select chunk_id, document_id, distance, row_number() over (order by distance, chunk_id) as place
    from ({_nearest(shape)}) as nearest
),
by_text as (
    select chunk_id, document_id, strength, row_number() over (order by strength desc, chunk_id) as place
    from (
        select m.chunk_id, m.document_id, (select sum(a.weight * ts_rank(m.words, a.query)) from asked a) as strength
        from (
            select c.chunk_id, c.document_id, setweight(c.{column}, 'D') as words
            from chunks c where {visible("c", shape.when)} and {_matches(shape)} limit {MATCHES_RANKED}
        ) as m
        order by strength desc, chunk_id limit $15
    ) as matching
),
places as materialized (
    select chunk_id, coalesce(n.document_id, t.document_id) as document_id, n.place as vector_place,
        t.place as text_place, n.distance, t.strength
    from by_vector n full join by_text t using (chunk_id)
),
unmeasured as materialized (
    select v.chunk_id, v.embedding <#> $8::vector as distance from chunk_vectors v where v.tenant_id = $1
        and v.embedding_model = $7 and v.chunk_id = any(array(select chunk_id from places where distance is null))
),
papers as materialized (
    select d.document_id, d.external_id, d.title, d.url, d.lang as language, d.created_at, d.authority
    from documents d where d.tenant_id = $1 and d.document_id = any(array(select document_id from places))
),
ranked as (
    select places.*, papers.external_id, papers.title, papers.url, papers.language, papers.created_at,
        papers.authority, count(*) over () as candidates, count(vector_place) over () as nearest,
        case when papers.language = $14
            then coalesce(($11::float8 + $12::float8) / ($13::integer + places.vector_place), 0)
            else coalesce($11::float8 / ($13::integer + places.vector_place), 0)
                + coalesce($12::float8 / ($13::integer + places.text_place), 0)
        end as fused_score
    from places join papers using (document_id) order by fused_score desc, chunk_id limit $16
),
found as (
    select ranked.*, piece.*, coalesce(strength, 0) as text_rank,
        coalesce(-ranked.distance, -unmeasured.distance, 0) as similarity, (
        select coalesce(sum(a.weight) filter (where piece.words @@ a.query) / nullif(sum(a.weight), 0), 0) from asked a
    ) as coverage
    from ranked left join unmeasured using (chunk_id) cross join lateral (
        select c.section, c.text, c.page, c.department, c.scope, c.effective_from, c.effective_to,
            setweight(c.{column}, 'D') as words
        from chunks c where c.tenant_id = $1 and c.chunk_id = ranked.chunk_id offset 0
    ) as piece
)"""


def _nearest(shape: Shape) -> str:
    rows = f"from chunk_vectors v where {visible('v', shape.when)} and v.embedding_model = $7"
    match shape.vectors:
        case "exact":
            return f"""
        select v.chunk_id, v.document_id, v.embedding <#> $8::vector as distance {rows}
        order by distance, v.chunk_id limit $15"""
        case "ann":
            return f"""
        select chunk_id, document_id, embedding <#> $8::vector as distance
        from (
            select v.chunk_id, v.document_id, v.embedding {rows}
            order by {indexed_vector("v.embedding", shape.dimensions)}
                <#> {indexed_vector("$8::vector", shape.dimensions)}
            limit $15
        ) as near
        order by distance, chunk_id limit $15"""
        case "off":
            return """
        select null::uuid as chunk_id, null::uuid as document_id, 0::float8 as distance where $15::integer is null"""


def indexed_vector(value: str, dimensions: int) -> str:
    """A vector as an index of one tenant holds it: half precision, which halves the index; places are then settled by
    the whole vectors. `dimensions` is a number, never text from outside."""
    return f"({value}::halfvec({dimensions:d}))"


def _matches(shape: Shape) -> str:
    column = _column(folded=shape.is_folded)
    if shape.words == "lookup":
        return f"word_lookup.of_tenant(c.tenant_id, c.{column}) @@ $17::text::tsquery"
    return f"c.{column} @@ $17::text::tsquery"


def _column(*, folded: bool) -> str:
    return "tsv_folded" if folded else "tsv"


@cache
def statistics_statement(*, folded: bool) -> str:
    """One row: how many chunks were looked at, the words in them, in how many of them each stands.

    A word that came once in a sample of many chunks says as little as one that did not come.
    """
    return f"""
with sampled as materialized (
    select c.{_column(folded=folded)} as words from chunks c where {visible("c")}
    order by c.chunk_id limit {STATISTICS_SAMPLE}
),
counted as (
    select word, count(*) as chunks from (select unnest(tsvector_to_array(words)) as word from sampled) as one
    group by word having count(*) > 1 or (select count(*) from sampled) < {STATISTICS_SAMPLE}
)
select (select count(*) from sampled) as sampled, array_agg(word) as words, array_agg(chunks) as chunks from counted"""


COUNT_VISIBLE = {
    when: f"select v.department, count(*) as chunks from chunk_vectors v where {visible('v', when)}"
    " and v.embedding_model = $7 group by v.department"
    for when in get_args(When)
}
STATE = """
select corpus_version, coalesce(embedding_space, $2) as space,
    (own_indexes ->> coalesce(embedding_space, $2))::integer as indexed_chunks, time_zone
from tenants where tenant_id = $1
"""
WORDS_ARE_INDEXED = """
select bool_and(proleakproof) from pg_proc where oid in (
    'ts_match_vq(tsvector, tsquery)'::regprocedure, 'word_lookup.of_tenant(uuid, tsvector)'::regprocedure)
"""
