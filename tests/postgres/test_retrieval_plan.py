"""How PostgreSQL executes the search when many tenants share the tables."""

import json
from collections.abc import Iterator
from datetime import date
from typing import Any, TypeAlias

import asyncpg
import numpy as np
import pytest
import pytest_asyncio

from app.domain.principal import Principal
from app.storage.database import Database
from app.storage.search import ChunkQuery, arguments, search_chunks, statement
from tests.factories import principal

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
TENANTS, CHUNKS = 20, 400
MODEL = "synthetic"

_DOCUMENTS = """
insert into documents (tenant_id, document_id, external_id, title, url, department, scope, lang, created_at,
    current_version)
select tenant_id, md5(tenant_id::text || number)::uuid, 'document-' || number, 'Title', 'https://x.example',
    (array['hr', 'it', 'general'])[1 + number % 3], (array['public', 'internal', 'private'])[1 + number / 3 % 3], 'en',
    now(), 1
from unnest($1::uuid[]) as tenant_id, generate_series(1, $2) as number
"""
_VERSIONS = """
insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope, created_by)
select tenant_id, document_id, 1, external_id, '', department, scope, document_id from documents
"""
_CHUNKS = """
insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded, department, scope,
    is_current)
select tenant_id, document_id, document_id, 1, 0, words, words::tsvector, words::tsvector, department, scope, true
from (
    select *, 'common:1 word' || split_part(external_id, '-', 2) || ':2' as words from documents
) as d
"""
_VECTORS = """
insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, is_current, embedding_model, embedding)
select c.tenant_id, c.chunk_id, c.document_id, c.department, c.scope, true, $1, (
    select array_agg(sin(hashtext(c.chunk_id::text || place)))::real[]::vector from generate_series(1, 8) as place
)
from chunks c
"""


@pytest.fixture(scope="module")
def askers() -> list[Principal]:
    return [principal(f"tenant-{number}", "reader", "hr") for number in range(TENANTS)]


@pytest_asyncio.fixture(scope="module")
async def crowded(superuser: Superuser, askers: list[Principal]) -> None:
    tenants = [asker.tenant_id for asker in askers]
    await superuser.execute(_DOCUMENTS, tenants, CHUNKS)
    await superuser.execute(_VERSIONS)
    await superuser.execute(_CHUNKS)
    await superuser.execute(_VECTORS, MODEL)
    await superuser.execute("analyze")


def query(words: list[str], **changes: Any) -> ChunkQuery:
    vector = np.ones(8, np.float32) / np.float32(np.sqrt(8))
    values: dict[str, Any] = {
        "vector": vector, "embedding_model": MODEL, "terms": [(f"'{word}'", 1.0) for word in words],
        "clauses": [(word,) for word in words], "is_folded": False, "vector_weight": 1.0,
        "text_weight": 1.0, "rank_constant": 60, "other_language": "", "departments": None, "on": date(2026, 11, 21),
        "with_superseded": False, "candidates": 50, "limit": 40,
    }  # fmt: skip
    return ChunkQuery(**(values | changes))


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Relation Name" in plan or "Index Name" in plan:
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans(part)


async def plan_of(database: Database, asker: Principal, wanted: ChunkQuery, runs: int) -> list[dict[str, Any]]:
    """The scans of the last of `runs` executions of one prepared statement."""
    async with database.principal_scope(asker) as tx:
        for _ in range(runs):
            explained = await tx.driver.fetchval(
                f"explain (analyze, format json) {statement(wanted)}", *arguments(tx, wanted)
            )
    return list(scans(json.loads(explained)[0]["Plan"]))


@pytest.mark.usefixtures("crowded")
class TestTenthRun:
    @pytest.mark.parametrize("folded", [False, True])
    async def test_reads_only_the_tenants_own_rows(
        self, database: Database, askers: list[Principal], folded: bool
    ) -> None:
        found = await plan_of(database, askers[3], query(["word9", "common"], is_folded=folded), 10)
        tables = {scan.get("Relation Name") for scan in found}
        assert tables >= {"chunk_vectors", "chunks", "documents"}
        for scan in found:
            if "Index Name" in scan:
                assert "tenant_id = " in scan["Index Cond"], scan
            if scan.get("Relation Name") in ("chunk_vectors", "chunks", "documents"):
                assert scan["Node Type"] in ("Index Scan", "Index Only Scan", "Bitmap Heap Scan"), scan
                assert scan["Actual Rows"] * scan["Actual Loops"] <= CHUNKS, scan

    async def test_was_planned_for_its_own_parameters(self, database: Database, askers: list[Principal]) -> None:
        async with database.principal_scope(askers[4]) as tx:
            for _ in range(10):
                await search_chunks(tx, query(["word9"]))
            plans = await tx.driver.fetch("select statement, generic_plans, custom_plans from pg_prepared_statements")
        (search,) = [plan for plan in plans if plan["statement"] == statement(query(["word9"]))]
        assert (search["generic_plans"], search["custom_plans"]) == (0, 10)


@pytest.mark.usefixtures("crowded")
class TestExactness:
    async def test_finds_the_nearest_of_what_may_be_read(
        self, database: Database, superuser: Superuser, askers: list[Principal]
    ) -> None:
        for asker in (askers[0], askers[9], askers[9].model_copy(update={"scopes": frozenset({"public"})})):
            rows = await superuser.fetch(
                "select chunk_id, scope, department, embedding::real[] as vector from chunk_vectors"
                " where tenant_id = $1",
                asker.tenant_id,
            )
            allowed = [row for row in rows if asker.may_read(row["scope"], row["department"])]
            wanted = query([], limit=20)
            best = sorted(allowed, key=lambda row: -float(np.dot(row["vector"], wanted.vector)))[:20]
            async with database.principal_scope(asker) as tx:
                hits = await search_chunks(tx, wanted)
            assert [hit.chunk_id for hit in hits] == [row["chunk_id"] for row in best]

    async def test_gives_the_places_of_both_legs_their_weights(
        self, database: Database, askers: list[Principal]
    ) -> None:
        async with database.principal_scope(askers[5]) as tx:
            (both, *_) = await search_chunks(tx, query(["word9"], candidates=1000, limit=1000, vector_weight=0.0))
            (other, *_) = await search_chunks(
                tx, query(["word9"], candidates=1000, limit=1000, other_language="en", vector_weight=0.5)
            )
        assert both.external_id == "document-9"
        assert both.fused_score == pytest.approx(1 / 61)
        assert both.coverage == 1
        assert other.fused_score == pytest.approx(1.5 / 61)
        assert other.similarity >= both.similarity

    async def test_measures_how_much_of_the_question_was_found(
        self, database: Database, askers: list[Principal]
    ) -> None:
        wanted = query(["word9", "absent"])._replace(terms=[("'word9'", 3.0), ("'absent'", 1.0)])
        async with database.principal_scope(askers[5]) as tx:
            hits = {hit.external_id: hit for hit in await search_chunks(tx, wanted)}
        assert hits["document-9"].coverage == pytest.approx(0.75)
        assert {hit.coverage for name, hit in hits.items() if name != "document-9"} == {0.0}
