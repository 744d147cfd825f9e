"""Moving a tenant to the vectors of another model while people search."""

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

import asyncpg
import numpy as np
import pytest
import pytest_asyncio

from app.domain.knowledge import SearchResult
from app.domain.principal import Principal
from app.embedding import EmbeddingUnavailable, Vectors
from app.errors import AppError, ErrorCode
from app.ingestion.passages import Reembedding
from app.ingestion.pipeline import Ingestion
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from app.storage.database import Database
from app.storage.publishing import chunks_without_vectors, drop_space, searched_space, switch_space
from tests.factories import principal
from tests.postgres.library import ACME, GLOBEX, CountingEmbedder, WordEmbedder, add_tenants, admin, draft, today

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LAN = principal("acme", "lan", "hr")
QUERY = "Mật khẩu có ít nhất mấy ký tự?"


class OtherEmbedder(WordEmbedder):
    """Another model: the same words, other vectors, of another length."""

    model, dimensions = "other words", 32

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.ascontiguousarray(np.stack([self._vector(text)[::-1] for text in texts]))


class StoppingEmbedder(CountingEmbedder):
    """Goes away after so many passages."""

    stops_after: int | None = None

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self.stops_after is not None and len(self.passages) >= self.stops_after:
            raise EmbeddingUnavailable
        return await super().embed_passages(texts)


@pytest_asyncio.fixture(scope="module", autouse=True)
async def tenants(maintenance_url: str) -> None:
    await add_tenants(maintenance_url, "acme", "globex")


@pytest_asyncio.fixture(autouse=True)
async def library(database: Database, superuser: Superuser) -> Ingestion:
    """Both companies' documents as the old model left them."""
    await superuser.execute("delete from documents")
    await superuser.execute("delete from embedding_cache")
    await superuser.execute("update tenants set embedding_space = null")
    ingestion = Ingestion(database, WordEmbedder(), today=today)
    await ingestion.ingest(admin("acme"), ACME)
    await ingestion.ingest(admin("globex"), GLOBEX)
    return ingestion


@pytest.fixture
def other() -> StoppingEmbedder:
    return StoppingEmbedder(OtherEmbedder())


@pytest.fixture
def reembedding(database: Database, other: StoppingEmbedder) -> Reembedding:
    return Reembedding(database, other)


@pytest.fixture
def old(database: Database) -> Retriever:
    return Retriever(database, WordEmbedder(), load_calibration(WordEmbedder.model), today=today)


@pytest.fixture
def new(database: Database) -> Retriever:
    return Retriever(database, OtherEmbedder(), load_calibration(OtherEmbedder.model), today=today)


async def ask(retriever: Retriever, asker: Principal = LAN) -> SearchResult:
    return await retriever.search(asker, QUERY, departments=None)


async def spaces(superuser: Superuser, tenant: str = "acme") -> dict[str, int]:
    rows = await superuser.fetch(
        "select embedding_model, count(*) from chunk_vectors where tenant_id = $1 group by 1", admin(tenant).tenant_id
    )
    return {row[0]: row[1] for row in rows}


async def searched(database: Database, tenant: str = "acme") -> str | None:
    async with database.principal_scope(admin(tenant)) as tx:
        return await searched_space(tx)


class TestTheSpaceOfATenant:
    async def test_is_that_of_its_first_documents(self, database: Database) -> None:
        assert await searched(database) == WordEmbedder.model

    async def test_is_left_when_none_of_its_vectors_are(self, database: Database) -> None:
        """Every document that is brought in anew by a service with another model replaces its vectors."""
        ingestion = Ingestion(database, OtherEmbedder(), today=today)
        half = [one.model_copy(update={"text": f"{one.text} Mới."}) for one in GLOBEX]
        await ingestion.ingest(admin("globex"), half)
        assert await searched(database, "globex") == OtherEmbedder.model
        assert await searched(database, "acme") == WordEmbedder.model

    async def test_is_never_mixed_with_another(self, database: Database, new: Retriever) -> None:
        found = await ask(new)
        assert found.plan.by_words_alone
        assert found.plan.legs == {"text": 1.0, "vector": 0.0}
        assert found.passages[0].external_id == "passwords"
        assert {passage.similarity for passage in found.passages} == {0.0}
        assert found.plan.returned == len(found.passages)

    async def test_of_words_alone_shows_no_more_than_the_rules_allow(self, new: Retriever) -> None:
        reader = principal("acme", "an", "general", ("public",))
        found = await new.search(reader, "lương kỹ sư engineer on call", departments=None, limit=50)
        assert {passage.scope for passage in found.passages} <= {"public"}


class TestRun:
    async def test_lets_the_tenant_be_searched_by_the_new_vectors(
        self, database: Database, superuser: Superuser, reembedding: Reembedding, old: Retriever, new: Retriever
    ) -> None:
        before = await spaces(superuser)
        told: list[int] = []
        report = await reembedding.run(admin(), told.append)
        count = before[WordEmbedder.model]
        assert (report.written, report.is_searched, report.dropped) == (count, True, count)
        assert told[-1] == count
        assert await spaces(superuser) == {OtherEmbedder.model: count}
        found = await ask(new)
        assert not found.plan.by_words_alone
        assert found.passages[0].external_id == "passwords"
        assert found.passages[0].similarity > 0.3
        assert (await ask(old)).plan.by_words_alone

    async def test_leaves_other_tenants_alone(
        self, database: Database, superuser: Superuser, reembedding: Reembedding
    ) -> None:
        await reembedding.run(admin())
        assert await searched(database, "globex") == WordEmbedder.model
        assert set(await spaces(superuser, "globex")) == {WordEmbedder.model}

    async def test_is_seen_by_the_next_question(self, reembedding: Reembedding, old: Retriever, new: Retriever) -> None:
        assert [(await ask(one)).plan.by_words_alone for one in (old, new)] == [False, True]
        await reembedding.run(admin())
        again = [(await ask(one)).plan for one in (old, new)]
        assert [(plan.by_words_alone, plan.cached) for plan in again] == [(True, False), (False, False)]

    async def test_goes_on_where_it_was_stopped(
        self, database: Database, superuser: Superuser, reembedding: Reembedding, other: StoppingEmbedder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        monkeypatch.setattr("app.ingestion.passages.BATCH", 3)
        other.stops_after = 6
        with pytest.raises(EmbeddingUnavailable):
            await reembedding.run(admin())
        assert (await spaces(superuser))[OtherEmbedder.model] == 6
        assert await searched(database) == WordEmbedder.model
        other.stops_after = None
        report = await reembedding.run(admin())
        assert report.is_searched
        assert report.written == report.embedded == len(other.passages) - 6

    async def test_asks_the_model_for_nothing_it_knows(
        self, reembedding: Reembedding, other: StoppingEmbedder, database: Database
    ) -> None:
        first = await reembedding.run(admin(), drop_old=False)
        await Reembedding(database, WordEmbedder()).run(admin())
        asked = len(other.passages)
        second = await reembedding.run(admin())
        assert (first.embedded, second.embedded, second.written) == (first.written, 0, first.written)
        assert len(other.passages) == asked

    async def test_waits_for_everything_also_what_the_caller_may_not_read(
        self, database: Database, superuser: Superuser, reembedding: Reembedding, old: Retriever
    ) -> None:
        narrow = principal("acme", "boss", "general", ("public", "internal"), ("admin",))
        report = await reembedding.run(narrow)
        assert (report.is_searched, report.dropped) == (False, 0)
        assert await searched(database) == WordEmbedder.model
        assert not (await ask(old)).plan.by_words_alone
        assert (await reembedding.run(admin())).is_searched

    async def test_keeps_the_rights_of_every_chunk(self, superuser: Superuser, reembedding: Reembedding) -> None:
        await reembedding.run(admin())
        different = await superuser.fetchval("""
            select count(*) from chunk_vectors v join chunks c using (tenant_id, chunk_id)
            where (v.scope, v.department, v.is_current, v.document_id, v.effective_from, v.effective_to)
                is distinct from (c.scope, c.department, c.is_current, c.document_id, c.effective_from, c.effective_to)
        """)
        assert different == 0

    async def test_takes_in_what_is_published_meanwhile(
        self, database: Database, library: Ingestion, reembedding: Reembedding, new: Retriever
    ) -> None:
        async def publish() -> None:
            for number in range(8):
                await library.ingest(
                    admin(), [draft(f"note-{number}", f"Ghi chú {number}", f"Máy in số {number} hỏng.")]
                )

        _, report = await asyncio.gather(publish(), reembedding.run(admin(), drop_old=False))
        if not report.is_searched:
            report = await reembedding.run(admin())
        assert report.is_searched
        found = await new.search(admin(), "máy in số 7 hỏng", departments=None)
        assert found.passages[0].external_id == "note-7"

    async def test_is_for_administrators(self, database: Database, reembedding: Reembedding) -> None:
        with pytest.raises(AppError) as refusal:
            await reembedding.run(LAN)
        assert refusal.value.code is ErrorCode.PERMISSION_DENIED


class TestSpaces:
    @pytest.mark.parametrize("change", [switch_space, drop_space])
    async def test_are_changed_by_administrators_only(self, database: Database, change: object) -> None:
        assert callable(change)
        with pytest.raises(AppError) as refusal:
            async with database.principal_scope(LAN) as tx:
                await change(tx, OtherEmbedder.model)
        assert refusal.value.code is ErrorCode.PERMISSION_DENIED

    async def test_cannot_be_dropped_while_they_are_searched(self, database: Database, superuser: Superuser) -> None:
        before = await spaces(superuser)
        async with database.principal_scope(admin()) as tx:
            assert await drop_space(tx, WordEmbedder.model) == 0
        assert await spaces(superuser) == before

    async def test_list_what_has_no_vectors_in_order(self, database: Database) -> None:
        async with database.principal_scope(admin()) as tx:
            every = await chunks_without_vectors(tx, "nobody's", 1_000)
            page = await chunks_without_vectors(tx, "nobody's", 2, after=every[1].chunk_id)
            assert await chunks_without_vectors(tx, WordEmbedder.model, 1_000) == []
        assert [one.chunk_id for one in every] == sorted(one.chunk_id for one in every)
        assert page == every[2:4]
