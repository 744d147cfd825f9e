"""Tenants with indexes of their own: what they find, what nobody else notices, and how they come and go."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
import numpy as np
import pytest
import pytest_asyncio
from pgvector.asyncpg import register_vector

from app.domain.principal import Principal
from app.retrieval.search import Retriever
from app.storage import large_tenants
from app.storage.database import Database
from app.storage.large_tenants import Change, balance
from app.storage.migrate import downgrade, upgrade
from app.storage.search import (
    ChunkQuery,
    SearchState,
    arguments,
    search_chunks,
    search_state,
    statement,
    words_are_indexed,
)
from bench.size.corpus import MODEL, TENANTS, Ask, Corpus, make_corpus, reader
from bench.size.loading import load
from tests.postgres.crowd import DIMENSIONS, LARGEST, MIDDLE, SECOND, SMALLEST, TODAY, KnownQuestions, retriever_of

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LIMIT = 1_800
"""Chunks from which a tenant counts as large here: the two largest do."""
TENANT_IDS = [reader(number).tenant_id for number in range(TENANTS)]
_BUILDING = "select pid from pg_stat_progress_create_index where datname = current_database()"
_PLANNED = """
select custom_plans from pg_prepared_statements where statement = $1 and generic_plans = 0
"""
_OWN_INDEXES = """
select i.indexrelid::regclass::text as name, am.amname as method, i.indisvalid as is_valid,
    pg_get_expr(i.indpred, i.indrelid) as holds
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am am on am.oid = c.relam
where i.indrelid in ('chunks'::regclass, 'chunk_vectors'::regclass) and i.indpred is not null
"""


async def promote(owner_url: str, tenant_id: UUID) -> list[Change]:
    """Give a tenant its own indexes, however small it is."""
    return await balance(owner_url, [tenant_id], large=1, small=0)


async def demote(owner_url: str, tenant_id: UUID) -> list[Change]:
    """Take a tenant's own indexes away."""
    return await balance(owner_url, [tenant_id], large=2**62, small=2**62)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus(16_000, dimensions=DIMENSIONS, words=14)


@pytest_asyncio.fixture(scope="module")
async def crowd(corpus: Corpus, superuser: Superuser) -> None:
    await register_vector(superuser)
    await load(corpus, superuser)


@pytest_asyncio.fixture
async def balanced(crowd: None, owner_url: str) -> None:
    await balance(owner_url, TENANT_IDS, large=LIMIT, small=LIMIT - 600)


@pytest_asyncio.fixture(scope="class")
async def kept_balanced(crowd: None, owner_url: str) -> None:
    """The same for tests that change nothing of it."""
    await balance(owner_url, TENANT_IDS, large=LIMIT, small=LIMIT - 600)


@pytest_asyncio.fixture
async def unbalanced(crowd: None, owner_url: str) -> AsyncIterator[None]:
    for tenant_id in TENANT_IDS[:2]:
        await demote(owner_url, tenant_id)
    yield


@pytest.fixture
def questions() -> KnownQuestions:
    return KnownQuestions()


@pytest.fixture
def retriever(database: Database, questions: KnownQuestions) -> Retriever:
    return retriever_of(database, questions)


def asked(
    corpus: Corpus, tenant: int, *, vector_leg: Any = "exact", word_leg: Any = "lookup", **changes: Any
) -> ChunkQuery:
    ask = corpus.ask(tenant, reader(tenant))
    words = ask.text.split()[3:]
    values: dict[str, Any] = {
        "vector": ask.vector, "embedding_model": MODEL, "terms": [(f"'{word}'", 1.0) for word in words],
        "clauses": [(word,) for word in words], "is_folded": False, "vector_weight": 1.0, "text_weight": 1.0,
        "rank_constant": 60, "other_language": "", "departments": None, "on": TODAY, "with_superseded": False,
        "candidates": 50, "limit": 40, "vector_leg": vector_leg, "word_leg": word_leg,
    }  # fmt: skip
    return ChunkQuery(**(values | changes))


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Relation Name" in plan or "Index Name" in plan:
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans(part)


async def tenth_plan(database: Database, asker: Principal, wanted: ChunkQuery) -> list[dict[str, Any]]:
    """The scans of the tenth execution of one prepared statement."""
    async with database.principal_scope(asker) as tx:
        before = await tx.driver.fetchval(_PLANNED, statement(wanted)) or 0
        for _ in range(10):
            await search_chunks(tx, wanted)
        assert await tx.driver.fetchval(_PLANNED, statement(wanted)) == before + 10
        explained = await tx.driver.fetchval(
            f"explain (analyze, format json) {statement(wanted)}", *arguments(tx, wanted)
        )
    return list(scans(json.loads(explained)[0]["Plan"]))


async def state_of(database: Database, tenant: int) -> SearchState:
    async with database.principal_scope(reader(tenant)) as tx:
        return await search_state(tx, MODEL)


async def recall(retriever: Retriever, questions: KnownQuestions, asks: list[Ask]) -> float:
    """Recall at 10 of the nearest visible chunks; also checks that as many passages come as there can."""
    shares = []
    for ask in asks:
        questions.learn(ask)
        found = await retriever.search(ask.principal, ask.text, departments=ask.departments, limit=50)
        assert found.plan.visible == ask.visible
        assert len(found.passages) == found.plan.returned == min(50, ask.visible)
        shares.append(len({one.chunk_id for one in found.passages} & set(ask.nearest)) / max(1, len(ask.nearest)))
    return float(np.mean(shares))


@pytest.mark.usefixtures("kept_balanced")
class TestFinding:
    @pytest.mark.parametrize("tenant", range(TENANTS))
    async def test_recall_holds_for_every_tenant(
        self, corpus: Corpus, retriever: Retriever, questions: KnownQuestions, tenant: int
    ) -> None:
        asks = [corpus.ask(tenant, reader(tenant)) for _ in range(12 if tenant < 2 else 4)]
        assert await recall(retriever, questions, asks) >= 0.97

    @pytest.mark.parametrize("tenant", [LARGEST, SECOND, SMALLEST])
    @pytest.mark.parametrize(
        ("department", "scopes", "narrowed"),
        [
            ("it", ("public",), None),
            ("finance", ("private",), None),
            ("general", ("private",), None),
            ("hr", ("public", "internal", "private"), ("finance",)),
            ("hr", ("public",), ("general",)),
            ("hr", ("public",), ()),
            ("hr", (), None),
        ],
    )
    async def test_recall_holds_for_whoever_may_see_little(
        self, corpus: Corpus, retriever: Retriever, questions: KnownQuestions, tenant: int, department: str,
        scopes: tuple[str, ...], narrowed: tuple[str, ...] | None,
    ) -> None:  # fmt: skip
        asks = [corpus.ask(tenant, reader(tenant, department, scopes), narrowed) for _ in range(4)]
        if asks[0].visible:
            assert await recall(retriever, questions, asks) >= 0.97
        else:
            questions.learn(asks[0])
            found = await retriever.search(asks[0].principal, asks[0].text, departments=narrowed)
            assert (found.passages, found.plan.visible, found.plan.returned) == ((), 0, 0)

    async def test_the_way_is_chosen_by_what_may_be_seen(
        self, corpus: Corpus, retriever: Retriever, questions: KnownQuestions
    ) -> None:
        ways = {}
        for tenant, scopes in ((LARGEST, ("public", "internal")), (LARGEST, ("private",)), (SMALLEST, ("public",))):
            ask = corpus.ask(tenant, reader(tenant, "hr", scopes))
            questions.learn(ask)
            found = await retriever.search(ask.principal, ask.text, departments=None)
            ways[tenant, scopes] = found.plan.strategy
        assert list(ways.values()) == ["ann", "exact", "exact"]

    async def test_a_walk_that_ends_early_is_made_good(
        self, corpus: Corpus, app_url: str, questions: KnownQuestions, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.retrieval.search.vector_leg", lambda *_: "ann")
        monkeypatch.setattr("app.storage.database._WALK", "set hnsw.max_scan_tuples = 300")
        ask = corpus.ask(LARGEST, reader(LARGEST, "general", ("private",)))
        assert ask.visible > 50
        database = await Database.connect(app_url, pool_size=1)
        try:
            assert await recall(retriever_of(database, questions), questions, [ask]) == 1
        finally:
            await database.dispose()

    async def test_words_are_found_alike_with_and_without_an_index(self, corpus: Corpus, database: Database) -> None:
        for tenant in (LARGEST, MIDDLE, SMALLEST):
            lists = asked(corpus, tenant, vector_leg="off")
            async with database.principal_scope(reader(tenant)) as tx:
                assert await search_chunks(tx, lists) == await search_chunks(tx, lists._replace(word_leg="rows"))


@pytest.mark.usefixtures("crowd")
class TestWithoutTheSuperusersWord:
    async def test_words_are_found_by_reading(
        self, corpus: Corpus, database: Database, questions: KnownQuestions, superuser: Superuser
    ) -> None:
        ask = corpus.ask(MIDDLE, reader(MIDDLE))
        questions.learn(ask)
        trusted = await retriever_of(database, questions).search(ask.principal, ask.text, departments=None)
        await superuser.execute("alter function word_lookup.of_tenant(uuid, tsvector) not leakproof")
        try:
            async with database.principal_scope(ask.principal) as tx:
                assert not await words_are_indexed(tx)
            plain = await retriever_of(database, questions).search(ask.principal, ask.text, departments=None)
        finally:
            await superuser.execute("alter function word_lookup.of_tenant(uuid, tsvector) leakproof")
        assert plain.passages == trusted.passages
        assert any(passage.text_rank for passage in plain.passages)


@pytest.mark.usefixtures("kept_balanced")
class TestTenthRun:
    async def test_of_a_large_tenant_walks_its_own_indexes(self, corpus: Corpus, database: Database) -> None:
        found = await tenth_plan(database, reader(LARGEST), asked(corpus, LARGEST, vector_leg="ann", word_leg="rows"))
        own = f"own_{reader(LARGEST).tenant_id.hex}"
        walked = [scan for scan in found if str(scan.get("Index Name")).startswith(own)]
        assert {str(scan["Index Name"])[len(own) : len(own) + 2] for scan in walked} == {"_v", "_t"}
        for scan in found:
            assert scan["Node Type"] != "Seq Scan", scan
            assert not str(scan.get("Index Name")).startswith("own_") or scan in walked, scan
            if scan.get("Relation Name") == "chunk_vectors":
                assert scan["Actual Rows"] * scan["Actual Loops"] <= 1_000, scan

    async def test_of_a_small_tenant_reads_its_own_rows_only(
        self, corpus: Corpus, database: Database, superuser: Superuser
    ) -> None:
        asker = reader(SMALLEST)
        found = await tenth_plan(database, asker, asked(corpus, SMALLEST))
        lists = [scan for scan in found if scan.get("Index Name") == "chunks_words"]
        assert lists
        for scan in lists:
            assert str(asker.tenant_id)[:8] in scan["Index Cond"], scan
        for scan in found:
            assert not str(scan.get("Index Name")).startswith("own_"), scan
            assert scan["Node Type"] != "Seq Scan", scan
            if "Actual Rows" in scan:
                assert scan["Actual Rows"] * scan["Actual Loops"] <= corpus.tenant_sizes()[SMALLEST], scan


@pytest.mark.usefixtures("balanced")
class TestOwnIndexes:
    async def test_hold_rows_of_one_tenant(self, superuser: Superuser) -> None:
        own = await superuser.fetch(_OWN_INDEXES)
        assert len(own) == 6
        for index in own:
            whose = [tenant_id for tenant_id in TENANT_IDS if tenant_id.hex in index["name"]]
            assert len(whose) == 1, index
            assert f"tenant_id = '{whose[0]}'::uuid" in index["holds"], index

    async def test_are_the_only_approximate_ones(self, superuser: Superuser) -> None:
        shared = await superuser.fetch("""
            select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid
            join pg_am am on am.oid = c.relam where am.amname in ('hnsw', 'ivfflat') and i.indpred is null""")
        assert shared == []

    async def test_need_no_table_anybody_could_read_past_the_policies(self, superuser: Superuser) -> None:
        parts = await superuser.fetch(
            "select inhrelid::regclass::text from pg_inherits where inhparent in"
            " (select oid from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
            " and relname <> 'system_logs')"  # by month, in a schema nobody may use: see test_log_months
        )
        assert parts == []

    async def test_are_left_alone_when_in_order(self, owner_url: str) -> None:
        assert await balance(owner_url, TENANT_IDS, large=LIMIT, small=LIMIT - 600) == []

    async def test_stay_between_the_two_limits(self, owner_url: str, corpus: Corpus) -> None:
        size = corpus.tenant_sizes()[SECOND]
        assert await balance(owner_url, TENANT_IDS[:2], large=size + 1, small=size - 1) == []
        gone = await balance(owner_url, [TENANT_IDS[SECOND]], large=size + 2, small=size + 1)
        assert [(change.tenant_id, change.action) for change in gone] == [(TENANT_IDS[SECOND], "demoted")]
        assert await balance(owner_url, [TENANT_IDS[SECOND]], large=size + 1, small=size - 1) == []

    async def test_are_given_to_few(self, owner_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(large_tenants, "MOST_LARGE_TENANTS", 2)
        assert await promote(owner_url, TENANT_IDS[MIDDLE]) == []

    async def test_are_built_by_one_process_at_a_time(self, owner_url: str, superuser: Superuser) -> None:
        key = large_tenants._ADVISORY_KEY
        await superuser.execute("select pg_advisory_lock($1)", key)
        try:
            assert await promote(owner_url, TENANT_IDS[MIDDLE]) == []
        finally:
            await superuser.execute("select pg_advisory_unlock($1)", key)

    async def test_go_with_the_schema_and_can_be_made_again(self, database: Database, owner_url: str) -> None:
        await asyncio.to_thread(downgrade, owner_url, "0003")
        await asyncio.to_thread(upgrade, owner_url)
        assert await state_of(database, LARGEST) == SearchState(1, MODEL, None)


class TestPromotion:
    async def test_is_noticed_by_nobody(
        self, unbalanced: None, corpus: Corpus, database: Database, owner_url: str, superuser: Superuser
    ) -> None:
        """While the indexes are built people search, and chunks are published and moved."""
        askers, done = [reader(LARGEST), reader(SMALLEST)], asyncio.Event()
        wanted = {
            asker.tenant_id: asked(corpus, number) for asker, number in zip(askers, (LARGEST, SMALLEST), strict=True)
        }
        before = {asker.tenant_id: await _find(database, asker, wanted[asker.tenant_id]) for asker in askers}
        changed: list[UUID] = []

        async def search() -> int:
            rounds = 0
            while not done.is_set() or rounds < 5:
                for asker in askers:
                    state = await _state(database, asker)
                    query = wanted[asker.tenant_id]._replace(vector_leg="ann" if state.indexed_chunks else "exact")
                    found = await _find(database, asker, query)
                    assert len(found) == len(set(found)) == 40
                    # What is published meanwhile may stand before what was there.
                    assert len(set(found) & {*before[asker.tenant_id], *changed}) >= 38
                rounds += 1
            return rounds

        async def publish() -> None:
            while not done.is_set():
                changed.append(await _add_chunk(superuser, TENANT_IDS[LARGEST]))
                await asyncio.sleep(0.01)

        searching, publishing = asyncio.create_task(search()), asyncio.create_task(publish())
        changes = await promote(owner_url, TENANT_IDS[LARGEST])
        done.set()
        assert await searching >= 5
        await publishing
        assert [(change.action, change.space) for change in changes] == [("promoted", MODEL)]
        assert (await state_of(database, LARGEST)).indexed_chunks
        # Every chunk written meanwhile is in the index: its own vector finds it.
        for key in changed[:: max(1, len(changed) // 20)]:
            vector = await superuser.fetchval("select embedding from chunk_vectors where chunk_id = $1", key)
            query = asked(corpus, LARGEST, vector_leg="ann")._replace(vector=vector.to_numpy(), clauses=(), terms=())
            assert key in await _find(database, reader(LARGEST), query)

    async def test_killed_on_the_way_leaves_what_was_and_can_be_repeated(
        self, unbalanced: None, corpus: Corpus, database: Database, owner_url: str, superuser: Superuser
    ) -> None:
        wanted = asked(corpus, LARGEST)
        before = await _find(database, reader(LARGEST), wanted)
        promoting = asyncio.create_task(promote(owner_url, TENANT_IDS[LARGEST]))
        for _ in range(10_000):
            await asyncio.sleep(0.005)
            if await superuser.fetch(f"{_BUILDING} and index_relid::regclass::text like 'own\\_%\\_v%'"):
                break
        await superuser.execute(f"select pg_terminate_backend(pid) from ({_BUILDING}) as building")
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await promoting
        assert {index["method"] for index in await superuser.fetch(_OWN_INDEXES) if not index["is_valid"]} == {"hnsw"}
        assert (await state_of(database, LARGEST)).indexed_chunks is None
        assert await _find(database, reader(LARGEST), wanted) == before
        assert [change.action for change in await promote(owner_url, TENANT_IDS[LARGEST])] == ["promoted"]
        assert all(index["is_valid"] for index in await superuser.fetch(_OWN_INDEXES))
        assert (await state_of(database, LARGEST)).indexed_chunks

    async def test_can_be_undone(
        self, balanced: None, database: Database, owner_url: str, superuser: Superuser
    ) -> None:
        assert [change.action for change in await demote(owner_url, TENANT_IDS[LARGEST])] == ["demoted"]
        assert (await state_of(database, LARGEST)).indexed_chunks is None
        hexadecimal = TENANT_IDS[LARGEST].hex
        assert not [one for one in await superuser.fetch(_OWN_INDEXES) if hexadecimal in one["name"]]
        assert await demote(owner_url, TENANT_IDS[LARGEST]) == []


async def _state(database: Database, asker: Principal) -> SearchState:
    async with database.principal_scope(asker) as tx:
        return await search_state(tx, MODEL)


async def _find(database: Database, asker: Principal, query: ChunkQuery) -> list[UUID]:
    async with database.principal_scope(asker) as tx:
        return [hit.chunk_id for hit in await search_chunks(tx, query)]


_COPY_CHUNK = """
insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded, department, scope,
    is_current)
select tenant_id, gen_random_uuid(), document_id, version, $2, text, tsv, tsv_folded, 'general', 'public', true
from chunks where tenant_id = $1 and scope = 'public' and position < 1000000 order by random() limit 1
returning chunk_id
"""
_ADD_VECTOR = """
insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, is_current, embedding_model, embedding)
select tenant_id, chunk_id, document_id, department, scope, true, $2, $3 from chunks where chunk_id = $1
"""
_positions = count(1_000_000)


async def _add_chunk(superuser: Superuser, tenant_id: UUID) -> UUID:
    """Write one more chunk with a vector of its own, and then move it to another scope."""
    async with superuser.transaction():
        key: UUID = await superuser.fetchval(_COPY_CHUNK, tenant_id, next(_positions))
        vector = np.random.default_rng(key.int).standard_normal(DIMENSIONS).astype(np.float32)
        await superuser.execute(_ADD_VECTOR, key, MODEL, vector / np.linalg.norm(vector))
        await superuser.execute("update chunk_vectors set scope = 'internal' where chunk_id = $1", key)
        await superuser.execute("update chunks set scope = 'internal' where chunk_id = $1", key)
    return key
