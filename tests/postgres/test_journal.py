"""The journal: gapless, owned, followed while it grows, and closed to whoever lost the run."""

import asyncio
import random
from contextlib import aclosing
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.principal import Principal
from app.errors import AppError, StaleAttempt
from app.events import FinalReport, JournalEntry, TextDelta
from app.storage import events as rows
from app.storage.database import Database, Transaction
from tests.factories import principal
from tests.postgres.running import JANE, LAN, MINH, Rooms, rooms_on, say, texts_of


@pytest.fixture(scope="module")
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


class TestWriting:
    async def test_numbers_events_from_one_without_gaps(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        for number in range(200):
            say(run, str(number))
            if number % 37 == 0:
                await asyncio.sleep(0.03)
        await rooms.complete(run)
        entries = await rooms.entries(run.task.task_id)
        assert [entry.seq for entry in entries] == list(range(1, 203))
        assert texts_of(entries) == [str(number) for number in range(200)]
        assert [entry.event.type for entry in entries if entry.is_terminal] == ["final_report"]

    async def test_commits_by_itself_shortly_after_an_append(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        say(run, "soon")
        async with asyncio.timeout(5), aclosing(rooms.journal.follow(LAN, run.task.task_id, after=1)) as following:
            assert texts_of([await anext(following)]) == ["soon"]
        await run.writer.aclose()

    async def test_goes_on_behind_an_earlier_attempt(self, rooms: Rooms) -> None:
        first = await rooms.begin()
        say(first, "first")
        await first.writer.flush()
        await rooms.expire(first)
        second = await rooms.resume(first.task.task_id)
        say(second, "second")
        await rooms.complete(second)
        entries = await rooms.entries(first.task.task_id)
        assert [entry.seq for entry in entries] == [1, 2, 3, 4]
        assert texts_of(entries) == ["first", "second"]

    @pytest.mark.parametrize("text", ["a\x00b", "lone \ud800 half", "backslash \\u0000", "dấu tiếng Việt 🙂"])
    async def test_stores_whatever_text_a_tool_comes_up_with(self, rooms: Rooms, text: str) -> None:
        run = await rooms.begin()
        run.writer.append(TextDelta.model_construct(type="text_delta", text=text))
        await rooms.complete(run)
        [stored] = texts_of(await rooms.entries(run.task.task_id))
        assert stored == text.replace("\x00", "").replace("\ud800", "?")


class TestFence:
    async def test_refuses_the_events_of_an_attempt_that_lost_the_run(self, rooms: Rooms) -> None:
        old = await rooms.begin()
        await rooms.expire(old)
        new = await rooms.resume(old.task.task_id)
        say(old, "too late")
        with pytest.raises(StaleAttempt):
            await old.writer.flush()
        with pytest.raises(StaleAttempt):
            say(old, "and again")
        with pytest.raises(StaleAttempt):
            await rooms.complete(old)
        await rooms.complete(new)
        assert texts_of(await rooms.entries(old.task.task_id)) == []

    async def test_lets_exactly_one_of_two_racing_attempts_write(self, rooms: Rooms) -> None:
        """A claim that happens between two batches of the older attempt never leaves a gap or a double."""
        for _ in range(15):
            old = await rooms.begin()
            await rooms.expire(old)
            say(old, "old")
            flushed, new = await asyncio.gather(
                old.writer.flush(), rooms.resume(old.task.task_id), return_exceptions=True
            )
            assert flushed is None or isinstance(flushed, StaleAttempt)
            assert not isinstance(new, BaseException)
            say(new, "new")
            try:
                await rooms.complete(new)
            except asyncpg.UniqueViolationError:
                pytest.fail("two attempts wrote the same seq")
            entries = await rooms.entries(old.task.task_id)
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert texts_of(entries) in (["new"], ["old", "new"])

    async def test_takes_nothing_after_the_terminal_event(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        await rooms.complete(run)
        with pytest.raises(StaleAttempt):
            say(run, "more")
        late = await rooms.journal.writer(LAN, run.task)
        late.append(TextDelta(text="more"))
        with pytest.raises(StaleAttempt):
            await late.flush()
        assert len(await rooms.entries(run.task.task_id)) == 2


class TestEnding:
    async def test_writes_nothing_when_the_transaction_that_ends_the_run_fails(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        say(run, "kept")
        with pytest.raises(RuntimeError, match="deliberate"):
            async with run.writer.ending(), rooms.database.principal_scope(LAN) as tx:
                await run.writer.append_in(tx, FinalReport(answer={}))
                raise RuntimeError("deliberate")
        assert not run.writer.has_ended
        await rooms.complete(run)
        entries = await rooms.entries(run.task.task_id)
        assert [entry.event.type for entry in entries] == ["task_available", "text_delta", "final_report"]

    async def test_works_with_a_single_connection(self, app_url: str) -> None:
        """Ending while a batch is on its way must not wait for the connection that batch needs."""
        database = await Database.connect(app_url, pool_size=1)
        try:
            rooms = rooms_on(database)
            run = await rooms.begin()
            say(run, *map(str, range(50)))
            await asyncio.sleep(0.026)
            async with asyncio.timeout(5):
                await rooms.complete(run)
        finally:
            await database.dispose()


class TestFollowing:
    async def test_sees_each_event_once_and_stops_after_the_terminal_one(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        readers = [asyncio.create_task(rooms.entries(run.task.task_id)) for _ in range(3)]
        for number in range(30):
            say(run, str(number))
            await asyncio.sleep(0.004)
        await rooms.complete(run)
        async with asyncio.timeout(10):
            for entries in await asyncio.gather(*readers):
                assert [entry.seq for entry in entries] == list(range(1, 33))

    async def test_resumes_anywhere_without_gap_or_double(self, rooms: Rooms) -> None:
        rng = random.Random(7)
        run = await rooms.begin()

        async def speak() -> None:
            for number in range(60):
                say(run, str(number))
                await asyncio.sleep(0.003)
            await rooms.complete(run)

        async def read_with_cuts() -> list[JournalEntry]:
            seen: list[JournalEntry] = []
            while not (seen and seen[-1].is_terminal):
                left = rng.randrange(1, 15)
                async with aclosing(rooms.journal.follow(LAN, run.task.task_id, len(seen))) as following:
                    async for entry in following:
                        seen.append(entry)
                        left -= 1
                        if left == 0:
                            break
            return seen

        async with asyncio.timeout(20):
            speaking = asyncio.create_task(speak())
            readers = await asyncio.gather(*(read_with_cuts() for _ in range(4)))
            await speaking
        for entries in readers:
            assert [entry.seq for entry in entries] == list(range(1, 63))

    async def test_is_told_what_is_written_beside_it_in_the_tables_words_without_asking_the_table_again(
        self, rooms: Rooms, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run, read, looks, looked = await rooms.begin(), rows.read, list[int](), asyncio.Event()

        async def counted(tx: Transaction, root_task_id: UUID, after: int, limit: int) -> object:
            looks.append(after)
            looked.set()
            return await read(tx, root_task_id, after, limit)

        monkeypatch.setattr(rows, "read", counted)
        reader = asyncio.create_task(rooms.entries(run.task.task_id))
        await looked.wait()
        for text in ("a\x00b", "lone \ud800 half", "dấu tiếng Việt 🙂"):
            run.writer.append(TextDelta.model_construct(type="text_delta", text=text))
            await run.writer.flush()
        await rooms.complete(run)
        async with asyncio.timeout(10):
            entries = await reader
        assert looks == [0]
        assert entries == await rooms.journal.read(LAN, run.task.task_id)
        assert texts_of(entries) == ["ab", "lone ? half", "dấu tiếng Việt 🙂"]

    async def test_polls_when_no_hint_comes(self, database: Database) -> None:
        """Writer and reader share no bus."""
        writing, reading = rooms_on(database), rooms_on(database)
        run = await writing.begin()
        reader = asyncio.create_task(reading.entries(run.task.task_id))
        await asyncio.sleep(0.05)
        say(run, "unheard")
        await writing.complete(run)
        async with asyncio.timeout(5):
            assert texts_of(await reader) == ["unheard"]

    async def test_starts_behind_the_given_seq(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        say(run, "a", "b", "c")
        await rooms.complete(run)
        assert [entry.seq for entry in await rooms.entries(run.task.task_id, after=3)] == [4, 5]

    async def test_pages_through_a_long_journal(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        say(run, *map(str, range(1_100)))
        await rooms.complete(run)
        assert [entry.seq for entry in await rooms.journal.read(LAN, run.task.task_id)] == list(range(1, 1_103))

    @pytest.mark.parametrize("who", [MINH, JANE, principal(user="boss", roles=("admin",))], ids=lambda who: who.name)
    async def test_is_not_found_for_everybody_else_as_for_an_unknown_id(self, rooms: Rooms, who: Principal) -> None:
        run = await rooms.begin()
        for task_id in (run.task.task_id, uuid4()):
            with pytest.raises(AppError) as refusal:
                await rooms.entries(task_id, who)
            assert (refusal.value.status, refusal.value.detail) == (404, "There is no such task.")
        await run.writer.aclose()

    async def test_ends_when_the_session_is_erased_meanwhile(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        reader = asyncio.create_task(rooms.entries(run.task.task_id))
        await asyncio.sleep(0.05)
        async with rooms.database.principal_scope(LAN) as tx:
            await tx.driver.execute("delete from sessions where session_id = $1", run.task.session_id)
        with pytest.raises(AppError, match="no such task"):
            async with asyncio.timeout(5):
                await reader
        say(run, "lost")
        with pytest.raises(StaleAttempt):
            await run.writer.flush()
