"""Conversations are found again by their owner alone: words of both sides, folded; pinned, archived."""

from typing import TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.principal import Principal
from app.domain.tasks import Session
from app.errors import AppError, ErrorCode
from app.sessions.history import MAX_SNIPPET_CHARS, change_session, list_sessions, snippet_of
from app.storage import history
from app.storage.database import Database
from app.storage.history import Shelf
from app.text.language import fold, words
from tests.factories import principal
from tests.postgres.running import LAN, MINH, Rooms, new_task, rooms_on
from tests.samples import size

LEAVE, LEAVE_ANSWER = "Tôi được nghỉ phép mấy ngày?", "Nhân viên chính thức có 14 ngày phép năm; Đỗ Thị Hoà duyệt đơn."
VPN, VPN_ANSWER = "How do I reach the VPN?", "Install the client and sign in with your **password**."
TEXTS = st.text(
    st.one_of(
        st.characters(codec="ascii"),
        st.sampled_from("ăâđêôơưĂÂĐÊÔƠƯàảãáạằẳẵắặầẩẫấậèẻẽéẹềểễếệìỉĩíịòỏõóọồổỗốộờởỡớợùủũúụừửữứựỳỷỹýỵ…“”–\u200b\u00ad"),
        st.sampled_from("\u0300\u0301\u0303\u0309\u0323"),
    ),
    max_size=60,
)  # fmt: skip
Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture(scope="module")
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


async def turn(rooms: Rooms, question: str, answer: str, who: Principal = LAN, session_id: UUID | None = None) -> UUID:
    task = await rooms.register(who, question, session_id=session_id or uuid4())
    await rooms.complete(await rooms.resume(task.task_id, who), answer)
    return task.session_id


async def found(rooms: Rooms, text: str | None, who: Principal = LAN, **wanted: object) -> list[Session]:
    shelf = Shelf(**wanted)  # type: ignore[arg-type]
    page, cursor = await list_sessions(rooms.database, who, text, shelf, None, 100)
    assert cursor is None
    return list(page)


async def ids(rooms: Rooms, text: str | None, who: Principal = LAN, **wanted: object) -> list[UUID]:
    return [one.session_id for one in await found(rooms, text, who, **wanted)]


FINDER = principal(user="finder")
_LONG_HISTORY = """
set session_replication_role = replica;
insert into sessions (tenant_id, user_id, session_id, title, user_input)
select '{tenant}', '{user}', md5(n::text)::uuid, 'việc ' || n, 'x' from generate_series(1, 3000) n;
insert into tasks (
    tenant_id, user_id, task_id, root_task_id, session_id, kind, title, status, request, result, principal)
select '{tenant}', '{user}', md5(n::text)::uuid, md5(n::text)::uuid, md5(n::text)::uuid, 'chat', 'x', 'completed',
    '{{"query": "nghỉ phép"}}', jsonb_build_object('answer', 'nghỉ phép' || n), '{{"scopes": [], "departments": []}}'
from generate_series(1, 3000) n;
reset session_replication_role;
analyze sessions, tasks;
"""


@pytest.fixture(scope="module")
async def leave(rooms: Rooms) -> UUID:
    """One of two conversations of `FINDER`."""
    await turn(rooms, VPN, VPN_ANSWER, FINDER)
    return await turn(rooms, LEAVE, LEAVE_ANSWER, FINDER)


class TestSearching:
    @pytest.mark.parametrize(
        "text",
        [
            "nghi phep",
            "NGHỈ PHÉP",
            "nghỉ  phép?",
            "phép nghi",
            "nghi ph",
            "do thi hoa",
            "Đỗ Thị",
            "14 ngay",
            "hòa",
            "nam",
        ],
    )
    async def test_finds_words_of_both_sides_without_case_and_accents(
        self, rooms: Rooms, leave: UUID, text: str
    ) -> None:
        assert await ids(rooms, text, FINDER) == [leave]

    @pytest.mark.parametrize("text", ["ghi phep", "nghi phep vpn", "15 ngay", "?", "\u200b", "…", "ph nghi", "' | '"])
    async def test_finds_nothing_else(self, rooms: Rooms, leave: UUID, text: str) -> None:
        assert await ids(rooms, text, FINDER) == []

    async def test_shows_where_the_words_stand(self, rooms: Rooms, leave: UUID) -> None:
        [asked] = await found(rooms, "nghi phep", FINDER)
        assert asked.snippet == LEAVE
        [answered] = await found(rooms, "hoa duyet", FINDER)
        assert answered.snippet is not None and answered.snippet.endswith("Đỗ Thị Hòa duyệt đơn.")
        [plain] = await found(rooms, "password", FINDER)
        assert plain.snippet == VPN_ANSWER.replace("**", "")

    async def test_finds_a_title_that_was_given(self, rooms: Rooms) -> None:
        session_id = await turn(rooms, "xin chào", "Chào bạn.")
        await change_session(rooms.database, LAN, session_id, "Kế hoạch đào tạo", None, None)
        [renamed] = await found(rooms, "ke hoach dao")
        assert (renamed.session_id, renamed.title, renamed.snippet) == (session_id, "Kế hoạch đào tạo", None)

    async def test_is_the_owners_alone(self, rooms: Rooms, leave: UUID) -> None:
        same_name = principal("globex", "finder")
        for who in (MINH, principal(user="boss", roles=("admin",)), same_name):
            assert await ids(rooms, "nghi phep", who) == []

    async def test_finds_nothing_that_was_answered_with_wider_rights(self, rooms: Rooms) -> None:
        session_id = await turn(rooms, "Ai được thưởng?", "Quỹ bí mật tên zebra là 12 tỷ.")
        narrowed = LAN.narrowed(scopes=("public", "internal"), department="hr")
        assert await ids(rooms, "zebra") == [session_id]
        assert await ids(rooms, "zebra", narrowed) == []

    async def test_finds_the_same_where_words_are_not_indexed(
        self, rooms: Rooms, leave: UUID, superuser: Superuser
    ) -> None:
        await superuser.execute("alter function ts_match_vq(tsvector, tsquery) not leakproof")
        try:
            assert [await ids(rooms, text, FINDER) for text in ("nghi ph", "zebra nghi")] == [[leave], []]
        finally:
            await superuser.execute("alter function ts_match_vq(tsvector, tsquery) leakproof")

    async def test_reads_the_lists_of_the_person_in_a_long_history(self, rooms: Rooms, superuser: Superuser) -> None:
        who = principal(user="talker")
        await superuser.execute(_LONG_HISTORY.format(tenant=who.tenant_id, user=who.user_id))
        async with rooms.database.principal_scope(who) as tx:
            words, listed = f"'{str(who.user_id)[:8]}phep7'", history._listed(tx, Shelf(), None, 20)
            plan = str(await tx.driver.fetchval(f"explain (format json) {history._BY_INDEX}", *listed, words))
        assert "tasks_said" in plan and "sessions_title_said" in plan
        assert len(await ids(rooms, "phep77 nghi", who)) == 1

    async def test_the_database_folds_as_python_does(self, rooms: Rooms) -> None:
        texts: list[str] = []

        @settings(deadline=None, max_examples=size(100, 400), database=None)
        @given(text=TEXTS)
        def collect(text: str) -> None:
            texts.append(text.replace("\x00", " "))

        collect()
        async with rooms.database.principal_scope(LAN) as tx:
            for text in texts:
                assert await history.folded_words(tx, text) == words(fold(text)), ascii(text)


class TestSnippet:
    @settings(deadline=None)
    @given(before=st.text(max_size=400), after=st.text(max_size=400))
    def test_holds_the_word_and_is_short(self, before: str, after: str) -> None:
        snippet = snippet_of(("", f"{before} Nghỉ phép {after}"), ["nghi", "phep"])
        assert snippet is not None and len(snippet) <= MAX_SNIPPET_CHARS
        assert "nghi" in fold(snippet).lower()

    def test_of_words_that_stand_apart_shows_one_of_them(self) -> None:
        assert snippet_of(("Phép của tôi, nghỉ khi nào?",), ["nghi", "phep"]) == "Phép của tôi, nghỉ khi nào?"
        assert snippet_of(("Không có gì.",), ["nghi"]) is None


class TestList:
    async def test_puts_pinned_first_with_a_cursor_that_passes_over_nothing(self, rooms: Rooms) -> None:
        who = principal(user="pinner")
        made = [(await rooms.registry.register_task(who, new_task(f"việc {n}"))).session_id for n in range(7)]
        for number in (1, 3):
            await change_session(rooms.database, who, made[number], None, True, None)
        expected = [made[number] for number in (3, 1, 6, 5, 4, 2, 0)]
        for limit in (1, 2, 3, 7):
            seen: list[UUID] = []
            cursor: str | None = None
            while True:
                page, cursor = await list_sessions(rooms.database, who, None, Shelf(), cursor, limit)
                seen += [one.session_id for one in page]
                if cursor is None:
                    break
            assert seen == expected, limit

    async def test_stays_stable_while_conversations_are_renamed_and_come(self, rooms: Rooms) -> None:
        who = principal(user="renamer")
        made = [(await rooms.registry.register_task(who, new_task(f"việc {n}"))).session_id for n in range(6)]
        seen: list[UUID] = []
        cursor: str | None = None
        for _ in range(3):
            page, cursor = await list_sessions(rooms.database, who, "viec", Shelf(), cursor, 2)
            seen += [one.session_id for one in page]
            await change_session(rooms.database, who, seen[0], f"Việc {len(seen)}", None, None)
            await rooms.registry.register_task(who, new_task("việc mới"))
        assert (seen, cursor) == (made[::-1], None)

    async def test_hides_what_is_archived_unless_it_is_asked_for(self, rooms: Rooms) -> None:
        who = principal(user="archivist")
        kept, away = await turn(rooms, LEAVE, "a", who), await turn(rooms, LEAVE, "b", who)
        changed = await change_session(rooms.database, who, away, None, None, True)
        assert changed.archived and not changed.pinned
        assert await ids(rooms, None, who) == await ids(rooms, "phep", who) == [kept]
        assert await ids(rooms, None, who, archived=True) == await ids(rooms, "phep", who, archived=True) == [away]


class TestChanging:
    async def test_leaves_what_is_not_named_and_the_place_in_the_list(self, rooms: Rooms) -> None:
        session_id = await turn(rooms, LEAVE, LEAVE_ANSWER)
        [before] = [one for one in await found(rooms, "phep") if one.session_id == session_id]
        await change_session(rooms.database, LAN, session_id, "Phép", None, None)
        after = await change_session(rooms.database, LAN, session_id, None, True, None)
        assert (after.title, after.pinned, after.archived) == ("Phép", True, False)
        assert after.updated_at == before.updated_at
        await change_session(rooms.database, LAN, session_id, None, False, None)

    async def test_of_foreign_unknown_and_other_sessions_is_the_same_404(self, rooms: Rooms) -> None:
        session_id = await turn(rooms, LEAVE, LEAVE_ANSWER)
        ingestion = await rooms.register(principal(roles=("admin",)), "document", kind="ingest")
        for who, one in (
            (MINH, session_id), (principal(user="boss", roles=("admin",)), session_id), (LAN, uuid4()),
            (LAN, ingestion.session_id),
        ):  # fmt: skip
            with pytest.raises(AppError) as refusal:
                await change_session(rooms.database, who, one, "Mine", True, True)
            assert (refusal.value.code, refusal.value.detail) == (ErrorCode.NOT_FOUND, "There is no such session.")
        assert not [one for one in await found(rooms, "nghi phep") if one.title == "Mine"]

    async def test_is_refused_by_the_row_policies_too(self, rooms: Rooms) -> None:
        session_id = await turn(rooms, LEAVE, LEAVE_ANSWER)
        async with rooms.database.principal_scope(MINH) as tx:
            done = await tx.driver.execute("update sessions set title = 'x' where session_id = $1", session_id)
            assert done == "UPDATE 0"
            told = await tx.driver.fetch("select said from tasks where session_id = $1", session_id)
            assert told == []
