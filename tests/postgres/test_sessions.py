"""Conversations: listed, remembered and erased by their owner alone."""

from uuid import UUID, uuid4

import pytest

from app.domain.principal import Principal
from app.domain.tasks import Message
from app.errors import AppError, ErrorCode
from app.sessions.history import list_sessions
from app.sessions.session import SessionStore
from app.storage import sessions
from app.storage.database import Database
from app.storage.history import Shelf
from tests.factories import principal
from tests.postgres.running import LAN, MINH, Rooms, new_task, rooms_on


@pytest.fixture(scope="module")
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


@pytest.fixture(scope="module")
def store(database: Database) -> SessionStore:
    return SessionStore(database)


async def history(rooms: Rooms, who: Principal, session_id: UUID, limit: int = 10) -> tuple[Message, ...]:
    async with rooms.database.principal_scope(who) as tx:
        return await sessions.history(tx, session_id, limit)


class TestHistory:
    async def test_gives_the_last_turns_oldest_first(self, rooms: Rooms) -> None:
        session_id = uuid4()
        for number in range(4):
            task = await rooms.register(query=f"q{number}", session_id=session_id)
            await rooms.complete(await rooms.resume(task.task_id), f"a{number}")
        messages = await history(rooms, LAN, session_id, limit=2)
        assert [(message.role, message.content) for message in messages] == [
            ("user", "q2"), ("assistant", "a2"), ("user", "q3"), ("assistant", "a3"),
        ]  # fmt: skip

    async def test_leaves_out_the_turn_that_is_going_on_which_its_owner_sees(
        self, rooms: Rooms, store: SessionStore
    ) -> None:
        task = await rooms.register(query="now")
        assert await history(rooms, LAN, task.session_id) == ()
        shown = (await store.get(LAN, task.session_id)).messages
        assert [(message.role, message.content) for message in shown] == [("user", "now")]
        narrowed = LAN.narrowed(scopes=("public", "internal"), department="hr")
        assert (await store.get(narrowed, task.session_id)).messages == ()

    async def test_leaves_out_what_was_answered_with_wider_rights(self, rooms: Rooms, store: SessionStore) -> None:
        run = await rooms.begin()
        await rooms.complete(run, "something private")
        narrowed = LAN.narrowed(scopes=("public", "internal"), department="hr")
        assert await history(rooms, narrowed, run.task.session_id) == ()
        assert (await store.get(narrowed, run.task.session_id)).messages == ()
        assert len(await history(rooms, LAN, run.task.session_id)) == 2

    async def test_is_empty_for_somebody_elses_and_for_unknown_sessions(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        await rooms.complete(run)
        assert await history(rooms, LAN, run.task.session_id) != ()
        assert await history(rooms, MINH, run.task.session_id) == ()
        assert await history(rooms, LAN, uuid4()) == ()


class TestSession:
    async def test_is_named_by_its_first_question_and_knows_its_last_agent(
        self, rooms: Rooms, store: SessionStore
    ) -> None:
        session_id = uuid4()
        for query in ("x" * 300, "second"):
            task = await rooms.register(query=query, session_id=session_id)
            await rooms.complete(await rooms.resume(task.task_id))
        session = await store.get(LAN, session_id)
        assert session.title == "x" * 200
        assert (session.status, session.active_agent) == ("completed", "hr")
        assert len(session.messages) == 4

    async def test_is_not_found_for_somebody_else_as_for_an_unknown_id(self, rooms: Rooms, store: SessionStore) -> None:
        task = await rooms.register()
        for who, session_id in ((MINH, task.session_id), (LAN, uuid4())):
            for call in (store.get, store.delete):
                with pytest.raises(AppError) as refusal:
                    await call(who, session_id)
                assert (refusal.value.code, refusal.value.detail) == (ErrorCode.NOT_FOUND, "There is no such session.")

    async def test_is_erased_with_its_runs_and_journals(self, rooms: Rooms, store: SessionStore) -> None:
        run = await rooms.begin()
        await rooms.complete(run)
        await store.delete(LAN, run.task.session_id)
        with pytest.raises(AppError, match="no such task"):
            await rooms.journal.read(LAN, run.task.task_id)
        async with rooms.database.principal_scope(LAN) as tx:
            left = "select count(*) from events where root_task_id = $1"
            assert await tx.driver.fetchval(left, run.task.task_id) == 0


class TestList:
    async def test_pages_through_all_sessions_last_used_first(self, rooms: Rooms) -> None:
        who = principal(user="pager")
        made = [await rooms.registry.register_task(who, new_task(str(number))) for number in range(7)]
        await rooms.complete(await rooms.resume(made[2].task_id, who))
        titles: list[str] = []
        cursor: str | None = None
        for expected in (3, 3, 1):
            page, cursor = await list_sessions(rooms.database, who, None, Shelf(), cursor, 3)
            assert len(page) == expected
            assert all(session.messages == () for session in page)
            titles += [session.title for session in page]
        assert cursor is None
        assert titles == ["2", "6", "5", "4", "3", "1", "0"]

    async def test_shows_nobody_elses(self, rooms: Rooms) -> None:
        await rooms.register()
        nobody = principal(user="nobody", roles=("admin",))
        assert await list_sessions(rooms.database, nobody, None, Shelf(), None, 10) == ((), None)

    @pytest.mark.parametrize("cursor", ["", "!", "bm90IGEgY3Vyc29y", "MjAyNi0wMS0wMXxhYmM="])
    async def test_refuses_a_cursor_it_did_not_give(self, rooms: Rooms, cursor: str) -> None:
        with pytest.raises(AppError) as refusal:
            await list_sessions(rooms.database, LAN, None, Shelf(), cursor, 10)
        assert refusal.value.status == 422
