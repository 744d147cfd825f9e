"""Versions and their days, what differs between them, and changes of rights and dates."""

import asyncio
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from app.domain.principal import Principal
from app.errors import ErrorCode
from app.storage.database import Database
from tests.postgres.arriving import (
    DAY,
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
from tests.postgres.library import admin


class TestVersions:
    async def test_a_version_without_days_takes_the_place_of_the_one_before(
        self, desk: Desk, superuser: Superuser
    ) -> None:
        for days in (12, 14):
            await desk.bring(text_upload("a", f"Nghỉ phép năm: {days} ngày."))
        for as_of in (None, Y2025, Y2027):
            assert await desk.found(as_of=as_of) == ["Nghỉ phép năm: 14 ngày."]
        assert await rows_of(superuser, desk, "chunks", "version") == [(2,)]
        assert await rows_of(superuser, desk, "chunk_vectors") == [(1,)]

    async def test_a_later_version_leaves_the_days_before_it(self, desk: Desk) -> None:
        await desk.bring(text_upload("a", "Nghỉ phép năm: 12 ngày.", effective_from=Y2025))
        await desk.bring(text_upload("a", "Nghỉ phép năm: 14 ngày.", effective_from=Y2026))
        assert await desk.found() == ["Nghỉ phép năm: 14 ngày."]
        assert await desk.found(as_of=Y2026) == ["Nghỉ phép năm: 14 ngày."]
        assert await desk.found(as_of=Y2026 - DAY) == ["Nghỉ phép năm: 12 ngày."]
        assert await desk.found(as_of=Y2025 - DAY) == []

    async def test_a_version_of_the_future_leaves_today_to_the_one_before(self, desk: Desk) -> None:
        await desk.bring(text_upload("a", "Nghỉ phép năm: 12 ngày."))
        await desk.bring(text_upload("a", "Nghỉ phép năm: 16 ngày.", effective_from=Y2027))
        assert await desk.found() == ["Nghỉ phép năm: 12 ngày."]
        assert await desk.found(as_of=Y2027 - DAY) == ["Nghỉ phép năm: 12 ngày."]
        assert await desk.found(as_of=Y2027) == ["Nghỉ phép năm: 16 ngày."]

    async def test_a_version_that_corrects_the_beginning_of_another_leaves_nothing_of_it(
        self, desk: Desk, superuser: Superuser
    ) -> None:
        await desk.bring(text_upload("a", "Nghỉ phép năm: 12 ngày."))
        await desk.bring(text_upload("a", "Nghỉ phép năm: 14 ngày.", effective_from=Y2027))
        await desk.bring(text_upload("a", "Nghỉ phép năm: 15 ngày.", effective_from=Y2026))
        assert await desk.found() == await desk.found(as_of=Y2027) == ["Nghỉ phép năm: 15 ngày."]
        assert await desk.found(as_of=Y2026 - DAY) == ["Nghỉ phép năm: 12 ngày."]
        assert await rows_of(superuser, desk, "chunks", "version") == [(1,), (3,)]

    async def test_two_documents_never_speak_for_the_same_day(self, desk: Desk) -> None:
        """Also when the one that takes the other's place has versions with days of their own."""
        await desk.bring(text_upload("old", "Nghỉ phép năm: 10 ngày."))
        await desk.bring(text_upload("new", "Nghỉ phép năm: 12 ngày.", effective_from=Y2026, supersedes="old"))
        await desk.bring(text_upload("new", "Nghỉ phép năm: 16 ngày.", effective_from=Y2027))
        assert await desk.found() == ["Nghỉ phép năm: 12 ngày."]
        assert await desk.found(as_of=Y2026) == ["Nghỉ phép năm: 12 ngày."]
        assert await desk.found(as_of=Y2026 - DAY) == ["Nghỉ phép năm: 10 ngày."]
        assert await desk.found(as_of=Y2027) == ["Nghỉ phép năm: 16 ngày."]

    async def test_a_document_that_closes_takes_its_older_versions_with_it(self, desk: Desk) -> None:
        await desk.bring(text_upload("old", "Nghỉ phép năm: 10 ngày."))
        await desk.bring(text_upload("old", "Nghỉ phép năm: 11 ngày.", effective_from=date(2026, 7, 1)))
        successor = await desk.bring(
            text_upload("new", "Nghỉ phép năm: 12 ngày.", effective_from=date(2026, 3, 1), supersedes="old")
        )
        for as_of in (date(2026, 3, 1), date(2026, 6, 30), date(2026, 7, 1)):
            assert await desk.found(as_of=as_of) == ["Nghỉ phép năm: 12 ngày."]
        assert await desk.found(as_of=date(2026, 2, 28)) == ["Nghỉ phép năm: 10 ngày."]
        await desk.catalogue.delete(desk.owner, successor.document_id)
        assert await desk.found() == await desk.found(as_of=date(2026, 7, 1)) == ["Nghỉ phép năm: 11 ngày."]
        assert await desk.found(as_of=date(2026, 6, 30)) == ["Nghỉ phép năm: 10 ngày."]

    @pytest.mark.parametrize("end", ["delete", "amend", "version"])
    async def test_what_was_superseded_holds_again_when_nothing_supersedes_it(self, desk: Desk, end: str) -> None:
        await desk.bring(text_upload("old", "Nghỉ phép năm: 10 ngày.", effective_to=Y2027))
        new = await desk.bring(text_upload("new", "Nghỉ việc riêng.", effective_from=Y2026, supersedes="old"))
        assert await desk.found() == ["Nghỉ việc riêng."]
        match end:
            case "delete":
                await desk.catalogue.delete(desk.owner, new.document_id)
            case "amend":
                await desk.catalogue.amend(desk.owner, new.document_id, {"supersedes": None})
            case _:
                await desk.bring(text_upload("new", "Nghỉ việc riêng: 3 ngày.", supersedes=None))
        assert "Nghỉ phép năm: 10 ngày." in await desk.found()
        assert "Nghỉ phép năm: 10 ngày." in await desk.found(as_of=Y2027)
        assert "Nghỉ phép năm: 10 ngày." not in await desk.found(as_of=Y2027 + DAY)

    async def test_a_document_that_names_itself_stays_found(self, desk: Desk) -> None:
        await desk.bring(text_upload("a", "Nghỉ phép năm: 12 ngày.", supersedes="a"))
        assert await desk.found() == ["Nghỉ phép năm: 12 ngày."]


class TestComparing:
    async def test_shows_the_lines_and_fields_that_differ(self, desk: Desk) -> None:
        done = await desk.bring(text_upload("a", "# Phép\n\nMười hai ngày.\n\nBáo trước.", title="Phép"))
        await desk.bring(text_upload("a", "# Phép\n\nMười bốn ngày.\n\nBáo trước.\n\nHết.", effective_from=Y2026))
        second, first = await desk.catalogue.versions(desk.owner, done.document_id, 10)
        assert (second.version, second.is_current, first.is_current, first.changes) == (2, True, False, ())
        assert [(change.removed, change.added) for change in second.changes] == [
            (("Mười hai ngày.",), ("Mười bốn ngày.",)), ((), ("Hết.",)),
        ]  # fmt: skip
        assert second.changed_fields == {"effective_from": (None, "2026-01-01")} and not second.is_cut

    async def test_compares_with_what_was_found_before(self, desk: Desk) -> None:
        """A version that failed in between says nothing."""
        done = await desk.bring(file_upload("a.md", "Mười hai ngày."))
        await desk.bring(file_upload("a.md", "---"))
        await desk.bring(file_upload("a.md", "Mười hai ngày.\n\nHết."))
        [third] = await desk.catalogue.versions(desk.owner, done.document_id, 1)
        assert [(change.removed, change.added) for change in third.changes] == [((), ("Hết.",))]

    async def test_is_for_those_who_may_read(self, desk: Desk, clerk: Principal) -> None:
        done = await desk.bring(text_upload("a", "Lương bậc 3.", scope="private"))
        await desk.arrive(text_upload("a", "Lương bậc 4.", scope="private"))

        async def seen(who: Principal) -> list[int]:
            return [one.version for one in await desk.catalogue.versions(who, done.document_id, 10)]

        assert await seen(desk.owner) == [2, 1]
        assert await seen(desk.reader("private")) == [1]
        assert await seen(clerk) == []
        for outsider in (desk.reader("public"), desk.reader("private", department="it"), admin("elsewhere")):
            assert (await refusal(seen(outsider))).status == 404


class TestAmending:
    async def test_reaches_every_row_and_every_process_at_once(
        self, desk: Desk, superuser: Superuser, app_url: str
    ) -> None:
        visitor = desk.reader("public")
        done = await desk.bring(text_upload("a", LONG))
        elsewhere = Desk.of(await Database.connect(app_url, pool_size=2), desk.owner, caching=True)
        try:
            assert len(await elsewhere.found(visitor)) == len(await elsewhere.found(visitor)) > 40
            await desk.catalogue.amend(desk.owner, done.document_id, {"scope": "private", "department": "it"})
            assert await elsewhere.found(visitor) == []
        finally:
            await elsewhere.database.dispose()
        for table in ("documents", "document_versions", "chunks", "chunk_vectors"):
            assert await rows_of(superuser, desk, table, "distinct department, scope") == [("it", "private")]

    async def test_is_never_seen_half_done(self, desk: Desk) -> None:
        """Readers ask all the time: all chunks or none."""
        visitor = desk.reader("public")
        done = await desk.bring(text_upload("a", LONG[: len(LONG) // 4]))
        whole = len(await desk.found(visitor))
        moving = asyncio.create_task(self._move_to_and_fro(desk, done.document_id))
        seen: set[int] = set()
        while not moving.done():
            seen.add(len(await desk.found(visitor)))
        await moving
        assert whole > 5 and seen <= {0, whole}

    async def _move_to_and_fro(self, desk: Desk, document_id: UUID) -> None:
        for scope in ("private", "public") * 8:
            await desk.catalogue.amend(desk.owner, document_id, {"scope": scope})

    async def test_of_days_moves_the_days_of_the_version_before(self, desk: Desk) -> None:
        await desk.bring(text_upload("a", "Nghỉ phép năm: 12 ngày."))
        done = await desk.bring(text_upload("a", "Nghỉ phép năm: 14 ngày.", effective_from=Y2026))
        await desk.catalogue.amend(desk.owner, done.document_id, {"effective_from": Y2027})
        assert await desk.found() == ["Nghỉ phép năm: 12 ngày."]
        view = await desk.catalogue.amend(desk.owner, done.document_id, {"effective_to": Y2027})
        assert (view.effective_from, view.effective_to) == (Y2027, Y2027)
        assert await desk.found(as_of=Y2027 + DAY) == []
        await desk.catalogue.amend(desk.owner, done.document_id, {"effective_to": None})
        assert await desk.found(as_of=Y2027 + DAY) == ["Nghỉ phép năm: 14 ngày."]

    @pytest.mark.parametrize("scope_before", ["public", "private"])
    async def test_holds_for_a_version_on_its_way(self, desk: Desk, scope_before: str) -> None:
        """The public never sees it, in no table and at no time."""
        visitor, public_admin = desk.reader("public"), admin(str(desk.owner.tenant_id))
        public_admin = public_admin.model_copy(update={"scopes": frozenset({"public"}), "user_id": uuid4()})
        await desk.bring(text_upload("a", "Nghỉ phép năm: 12 ngày.", scope=scope_before))
        document_id, task_id = await desk.arrive(text_upload("a", "Nghỉ phép năm: 14 ngày.", scope="public"))
        await desk.catalogue.amend(desk.owner, document_id, {"scope": "private"})
        for _ in range(2):
            for table in ("document_versions", "chunks", "chunk_vectors"):
                for person in (visitor, public_admin):
                    async with desk.database.principal_scope(person) as tx:
                        assert await tx.driver.fetchval(f"select count(*) from {table}") == 0, (table, person)
            await desk.work(document_id, task_id)
        assert await desk.found(visitor) == [] and await desk.found() == ["Nghỉ phép năm: 14 ngày."]

    async def test_of_something_else_does_not_widen_a_version_on_its_way(self, desk: Desk) -> None:
        visitor = desk.reader("public")
        await desk.bring(text_upload("a", "Nghỉ phép năm: 12 ngày.", scope="public"))
        document_id, task_id = await desk.arrive(text_upload("a", "Nghỉ phép năm: 14 ngày.", scope="private"))
        await desk.catalogue.amend(desk.owner, document_id, {"effective_from": Y2026})
        async with desk.database.principal_scope(visitor) as tx:
            texts = [row["text"] for row in await tx.driver.fetch("select text from document_versions")]
        assert texts == ["Nghỉ phép năm: 12 ngày."]
        await desk.work(document_id, task_id)
        assert await desk.found(visitor) == []
        assert (await desk.catalogue.find(desk.owner, document_id)).effective_from == Y2026

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"department": "Hr; drop"}, ErrorCode.DOCUMENT_REJECTED),
            ({"effective_to": Y2025}, ErrorCode.PAYLOAD_INVALID),
            ({"effective_from": Y2027 + DAY}, ErrorCode.PAYLOAD_INVALID),
        ],
    )
    async def test_is_refused_and_changes_nothing(self, desk: Desk, changes: dict[str, Any], code: ErrorCode) -> None:
        done = await desk.bring(text_upload("a", "Nghỉ phép năm.", effective_from=Y2026, effective_to=Y2027))
        before = await desk.catalogue.find(desk.owner, done.document_id)
        error = await refusal(desk.catalogue.amend(desk.owner, done.document_id, {"scope": "private"} | changes))
        assert (error.code, error.status) == (code, 422)
        assert await desk.catalogue.find(desk.owner, done.document_id) == before

    async def test_takes_a_moment_without_a_zone_as_utc(self, desk: Desk) -> None:
        document_id, task_id = await desk.arrive(text_upload("a", "Nghỉ phép năm."))
        moment = datetime(2026, 3, 1, 12)  # noqa: DTZ001
        await desk.catalogue.amend(desk.owner, document_id, {"created_at": moment})
        await desk.work(document_id, task_id)
        view = await desk.catalogue.find(desk.owner, document_id)
        assert view.created_at == moment.replace(tzinfo=UTC)

    async def test_is_for_administrators_of_the_tenant(self, desk: Desk) -> None:
        done = await desk.bring(text_upload("a", "Nghỉ phép năm."))
        for change in (desk.catalogue.amend, desk.catalogue.delete):
            arguments: list[Any] = [{"scope": "private"}] if change == desk.catalogue.amend else []
            assert (await refusal(change(desk.reader("public"), done.document_id, *arguments))).status == 403
            assert (await refusal(change(admin("elsewhere"), done.document_id, *arguments))).status == 404
            assert (await refusal(change(desk.owner, uuid4(), *arguments))).status == 404
