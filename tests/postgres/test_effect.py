"""When a document holds: proposed to its administrator as its text says, applied only when somebody accepts it."""

from datetime import date

import pytest

from app.storage.neighbours import lines_of
from tests.postgres.arriving import Desk, file_upload, text_upload

TEXT = (
    "# Giờ làm việc\n\nQuy định này có hiệu lực từ ngày 01/12/2027 và thay thế Quy định giờ làm việc 2023.\n\n"
    "Giờ vào làm là 9:00.\n"
)


class TestProposals:
    @pytest.mark.parametrize("kind", [text_upload, file_upload])
    async def test_are_stored_with_the_version_and_change_nothing(self, desk: Desk, kind: object) -> None:
        await desk.bring(text_upload("old", "Giờ vào làm là 8:36.", title="Quy định giờ làm việc 2023"))
        upload = text_upload("new", TEXT) if kind is text_upload else file_upload("new.md", TEXT)
        done = await desk.bring(upload)
        assert done.status == "ready"
        view = await desk.catalogue.find(desk.owner, done.document_id)
        [note] = view.warnings
        assert (note.code, note.count) == ("SAYS_WHEN_IT_HOLDS", 2)
        sentence = "Quy định này có hiệu lực từ ngày 01/12/2027 và thay thế Quy định giờ làm việc 2023."
        assert note.proposes == {"effective_from": ("2027-12-01", sentence), "supersedes": ("old", sentence)}
        assert (view.effective_from, view.supersedes) == (None, None)
        assert len(await desk.found()) == 2, "both are still found: nothing was applied"

    async def test_are_accepted_as_any_change_is(self, desk: Desk) -> None:
        done = await desk.bring(text_upload("new", TEXT))
        [note] = (await desk.catalogue.find(desk.owner, done.document_id)).warnings
        assert [*note.proposes] == ["effective_from"], "no document is called like the one it replaces"
        begins = {name: date.fromisoformat(value) for name, (value, _) in note.proposes.items()}
        await desk.catalogue.amend(desk.owner, done.document_id, begins)
        assert await desk.found() == []

    async def test_are_not_made_where_the_header_says_it(self, desk: Desk) -> None:
        done = await desk.bring(text_upload("new", TEXT, effective_from=date(2027, 12, 1)))
        assert (await desk.catalogue.find(desk.owner, done.document_id)).warnings == ()

    async def test_are_for_administrators(self, desk: Desk) -> None:
        done = await desk.bring(text_upload("new", TEXT))
        [told] = (await desk.catalogue.find(desk.reader("public"), done.document_id)).warnings
        assert (told.code, told.proposes) == ("SAYS_WHEN_IT_HOLDS", {})

    async def test_leave_their_sentences_in_what_is_compared(self, desk: Desk) -> None:
        done = await desk.bring(text_upload("new", TEXT))
        async with desk.database.principal_scope(desk.owner) as tx:
            [version] = await lines_of(tx, [done.document_id])
        assert "có hiệu lực từ ngày" in version["text"]


class TestAuthority:
    async def test_of_news_and_notices_is_notice_unless_somebody_says_otherwise(self, desk: Desk) -> None:
        for name, said, authority in (
            ("news/a", {}, "notice"), ("news/b", {"authority": "policy"}, "policy"), ("rules/c", {}, "policy"),
        ):  # fmt: skip
            done = await desk.bring(text_upload(name, "Giờ vào làm là 9:00.", **said))
            assert (await desk.catalogue.find(desk.owner, done.document_id)).authority == authority, name
