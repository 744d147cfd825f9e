"""What sessions remember: the owner's alone, never beyond present rights, bounded, and gone with the session."""

import unicodedata
from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID, uuid4

import asyncpg
import numpy as np
import pytest

from app.domain.principal import Principal
from app.domain.tasks import Message, RememberedTurn
from app.embedding import EmbeddingUnavailable, Vectors
from app.embedding.cached import CachedEmbedder
from app.events import EndProcess, StartProcess, TextDelta
from app.sessions.history import list_sessions
from app.sessions.session import (
    HISTORY_TURNS,
    MAX_HEARD_CHARS,
    MAX_SUMMARY_CHARS,
    MAX_TURNS,
    SessionMemory,
    SessionStore,
)
from app.storage.database import Database
from app.storage.history import Shelf
from app.storage.sessions import store_turn
from app.text.language import clean
from tests.factories import principal
from tests.postgres.running import LAN, MINH, Rooms, rooms_on

NARROW = LAN.narrowed(scopes=("public", "internal"), department="hr")
LUNCH = "Phụ cấp ăn trưa một ngày là bao nhiêu?"
Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture(scope="module")
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


@pytest.fixture(scope="module")
def store(database: Database) -> SessionStore:
    return SessionStore(database)


@pytest.fixture(scope="module")
def memory(database: Database, embedder: CachedEmbedder) -> SessionMemory:
    return SessionMemory(database, embedder)


async def answered(rooms: Rooms, session_id: UUID, question: str, answer: str, who: Principal = LAN) -> UUID:
    """A turn that ended, not yet remembered."""
    task = await rooms.register(who, query=question, session_id=session_id)
    await rooms.complete(await rooms.resume(task.task_id, who), answer)
    return task.task_id


async def turn(
    rooms: Rooms, memory: SessionMemory, session_id: UUID, question: str, answer: str, who: Principal = LAN
) -> UUID:
    """A turn that ended and is remembered, heard in pieces."""
    task_id = await answered(rooms, session_id, question, answer, who)
    listener = memory.listener(who, session_id, task_id)
    listener.on_message(Message(role="user", content=question))
    for start in range(0, len(answer), 7):
        listener.on_message(Message(role="assistant", content=answer[start : start + 7]))
    listener.remember_turn("hr")
    await memory.settled()
    return task_id


async def fill(rooms: Rooms, session_id: UUID, count: int, who: Principal = LAN) -> None:
    """Turns that are not remembered."""
    for number in range(count):
        await answered(rooms, session_id, f"Câu hỏi số {number}?", f"Trả lời {number}.", who)


async def vectors_of(superuser: Superuser, session_id: UUID) -> int:
    found: int = await superuser.fetchval("select count(*) from semantic_vectors where session_id = $1", session_id)
    return found


class TestATurn:
    async def test_is_kept_as_a_vector_and_in_the_summary(
        self, rooms: Rooms, memory: SessionMemory, store: SessionStore, superuser: Superuser, embedder: CachedEmbedder
    ) -> None:
        session_id = uuid4()
        decomposed = unicodedata.normalize("NFD", "Phụ cấp ăn trưa?")
        task_id = await turn(rooms, memory, session_id, decomposed, "Mỗi ngày 40.000 đồng.")
        row = await superuser.fetchrow("select * from semantic_vectors where session_id = $1", session_id)
        assert row is not None
        assert (row["task_id"], row["agent_id"], row["embedding_model"]) == (task_id, "hr", embedder.model)
        assert row["content"] == "Phụ cấp ăn trưa? Mỗi ngày 40.000 đồng."
        assert (await store.get(LAN, session_id)).summary == f"- {clean(decomposed)} → Mỗi ngày 40.000 đồng."

    async def test_is_remembered_once(self, rooms: Rooms, memory: SessionMemory, superuser: Superuser) -> None:
        session_id = uuid4()
        task_id = await turn(rooms, memory, session_id, LUNCH, "40.000 đồng.")
        again = RememberedTurn(task_id=task_id, agent="hr", question="?", gist="")
        await memory.store_turn(LAN, session_id, again, "!")
        assert await vectors_of(superuser, session_id) == 1

    async def test_that_told_nothing_leaves_nothing(
        self, rooms: Rooms, memory: SessionMemory, superuser: Superuser
    ) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, "?", "")
        assert await vectors_of(superuser, session_id) == 0

    async def test_costs_only_its_memory_when_it_cannot_be_kept(
        self, rooms: Rooms, database: Database, superuser: Superuser, caplog: pytest.LogCaptureFixture
    ) -> None:
        session_id = uuid4()
        await turn(rooms, SessionMemory(database, Away()), session_id, LUNCH, "40.000 đồng.")
        assert await vectors_of(superuser, session_id) == 0
        assert "turn_not_remembered" in caplog.text

    async def test_of_an_erased_session_is_forgotten(
        self, rooms: Rooms, memory: SessionMemory, store: SessionStore, superuser: Superuser
    ) -> None:
        session_id = uuid4()
        task_id = await answered(rooms, session_id, LUNCH, "40.000 đồng.")
        await store.delete(LAN, session_id)
        late = RememberedTurn(task_id=task_id, agent="hr", question=LUNCH, gist="")
        await memory.store_turn(LAN, session_id, late, "40.000 đồng.")
        assert await vectors_of(superuser, session_id) == 0


class Away:
    """An embedding model that cannot be reached."""

    model, dimensions = "away", 2

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingUnavailable

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingUnavailable

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [0 for _ in texts]

    async def aclose(self) -> None:
        pass


class TestRecall:
    async def test_gives_the_last_turns_and_the_active_agent(self, rooms: Rooms, memory: SessionMemory) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, LUNCH, "40.000 đồng.")
        known = await memory.recall(LAN, session_id, "còn xăng xe?")
        assert [message.content for message in known.history] == [LUNCH, "40.000 đồng."]
        assert known.active_agent == "hr"

    async def test_brings_back_the_nearest_turn_from_further_up(self, rooms: Rooms, memory: SessionMemory) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, LUNCH, "Mỗi ngày 40.000 đồng.")
        await turn(rooms, memory, session_id, "VPN thì kết nối thế nào?", "Bằng chứng thư.")
        await fill(rooms, session_id, HISTORY_TURNS)
        known = await memory.recall(LAN, session_id, "quay lại chuyện phụ cấp ăn trưa")
        recalled = [message for message in known.history if message.is_recalled]
        assert recalled[0].role == "assistant"
        assert LUNCH in recalled[0].content
        assert ("user", LUNCH) in [(message.role, message.content) for message in recalled]
        assert [message.is_recalled for message in known.history] == sorted(
            (message.is_recalled for message in known.history), reverse=True
        )
        assert sum(not message.is_recalled for message in known.history) == 2 * HISTORY_TURNS

    async def test_goes_on_when_the_question_cannot_be_embedded(
        self, rooms: Rooms, memory: SessionMemory, database: Database
    ) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, LUNCH, "40.000 đồng.")
        await fill(rooms, session_id, HISTORY_TURNS)
        known = await SessionMemory(database, Away()).recall(LAN, session_id, "phụ cấp ăn trưa?")
        assert [message.role for message in known.history if message.is_recalled] == ["assistant"]

    async def test_takes_the_history_that_is_given(self, rooms: Rooms, memory: SessionMemory) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, LUNCH, "40.000 đồng.")
        given = (Message(role="user", content="Đi muộn thì sao?"),)
        known = await memory.recall(LAN, session_id, "còn về sớm?", given)
        assert (known.history, known.active_agent) == (given, "hr")

    async def test_is_empty_for_somebody_else_and_for_unknown_sessions(
        self, rooms: Rooms, memory: SessionMemory
    ) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, LUNCH, "40.000 đồng.")
        await fill(rooms, session_id, HISTORY_TURNS)
        for who, asked in ((MINH, session_id), (principal("globex", "jane"), session_id), (LAN, uuid4())):
            known = await memory.recall(who, asked, LUNCH)
            assert (known.history, known.active_agent) == ((), None)


class TestRights:
    async def test_hide_what_was_answered_under_wider_ones(
        self, rooms: Rooms, memory: SessionMemory, store: SessionStore
    ) -> None:
        session_id, secret = uuid4(), "Quỹ lương bí mật là 12 tỷ."
        await turn(rooms, memory, session_id, "Quỹ lương năm nay là bao nhiêu?", secret)
        await fill(rooms, session_id, HISTORY_TURNS + 1, NARROW)
        assert secret in str((await store.get(LAN, session_id)).summary)
        assert secret in repr(await memory.recall(LAN, session_id, "quỹ lương"))
        assert (await store.get(NARROW, session_id)).summary is None
        [listed] = [
            s
            for s in (await list_sessions(rooms.database, NARROW, None, Shelf(), None, 100))[0]
            if s.session_id == session_id
        ]
        assert listed.summary is None
        known = await memory.recall(NARROW, session_id, "quỹ lương")
        assert not [message for message in known.history if message.is_recalled]
        assert "Quỹ lương" not in repr(known)

    async def test_a_summary_made_with_fewer_rights_holds_nothing_of_the_others(
        self, rooms: Rooms, memory: SessionMemory, store: SessionStore
    ) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, "Quỹ lương?", "12 tỷ.")
        await turn(rooms, memory, session_id, "Giờ làm việc?", "8 giờ.", NARROW)
        assert (await store.get(NARROW, session_id)).summary == "- Giờ làm việc? → 8 giờ."
        assert (await store.get(LAN, session_id)).summary == "- Giờ làm việc? → 8 giờ."
        await turn(rooms, memory, session_id, "Phụ cấp?", "40.000 đồng.")
        assert "12 tỷ" in str((await store.get(LAN, session_id)).summary)
        assert (await store.get(NARROW, session_id)).summary is None

    async def test_nobody_reads_the_rows_of_another(
        self, rooms: Rooms, memory: SessionMemory, database: Database
    ) -> None:
        await turn(rooms, memory, uuid4(), LUNCH, "40.000 đồng.")
        admin = principal(user="boss", roles=("admin",))
        for who in (MINH, admin, principal("globex", "jane")):
            async with database.principal_scope(who) as tx:
                assert await tx.driver.fetchval("select count(*) from semantic_vectors") == 0
                assert await tx.driver.fetchval("select count(*) from sessions where summary is not null") == 0

    async def test_a_summary_without_rights_is_shown_to_nobody(
        self, rooms: Rooms, store: SessionStore, superuser: Superuser
    ) -> None:
        session_id = uuid4()
        await answered(rooms, session_id, LUNCH, "40.000 đồng.")
        await superuser.execute("update sessions set summary = 'old' where session_id = $1", session_id)
        assert (await store.get(LAN, session_id)).summary is None


class TestBounds:
    async def test_of_a_session_only_the_last_turns_are_kept(
        self, rooms: Rooms, database: Database, superuser: Superuser
    ) -> None:
        session_id = uuid4()
        made = [await answered(rooms, session_id, f"q{number}", "a") for number in range(6)]
        async with database.principal_scope(LAN) as tx:
            for number, task_id in enumerate(made):
                kept = RememberedTurn(task_id=task_id, agent=None, question=f"q{number}", gist="")
                vector = np.array([1.0, number], np.float32)
                await store_turn(tx, session_id, kept, kept.question, "m", vector, max_turns=4)
        left = await superuser.fetch("select content from semantic_vectors where session_id = $1", session_id)
        assert {row["content"] for row in left} == {"q2", "q3", "q4", "q5"}
        assert MAX_TURNS <= 500

    async def test_of_a_long_turn_a_few_sentences_are_kept(
        self, rooms: Rooms, memory: SessionMemory, store: SessionStore, superuser: Superuser
    ) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, "q" * 5_000, "Một câu dài. " * 2_000)
        content = await superuser.fetchval("select content from semantic_vectors where session_id = $1", session_id)
        assert len(content) <= 1_400
        assert len(str((await store.get(LAN, session_id)).summary)) <= MAX_SUMMARY_CHARS

    def test_a_listener_hears_only_so_much(self, memory: SessionMemory) -> None:
        listener = memory.listener(LAN, uuid4(), uuid4())
        for _ in range(100):
            listener.on_message(Message(role="assistant", content="x" * 1_000))
        assert sum(map(len, listener.__dict__["_heard"]["assistant"])) == MAX_HEARD_CHARS


class TestErasure:
    async def test_leaves_neither_vectors_nor_a_summary(
        self, rooms: Rooms, memory: SessionMemory, store: SessionStore, superuser: Superuser
    ) -> None:
        session_id = uuid4()
        await turn(rooms, memory, session_id, LUNCH, "Mỗi ngày 40.000 đồng.")
        assert await vectors_of(superuser, session_id) == 1
        await store.delete(LAN, session_id)
        for table in ("sessions", "tasks", "semantic_vectors", "agent_contexts"):
            count = await superuser.fetchval(f"select count(*) from {table} where session_id = $1", session_id)
            assert count == 0, table

    async def test_of_a_turn_takes_its_vector_along(
        self, rooms: Rooms, memory: SessionMemory, superuser: Superuser
    ) -> None:
        session_id = uuid4()
        task_id = await turn(rooms, memory, session_id, LUNCH, "Mỗi ngày 40.000 đồng.")
        await superuser.execute("delete from tasks where task_id = $1", task_id)
        assert await vectors_of(superuser, session_id) == 0


class TestSpeaking:
    async def test_is_who_has_the_floor_in_the_run_that_goes_on(self, rooms: Rooms, store: SessionStore) -> None:
        run = await rooms.begin()
        session_id = run.task.session_id
        said: list[tuple[str, ...]] = []
        for event in (
            StartProcess(agent="hr"), StartProcess(agent="it"), EndProcess(agent="hr"), EndProcess(agent="it"),
            TextDelta(text="a", agent="it"),
        ):  # fmt: skip
            run.writer.append(event)
            await run.writer.flush()
            said.append((await store.get(LAN, session_id)).speaking)
        assert said == [("hr",), ("hr", "it"), ("it",), (), ("it",)]
        await rooms.complete(run)
        assert (await store.get(LAN, session_id)).speaking == ()
