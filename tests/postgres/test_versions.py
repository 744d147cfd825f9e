"""What documents said before: every published version, under the rights of whoever asks."""

from uuid import UUID

from app.domain.principal import Principal
from app.storage.neighbours import lines_of
from extras.changes.successions import DocumentVersion, successions
from tests.postgres.arriving import DAY, Y2025, Y2026, Y2027, Desk, text_upload

OLD = text_upload("old", "Nghỉ phép năm: 12 ngày.", effective_from=Y2025)
NEW = text_upload("new", "Nghỉ phép năm: 14 ngày.", effective_from=Y2026, supersedes="old")


async def bring(desk: Desk, *uploads: object) -> list[UUID]:
    return [(await desk.bring(upload)).document_id for upload in uploads]  # type: ignore[arg-type]


async def lines(desk: Desk, ids: list[UUID], who: Principal | None = None) -> list[DocumentVersion]:
    async with desk.database.principal_scope(who or desk.owner) as tx:
        return [DocumentVersion(**row) for row in await lines_of(tx, ids)]


def told(versions: list[DocumentVersion]) -> list[tuple[str, int, str]]:
    return sorted((version.external_id, version.version, version.text.strip()) for version in versions)


class TestLinesOf:
    async def test_follows_documents_to_what_they_replace_and_are_replaced_by(self, desk: Desk) -> None:
        ids = await bring(desk, OLD, NEW, text_upload("other", "Giờ làm: 8 giờ."))
        both = [("new", 1, "Nghỉ phép năm: 14 ngày."), ("old", 1, "Nghỉ phép năm: 12 ngày.")]
        assert told(await lines(desk, ids[:1])) == told(await lines(desk, ids[1:2])) == both
        [closed] = [one for one in await lines(desk, ids[:1]) if one.external_id == "old"]
        assert closed.closes == Y2026 - DAY

    async def test_knows_a_text_that_is_found_no_more(self, desk: Desk) -> None:
        for days in (12, 14):
            [document] = await bring(desk, text_upload("a", f"Nghỉ phép năm: {days} ngày."))
        assert await desk.found(as_of=Y2025) == ["Nghỉ phép năm: 14 ngày."]
        versions = await lines(desk, [document])
        assert told(versions) == [("a", 1, "Nghỉ phép năm: 12 ngày."), ("a", 2, "Nghỉ phép năm: 14 ngày.")]
        [found] = successions(versions, None, versions[0].published_at.date())
        assert (found.kind, found.old and found.old.version.version) == ("replaced", 1)

    async def test_a_circle_ends(self, desk: Desk) -> None:
        ids = await bring(
            desk,
            text_upload("a", "Nghỉ phép năm: 12 ngày.", supersedes="b", effective_from=Y2025),
            text_upload("b", "Nghỉ phép năm: 14 ngày.", supersedes="a", effective_from=Y2026),
        )
        assert len(await lines(desk, ids)) == 2

    async def test_unknown_documents_have_no_line(self, desk: Desk) -> None:
        assert await lines(desk, [UUID(int=0)]) == []


class TestRights:
    async def test_a_version_that_may_not_be_read_is_not_there(self, desk: Desk) -> None:
        secret = text_upload("old", "Nghỉ phép năm: 12 ngày.", effective_from=Y2025, scope="private")
        ids = await bring(desk, secret, NEW)
        assert told(await lines(desk, ids, desk.reader("public"))) == [("new", 1, "Nghỉ phép năm: 14 ngày.")]
        assert len(await lines(desk, ids, desk.reader("public", "private"))) == 2
        assert len(await lines(desk, ids, desk.reader("public", "private", department="it"))) == 1

    async def test_the_line_ends_there(self, desk: Desk) -> None:
        ids = await bring(
            desk,
            OLD,
            text_upload("mid", "Nghỉ phép năm: 13 ngày.", effective_from=Y2026, supersedes="old", scope="private"),
            text_upload("top", "Nghỉ phép năm: 16 ngày.", effective_from=Y2027, supersedes="mid"),
        )
        assert [one.external_id for one in await lines(desk, ids[2:], desk.reader("public"))] == ["top"]
        assert [one.external_id for one in await lines(desk, ids[:1], desk.reader("public"))] == ["old"]

    async def test_an_administrator_reads_no_more_than_others(self, desk: Desk, clerk: Principal) -> None:
        secret = text_upload("old", "Nghỉ phép năm: 12 ngày.", effective_from=Y2025, scope="internal")
        ids = await bring(desk, secret, NEW)
        assert [one.external_id for one in await lines(desk, ids, clerk)] == ["new"]
