"""Bringing documents in: what is written, when it is skipped, and what a reader sees meanwhile."""

import asyncio
from datetime import date
from itertools import count
from typing import TypeAlias

import asyncpg
import pytest
import pytest_asyncio

from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.embedding import EmbeddingUnavailable
from app.embedding.onnx import OnnxEmbedder
from app.errors import AppError, ErrorCode
from app.ingestion.passages import Passages
from app.ingestion.pipeline import Ingestion
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from app.storage.database import Database
from tests.factories import principal
from tests.postgres.library import (
    LATENESS,
    LEAVE_NEW,
    LEAVE_NEXT,
    LEAVE_OLD,
    SALARY,
    CountingEmbedder,
    add_tenants,
    admin,
    draft,
    today,
)

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_numbers = count(1)


@pytest.fixture
def embedder(bundled: OnnxEmbedder) -> CountingEmbedder:
    return CountingEmbedder(bundled)


@pytest.fixture
def ingestion(database: Database, embedder: CountingEmbedder) -> Ingestion:
    return Ingestion(database, embedder, today=today)


@pytest.fixture
def retriever(database: Database, embedder: CountingEmbedder) -> Retriever:
    return Retriever(database, embedder, load_calibration(embedder.model), caching=False, today=today)


@pytest_asyncio.fixture
async def owner(maintenance_url: str) -> Principal:
    """The administrator of a tenant nobody used before."""
    name = f"tenant-{next(_numbers)}"
    await add_tenants(maintenance_url, name)
    return admin(name)


async def found(retriever: Retriever, asker: Principal, query: str) -> dict[str, str]:
    result = await retriever.search(asker, query, departments=None)
    return {passage.external_id: passage.text for passage in result.passages}


def owner_name(owner: Principal) -> str:
    """A tenant's id is a name of itself."""
    return str(owner.tenant_id)


class TestIngest:
    async def test_reports_what_it_did_and_tells_how_far_it_is(
        self, ingestion: Ingestion, embedder: CountingEmbedder, owner: Principal
    ) -> None:
        told: list[tuple[int, int, str]] = []
        report = await ingestion.ingest(owner, [LATENESS, SALARY], lambda *step: told.append(step))
        assert (report.published, report.unchanged, report.chunks, report.embedded) == (2, 0, 2, 2)
        assert sorted(step[:2] for step in told) == [(1, 2), (2, 2)]
        assert {step[2] for step in told} == {LATENESS.title, SALARY.title}

    async def test_gives_the_model_title_and_section_with_the_text(
        self, ingestion: Ingestion, embedder: CountingEmbedder, owner: Principal
    ) -> None:
        await ingestion.ingest(owner, [draft("one", "Sổ tay", "# Sổ tay\n\n## Giờ làm\n\nTừ 8:00 đến 17:00.")])
        assert embedder.passages == ["Sổ tay\nGiờ làm\nTừ 8:00 đến 17:00."]

    async def test_does_nothing_for_what_has_not_changed(
        self, ingestion: Ingestion, embedder: CountingEmbedder, owner: Principal
    ) -> None:
        await ingestion.ingest(owner, [LATENESS, SALARY])
        again = await ingestion.ingest(owner, [SALARY, LATENESS])
        assert (again.published, again.unchanged, again.embedded) == (0, 2, 0)
        assert len(embedder.passages) == 2

    async def test_embeds_only_the_chunks_that_changed(
        self, ingestion: Ingestion, embedder: CountingEmbedder, owner: Principal
    ) -> None:
        sections = [f"## Mục {number}\n\n" + f"Quy định số {number} của công ty. " * 12 for number in range(3)]
        await ingestion.ingest(owner, [draft("book", "Sổ tay", "\n\n".join(sections))])
        sections[1] = sections[1].replace("công ty", "tập đoàn")
        report = await ingestion.ingest(owner, [draft("book", "Sổ tay", "\n\n".join(sections))])
        assert (report.published, report.chunks, report.embedded) == (1, 3, 1)

    async def test_embeds_nothing_when_only_rights_change(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal
    ) -> None:
        visitor = principal(owner_name(owner), "visitor", "general", ("public",))
        await ingestion.ingest(owner, [LATENESS.model_copy(update={"scope": "public"})])
        assert "lateness" in await found(retriever, visitor, "đi muộn")
        report = await ingestion.ingest(owner, [LATENESS])
        assert (report.published, report.embedded) == (1, 0)
        assert "lateness" not in await found(retriever, visitor, "đi muộn")

    async def test_replaces_the_chunks_of_the_version_before(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal, superuser: Superuser
    ) -> None:
        await ingestion.ingest(owner, [draft("hours", "Giờ làm", "Văn phòng mở cửa lúc 8:00.")])
        await ingestion.ingest(owner, [draft("hours", "Giờ làm", "Văn phòng mở cửa lúc 9:30.")])
        assert await found(retriever, owner, "Văn phòng mở cửa lúc mấy giờ?") == {"hours": "Văn phòng mở cửa lúc 9:30."}
        rows = await superuser.fetch("select version, is_current from chunks where tenant_id = $1", owner.tenant_id)
        assert [tuple(row) for row in rows] == [(2, True)]
        versions = "select array_agg(version order by version) from document_versions where tenant_id = $1"
        assert await superuser.fetchval(versions, owner.tenant_id) == [1, 2]

    async def test_is_seen_whole_or_not_at_all(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal
    ) -> None:
        versions = [draft("hours", "Giờ làm", f"Văn phòng mở cửa lúc {hour}:00.") for hour in range(6, 12)]
        await ingestion.ingest(owner, versions[:1])
        seen: list[int] = []

        async def publish() -> int:
            """Until the searches have had their chance between and during the publications."""
            published = 0
            while len(seen) < 20 or published < len(versions):
                published += 1
                await ingestion.ingest(owner, [versions[published % len(versions)]])
            return published

        publishing = asyncio.create_task(publish())
        while not publishing.done():
            result = await retriever.search(owner, "Văn phòng mở cửa lúc mấy giờ?", departments=None)
            seen.append(len(result.passages))
        assert await publishing >= len(versions)
        assert set(seen) == {1}

    async def test_cleans_what_cannot_be_seen(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal
    ) -> None:
        await ingestion.ingest(owner, [draft("dirty", "Ghi\x00 chú", "Máy in\u200b ở\x00 tầng \ud83d4.\r\nHết.")])
        assert await found(retriever, owner, "máy in") == {"dirty": "Máy in ở tầng 4.\nHết."}

    async def test_notes_the_language_nobody_named(
        self, ingestion: Ingestion, owner: Principal, superuser: Superuser
    ) -> None:
        english = draft("english", "Parking", "Visitors park behind the building for two hours.")
        await ingestion.ingest(owner, [LATENESS, english, draft("named", "Xe", "Bãi xe.", lang="en")])
        rows = await superuser.fetch("select external_id, lang from documents where tenant_id = $1", owner.tenant_id)
        assert {row["external_id"]: row["lang"] for row in rows} == {"lateness": "vi", "english": "en", "named": "en"}

    async def test_stores_vectors_anew_without_the_model_when_the_space_changes(
        self, database: Database, embedder: CountingEmbedder, owner: Principal, superuser: Superuser
    ) -> None:
        bare = load_calibration(embedder.model).model_copy(update={"query_means": {}, "passage_means": {}})
        for calibration in (bare, load_calibration(embedder.model)):
            report = await Ingestion(database, embedder, calibration=calibration).ingest(owner, [LATENESS])
            assert report.published == 1
        assert len(embedder.passages) == 1
        spaces = "select array_agg(embedding_model) from chunk_vectors where tenant_id = $1"
        assert await superuser.fetchval(spaces, owner.tenant_id) == [load_calibration(embedder.model).space]


class TestRefusal:
    @pytest.mark.parametrize("text", ["", "  \n", "\x00\u200b\ud83d", "---"])
    async def test_of_an_empty_document_writes_nothing_at_all(
        self, ingestion: Ingestion, embedder: CountingEmbedder, owner: Principal, text: str
    ) -> None:
        with pytest.raises(AppError, match="'void' has no text") as caught:
            await ingestion.ingest(owner, [LATENESS, draft("void", "Rỗng", text)])
        assert caught.value.code is ErrorCode.DOCUMENT_REJECTED
        assert embedder.passages == []
        assert (await ingestion.ingest(owner, [LATENESS])).published == 1

    async def test_of_an_external_id_that_comes_twice(self, ingestion: Ingestion, owner: Principal) -> None:
        with pytest.raises(AppError, match="twice"):
            await ingestion.ingest(owner, [LATENESS, LATENESS])

    async def test_of_a_caller_who_does_not_administer(self, ingestion: Ingestion, owner: Principal) -> None:
        with pytest.raises(AppError) as caught:
            await ingestion.ingest(owner.model_copy(update={"roles": frozenset()}), [LATENESS])
        assert (caught.value.code, caught.value.status) == (ErrorCode.PERMISSION_DENIED, 403)


class TestFailure:
    async def test_of_the_model_leaves_the_old_version_and_can_be_tried_again(
        self, ingestion: Ingestion, embedder: CountingEmbedder, retriever: Retriever, owner: Principal
    ) -> None:
        await ingestion.ingest(owner, [draft("hours", "Giờ làm", "Văn phòng mở cửa lúc 8:00.")])
        changed = draft("hours", "Giờ làm", "Văn phòng mở cửa lúc 9:30.")
        embedder.failure = EmbeddingUnavailable("away")
        with pytest.raises(EmbeddingUnavailable):
            await ingestion.ingest(owner, [changed, LATENESS])
        assert await found(retriever, owner, "giờ làm") == {"hours": "Văn phòng mở cửa lúc 8:00."}
        embedder.failure = None
        assert (await ingestion.ingest(owner, [changed, LATENESS])).published == 2

    async def test_of_one_document_is_not_told_as_published(
        self, ingestion: Ingestion, owner: Principal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut = Passages.cut
        monkeypatch.setattr(
            Passages, "cut", lambda self, one, *rest: [] if one.external_id == "hours" else cut(self, one, *rest)
        )
        with pytest.raises(AppError, match="'hours' cannot be published") as caught:
            await ingestion.ingest(owner, [draft("hours", "Giờ làm", "Văn phòng mở cửa lúc 8:00."), LATENESS])
        assert caught.value.code is ErrorCode.DOCUMENT_REJECTED

    async def test_of_a_version_that_another_run_overtook_is_not_counted(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal
    ) -> None:
        texts = ("Văn phòng mở cửa lúc 8:00.", "Văn phòng mở cửa lúc 9:30.")
        runs = [ingestion.ingest(owner, [draft("hours", "Giờ làm", text)]) for text in texts]
        reports = await asyncio.gather(*runs)
        assert all(one.published + one.unchanged == 1 for one in reports)
        assert any(one.published for one in reports)
        [told] = (await found(retriever, owner, "giờ làm")).values()
        assert told in texts


class TestAdministratorWithFewRights:
    async def test_publishes_what_it_cannot_read(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal
    ) -> None:
        clerk = principal(owner_name(owner), "clerk", "general", ("public",), ("admin",))
        for text in ("Kỹ sư bậc 3 nhận 32.000.000 đồng.", "Kỹ sư bậc 3 nhận 35.000.000 đồng."):
            await ingestion.ingest(clerk, [SALARY.model_copy(update={"text": text})])
        assert await found(retriever, clerk, "lương kỹ sư") == {}
        assert await found(retriever, owner, "lương kỹ sư") == {"salary": "Kỹ sư bậc 3 nhận 35.000.000 đồng."}


class TestSupersede:
    @pytest.mark.parametrize("order", [(LEAVE_OLD, LEAVE_NEW), (LEAVE_NEW, LEAVE_OLD)], ids=["old first", "new first"])
    async def test_closes_the_older_document_on_the_day_before(
        self,
        ingestion: Ingestion,
        retriever: Retriever,
        owner: Principal,
        order: tuple[DocumentDraft, DocumentDraft],
    ) -> None:
        for one in order:
            await ingestion.ingest(owner, [one])
        assert set(await found(retriever, owner, "ngày nghỉ phép năm")) == {"leave-2026"}
        then = await retriever.search(owner, "ngày nghỉ phép năm", departments=None, as_of=date(2025, 6, 1))
        assert [(passage.external_id, passage.effective_to) for passage in then.passages] == [
            ("leave-2024", date(2025, 12, 31))
        ]

    async def test_stays_so_when_the_older_document_comes_again(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal
    ) -> None:
        await ingestion.ingest(owner, [LEAVE_OLD, LEAVE_NEW])
        await ingestion.ingest(owner, [LEAVE_OLD.model_copy(update={"text": "Nhân viên được hưởng 11 ngày phép."})])
        assert set(await found(retriever, owner, "ngày nghỉ phép năm")) == {"leave-2026"}

    async def test_leaves_a_document_in_force_until_its_successor_begins(
        self, ingestion: Ingestion, retriever: Retriever, owner: Principal
    ) -> None:
        await ingestion.ingest(owner, [LEAVE_NEW, LEAVE_NEXT])
        assert set(await found(retriever, owner, "ngày nghỉ phép năm")) == {"leave-2026"}
        later = await retriever.search(owner, "ngày nghỉ phép năm", departments=None, as_of=date(2027, 1, 1))
        assert [passage.external_id for passage in later.passages] == ["leave-2027"]
