"""Documents through their stages, in the catalogue, and to their end."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from app.domain.documents import DocumentFields, DocumentStatus, Progress, Upload, VersionView
from app.domain.principal import Principal
from app.embedding import EmbeddingUnavailable, Vectors
from app.errors import AppError, ErrorCode
from app.ingestion.passages import BATCH
from tests.cases import each_case
from tests.postgres.arriving import (
    LONG,
    Y2025,
    Y2026,
    Y2027,
    Desk,
    Superuser,
    file_upload,
    refusal,
    rows_of,
    text_upload,
)  # fmt: skip
from tests.postgres.library import draft


class TestStages:
    async def test_are_told_in_order_with_counts(self, desk: Desk) -> None:
        told: list[Progress] = []
        done = await desk.bring(file_upload("sổ tay.md", LONG), told=told)
        total = done.chunks
        assert total > 2 * BATCH and (done.status, done.embedded, done.version) == ("ready", total, 1)
        assert [stage.stage.value for stage in told] == [
            "parsing", "chunking", "embedding", "embedding", "embedding", "embedding", "ready",
        ]  # fmt: skip
        assert [stage.chunks_embedded for stage in told] == [0, 0, 0, BATCH, 2 * BATCH, total, total]
        percentages = [stage.percentage for stage in told]
        assert percentages == sorted(percentages) and percentages[-1] == 100
        view = await desk.catalogue.find(desk.owner, done.document_id)
        assert (view.status, view.chunks_total, view.chunks_embedded) == ("ready", total, total)
        assert (view.title, view.file_name, view.lang) == ("Mục 0", "sổ tay.md", "vi")

    @pytest.mark.parametrize(
        "upload",
        [file_upload("a.md", "Nghỉ phép năm: 12 ngày."), text_upload("a", "Nghỉ phép năm: 12 ngày.", title="Phép")],
        ids=["file", "text"],
    )
    async def test_same_again_is_no_work(self, desk: Desk, superuser: Superuser, upload: Upload) -> None:
        first = await desk.bring(upload)
        asked = len(desk.embedder.passages)
        told: list[Progress] = []
        again = await desk.bring(upload, told=told)
        assert (again.document_id, again.version, again.code) == (first.document_id, None, "UNCHANGED")
        assert len(desk.embedder.passages) == asked and [stage.stage for stage in told] == [DocumentStatus.READY]
        assert await rows_of(superuser, desk, "document_versions", "version") == [(1,)]

    @pytest.mark.parametrize("change", [{"scope": "internal"}, {"effective_from": Y2026}, {"title": "Phép năm"}])
    async def test_same_bytes_with_another_field_ask_the_model_little(self, desk: Desk, change: dict[str, Any]) -> None:
        await desk.bring(file_upload("a.md", "Nghỉ phép năm: 12 ngày.", title="Phép"))
        again = await desk.bring(file_upload("a.md", "Nghỉ phép năm: 12 ngày.", **({"title": "Phép"} | change)))
        assert again.version == 2 and again.embedded == ("title" in change)

    async def test_a_language_nobody_named_is_that_of_the_newest_text(self, desk: Desk) -> None:
        first = await desk.bring(text_upload("a", "Nhân viên được nghỉ phép mười hai ngày mỗi năm."))
        await desk.bring(text_upload("a", "Employees have twelve days of annual leave in every year."))
        assert (await desk.catalogue.find(desk.owner, first.document_id)).lang == "en"

    async def test_days_that_end_before_they_begin_are_refused(self, desk: Desk) -> None:
        with pytest.raises(AppError, match="effective_to"):
            await desk.bring(text_upload("a", "Nghỉ phép năm.", effective_from=Y2027, effective_to=Y2026))

    async def test_what_is_left_out_stays_as_it_was(self, desk: Desk) -> None:
        fields = {"scope": "private", "effective_from": Y2026, "authority": "law", "url": "https://x.example"}
        first = await desk.bring(text_upload("a", "Nghỉ phép năm.", title="Phép", **fields))
        await desk.bring(Upload(fields=DocumentFields(external_id="a"), text="Nghỉ phép năm: 14 ngày."))
        view = await desk.catalogue.find(desk.owner, first.document_id)
        assert (view.title, view.current_version) == ("Phép", 2)
        assert {name: getattr(view, name) for name in fields} == fields

    async def test_a_file_without_text_fails_with_advice_and_leaves_the_version_before(self, desk: Desk) -> None:
        first = await desk.bring(file_upload("a.md", "Nghỉ phép năm: 12 ngày."))
        failed = await desk.bring(file_upload("a.md", "---\n\n---\n"))
        assert (failed.status, failed.code) == ("failed", "NO_TEXT") and failed.detail
        view = await desk.catalogue.find(desk.owner, first.document_id)
        assert (view.status, view.status_code, view.status_detail) == ("failed", "NO_TEXT", failed.detail)
        assert (view.current_version, view.latest_version) == (1, 2)
        assert await desk.found() == ["Nghỉ phép năm: 12 ngày."]
        visitor = desk.reader("public")
        assert (await desk.catalogue.find(visitor, first.document_id)).status == "ready"

    async def test_the_same_unreadable_file_is_not_read_again(self, desk: Desk, superuser: Superuser) -> None:
        failed = await desk.bring(file_upload("a.md", "---\n\n---\n"))
        again = await desk.bring(file_upload("a.md", "---\n\n---\n"))
        assert (again.version, again.status, again.code) == (None, "failed", "NO_TEXT")
        assert again.detail == failed.detail
        assert await rows_of(superuser, desk, "document_versions", "version") == [(1,)]

    async def test_an_absent_model_costs_nothing_that_was_done(self, desk: Desk) -> None:
        document_id, task_id = await desk.arrive(text_upload("a", LONG))
        made = desk.embedder.embed_passages

        async def away_after_one(texts: Sequence[str]) -> Vectors:
            if desk.embedder.passages:
                raise EmbeddingUnavailable("away")
            return await made(texts)

        desk.embedder.embed_passages = away_after_one  # type: ignore[method-assign]
        for _ in range(2):
            with pytest.raises(EmbeddingUnavailable):
                await desk.work(document_id, task_id)
        assert len(desk.embedder.passages) == BATCH
        view = await desk.catalogue.find(desk.owner, document_id)
        assert (view.chunks_embedded, view.current_version) == (BATCH, 0)
        desk.embedder.embed_passages = made  # type: ignore[method-assign]
        done = await desk.work(document_id, task_id)
        assert done.chunks == len(desk.embedder.passages) and done.embedded == done.chunks - BATCH

    @pytest.mark.parametrize("text", ["Nghỉ phép năm: 12 ngày.", "---\n"], ids=["published", "failed"])
    async def test_an_attempt_that_comes_too_late_tells_how_it_ended(self, desk: Desk, text: str) -> None:
        document_id, task_id = await desk.arrive(file_upload("a.md", text))
        first = await desk.work(document_id, task_id)
        again = await desk.work(document_id, task_id)
        assert again == first.model_copy(update={"embedded": 0})

    async def test_what_was_stopped_can_be_brought_in_again(self, desk: Desk) -> None:
        upload = file_upload("a.md", "Nghỉ phép năm: 14 ngày.")
        await desk.bring(file_upload("a.md", "Nghỉ phép năm: 12 ngày."))
        document_id, _ = await desk.arrive(upload)  # and nobody works on it
        view = await desk.catalogue.find(desk.owner, document_id)
        assert (view.status, view.status_code) == ("failed", "STOPPED") and view.status_detail
        assert (await desk.bring(upload)).version == 3
        assert await desk.found() == ["Nghỉ phép năm: 14 ngày."]

    async def test_only_the_newest_arrival_is_published(self, desk: Desk) -> None:
        older = await desk.arrive(text_upload("a", "Nghỉ phép năm: 12 ngày."))
        newer = await desk.arrive(text_upload("a", "Nghỉ phép năm: 14 ngày."))
        assert (await desk.work(*newer)).status == "ready"
        late = await desk.work(*older)
        assert (late.status, late.code) == ("failed", "SUPERSEDED")
        assert await desk.found() == ["Nghỉ phép năm: 14 ngày."]

    async def test_bulk_ingestion_overtakes_what_waits(self, desk: Desk) -> None:
        waiting = await desk.arrive(text_upload("a", "Nghỉ phép năm: 12 ngày."))
        await desk.ingestion.ingest(desk.owner, [draft("a", "Phép", "Nghỉ phép năm: 14 ngày.")])
        assert (await desk.work(*waiting)).code == "SUPERSEDED"
        assert await desk.found() == ["Nghỉ phép năm: 14 ngày."]


class TestRefusal:
    @each_case(
        ("upload", "status", "named"),
        [
            (Upload(fields=DocumentFields(external_id="a"), text="x"), 422, "department"),
            (Upload(fields=DocumentFields(external_id="a", department="hr"), text="x"), 422, "scope"),
            (Upload(fields=DocumentFields(department="hr", scope="public"), text="x"), 422, "external_id"),
            (text_upload("a", "\u200b \n"), 422, "text"),
            (file_upload("a.md", b""), 422, "file"),
            (file_upload("a.md", b"\x7fELF\x00\x01\x02"), 415, "file"),
            (text_upload("a", "x", department="Hr; drop"), 422, "department"),
            (text_upload("a", "x", effective_from=Y2026, effective_to=Y2025), 422, "effective_to"),
        ],
    )
    async def test_names_the_field(self, desk: Desk, upload: Upload, status: int, named: str) -> None:
        error = await refusal(desk.bring(upload))
        assert (error.status, error.code) == (status, ErrorCode.DOCUMENT_REJECTED)
        assert error.detail.startswith(f"{named}:")

    async def test_of_a_period_that_ends_before_the_kept_beginning(self, desk: Desk) -> None:
        await desk.bring(text_upload("a", "x", effective_to=Y2026))
        error = await refusal(desk.bring(text_upload("a", "y", effective_from=Y2027)))
        assert error.detail.startswith("effective_to:")

    async def test_of_who_does_not_administer(self, desk: Desk) -> None:
        error = await refusal(desk.bring(text_upload("a", "x"), desk.reader("public", "internal", "private")))
        assert (error.status, error.code) == (403, ErrorCode.PERMISSION_DENIED)


class TestDeleting:
    TABLES = (
        "documents", "document_versions", "document_originals", "chunks", "chunk_vectors", "embedding_cache",
        "document_findings", "document_examinations",
    )  # fmt: skip

    async def test_leaves_nothing_behind(self, desk: Desk, superuser: Superuser) -> None:
        """Nothing of older versions, of one that failed, and of one on its way."""
        for text in (LONG, "Nghỉ phép năm: 12 ngày.", "---"):
            done = await desk.bring(file_upload("a.md", text))
        waiting = await desk.arrive(file_upload("a.md", LONG.replace("công ty", "tập đoàn")))
        desk.embedder.failure = EmbeddingUnavailable("away")
        with pytest.raises(EmbeddingUnavailable):
            await desk.work(*waiting)
        assert [(await rows_of(superuser, desk, table))[0][0] > 0 for table in self.TABLES[:6]] == [True] * 6
        await desk.catalogue.delete(desk.owner, done.document_id)
        for table in self.TABLES:
            assert await rows_of(superuser, desk, table) == [(0,)], table
        assert (await desk.work(*waiting)).version is None
        assert (await refusal(desk.catalogue.find(desk.owner, done.document_id))).status == 404

    async def test_keeps_the_vectors_that_another_document_needs(self, desk: Desk) -> None:
        done = await desk.bring(text_upload("a", "Nghỉ phép năm.\n\n" + LONG, title="Phép"))
        await desk.bring(text_upload("b", LONG, title="Phép"))
        await desk.catalogue.delete(desk.owner, done.document_id)
        desk.embedder.passages.clear()
        assert (await desk.bring(text_upload("c", LONG, title="Phép"))).embedded == 0
        assert (await desk.bring(text_upload("d", "Nghỉ phép năm.\n\n" + LONG, title="Phép"))).embedded == 1

    async def test_ends_what_is_being_worked_on(self, desk: Desk, superuser: Superuser) -> None:
        document_id, task_id = await desk.arrive(file_upload("a.md", LONG))
        made = desk.embedder.embed_passages

        async def deleted_meanwhile(texts: Sequence[str]) -> Vectors:
            if len(desk.embedder.passages) == BATCH:
                await desk.catalogue.delete(desk.owner, document_id)
            return await made(texts)

        desk.embedder.embed_passages = deleted_meanwhile  # type: ignore[method-assign]
        done = await desk.work(document_id, task_id)
        assert (done.status, done.code, len(desk.embedder.passages)) == ("failed", "SUPERSEDED", 2 * BATCH)
        for table in self.TABLES:
            assert await rows_of(superuser, desk, table) == [(0,)], table

    async def test_and_changing_while_stages_go_on_never_block_each_other(self, desk: Desk) -> None:
        """Whoever locks a document and its versions does it in the same order."""
        uploads = [text_upload(f"a{number}", f"Nghỉ phép năm {number}.") for number in range(4)]

        async def change(document_id: UUID) -> None:
            for scope in ("private", "public") * 6:
                await desk.catalogue.amend(desk.owner, document_id, {"scope": scope})

        for _ in range(3):
            arrived = [await desk.arrive(upload) for upload in uploads]
            async with asyncio.timeout(30):
                done = await asyncio.gather(*(desk.work(*one) for one in arrived), *(change(one) for one, _ in arrived))
            assert {one.status for one in done if one is not None} == {"ready"}


class TestAdministratorWithFewRights:
    async def test_brings_in_what_it_cannot_read(self, desk: Desk, clerk: Principal) -> None:
        done = await desk.bring(file_upload("luong.md", "Lương bậc 3: 32 triệu.", scope="private"), clerk)
        assert done.status == "ready"
        assert await desk.found(clerk, query="Lương bậc") == []
        assert await desk.found(query="Lương bậc") == ["Lương bậc 3: 32 triệu."]
        assert await self._seen(desk, clerk, done.document_id) == (["Lương bậc 3: 32 triệu."], True)

    async def test_reads_nothing_of_what_others_brought_in(self, desk: Desk, clerk: Principal) -> None:
        done = await desk.bring(file_upload("luong.md", "Lương bậc 3: 32 triệu.", scope="private"))
        await desk.arrive(file_upload("luong.md", "Lương bậc 3: 35 triệu.", scope="private"))
        assert (await desk.catalogue.find(clerk, done.document_id)).title == "luong"
        assert await self._seen(desk, clerk, done.document_id) == ([], False)
        await desk.bring(file_upload("luong.md", "Lương bậc 3: 36 triệu.", scope="private"), clerk)
        texts, has_original = await self._seen(desk, clerk, done.document_id)
        assert has_original and not any("32" in text or "35" in text for text in texts)

    async def test_changes_and_deletes_it_all_the_same(
        self, desk: Desk, clerk: Principal, superuser: Superuser
    ) -> None:
        done = await desk.bring(file_upload("luong.md", "Lương bậc 3: 32 triệu.", scope="private"))
        await desk.catalogue.amend(clerk, done.document_id, {"department": "it", "effective_from": Y2026})
        assert await rows_of(superuser, desk, "chunk_vectors", "department, scope") == [("it", "private")]
        assert await desk.found(desk.reader("private", department="it"), query="Lương") == ["Lương bậc 3: 32 triệu."]
        assert await desk.found(desk.reader("private"), query="Lương") == []
        await desk.catalogue.delete(clerk, done.document_id)
        for table in TestDeleting.TABLES:
            assert await rows_of(superuser, desk, table) == [(0,)], table

    async def _seen(self, desk: Desk, who: Principal, document_id: UUID) -> tuple[list[str], bool]:
        """(texts the versions show, whether there is an original)."""
        versions: list[VersionView] = await desk.catalogue.versions(who, document_id, 10)
        async with desk.database.principal_scope(who) as tx:
            texts = [
                row["text"] for row in await tx.driver.fetch("select text from document_versions order by version")
            ]
            originals = await tx.driver.fetchval("select count(*) from document_originals")
        assert len(versions) == len(texts) == originals
        try:
            await desk.catalogue.original(who, document_id)
        except AppError as error:
            assert error.status == 404
            return texts, False
        return texts, True


class TestListing:
    async def test_finds_by_the_status_it_shows(self, desk: Desk) -> None:
        await desk.bring(text_upload("ready", "Nghỉ phép năm."))
        await desk.bring(file_upload("failed.md", "---"))
        await desk.arrive(text_upload("stopped", "Nghỉ phép năm."))

        async def named(who: Principal, status: str) -> list[str]:
            found, _ = await desk.catalogue.page(who, department=None, status=status, cursor=None, limit=10)
            assert {view.status.value for view in found} <= {status}
            return sorted(view.external_id for view in found)

        assert await named(desk.owner, "ready") == ["ready"]
        assert await named(desk.owner, "failed") == ["hr/failed.md", "stopped"]
        assert await named(desk.owner, "received") == []
        assert await named(desk.reader("public"), "failed") == []

    async def test_tells_nobody_else_that_a_new_version_failed(self, desk: Desk) -> None:
        visitor = desk.reader("public")
        await desk.bring(file_upload("a.md", "Nghỉ phép năm."))
        await desk.bring(file_upload("a.md", "---"))
        for status, expected in (("failed", 0), ("ready", 1)):
            found, _ = await desk.catalogue.page(visitor, department=None, status=status, cursor=None, limit=10)
            assert len(found) == expected
            assert all((view.latest_version, view.status_code, view.task_id) == (1, "", None) for view in found)

    async def test_goes_through_all_pages(self, desk: Desk) -> None:
        for number in range(7):
            await desk.bring(text_upload(f"{number}", "Nghỉ phép năm.", department="hr" if number else "it"))
        seen: list[str] = []
        cursor: str | None = None
        while True:
            found, cursor = await desk.catalogue.page(desk.owner, department="hr", status=None, cursor=cursor, limit=2)
            seen += [view.external_id for view in found]
            if cursor is None:
                break
        assert seen == ["6", "5", "4", "3", "2", "1"]
        for nonsense in ("x", "W10=", "bnVsbA==", "eyJhIjoxfQ=="):
            asked = desk.catalogue.page(desk.owner, department=None, status=None, cursor=nonsense, limit=2)
            assert (await refusal(asked)).status == 422


class TestAudit:
    async def test_says_who_did_what_and_nothing_of_the_text(self, desk: Desk, superuser: Superuser) -> None:
        done = await desk.bring(text_upload("a", "Nghỉ phép năm.", title="Bí mật"))
        await desk.catalogue.amend(desk.owner, done.document_id, {"scope": "private"})
        await desk.catalogue.delete(desk.owner, done.document_id)
        await desk.ingestion.ingest(desk.owner, [draft("b", "Bí mật", "Nghỉ phép năm.")])
        rows = await superuser.fetch(
            "select user_id, action, target, details::text from audit where tenant_id = $1 order by audit_id",
            desk.owner.tenant_id,
        )
        assert [row["action"] for row in rows] == [
            "document_brought_in", "document_changed", "document_deleted", "document_brought_in",
        ]  # fmt: skip
        assert {row["target"] for row in rows[:3]} == {str(done.document_id)}
        assert {row["user_id"] for row in rows} == {desk.owner.user_id}
        assert not any("Bí mật" in str(dict(row)) or "Nghỉ" in str(dict(row)) for row in rows)
