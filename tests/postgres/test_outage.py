"""Without the database: what running tasks write waits in the spool, and is brought in exactly once."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from app.domain.tasks import TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import FinalReport, Redispatched
from app.storage.spool import SpoolLimits, waiting_in
from tests.limits import limit
from tests.postgres.fragile import FragileServer, LosingRelay, fragile_server, losing_relay
from tests.postgres.running import JANE, LAN, Rooms, say, step_of, texts_of
from tests.postgres.spooling import spooling_rooms


@pytest.fixture(scope="module")
def server() -> Iterator[FragileServer]:
    with fragile_server() as running:
        yield running


@pytest.fixture
async def rooms(server: FragileServer, tmp_path: Path) -> AsyncIterator[Rooms]:
    async with spooling_rooms(server.app_url, tmp_path) as opened:
        yield opened


@pytest.fixture
async def superuser(server: FragileServer) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(server.superuser_url)
    yield connection
    await connection.close()


async def settled(rooms: Rooms) -> None:
    assert await rooms.journal.outage.is_settled_within(10)


class TestRunningTasks:
    async def test_end_while_it_is_away_and_are_brought_in_when_it_is_back(
        self, server: FragileServer, rooms: Rooms, tmp_path: Path
    ) -> None:
        run = await rooms.begin()
        say(run, "before")
        await run.writer.flush()
        follower = asyncio.create_task(rooms.entries(run.task.task_id))
        async with server.away():
            say(run, "while away")
            await run.writer.flush()
            await rooms.complete(run)
            await run.writer.aclose()
            assert run.writer.has_ended
            async with asyncio.timeout(5):
                shown = await follower
            assert isinstance(shown[-1].event, FinalReport)
            assert shown[-1].event.answer["durability"] == "pending"
            assert waiting_in(tmp_path / "spool").runs == 1
        await settled(rooms)
        stored = await rooms.entries(run.task.task_id)
        assert [(entry.seq, entry.event.type) for entry in stored] == [(entry.seq, entry.event.type) for entry in shown]
        assert [entry.seq for entry in stored] == [1, 2, 3, 4]
        assert texts_of(stored) == ["before", "while away"]
        assert isinstance(stored[-1].event, FinalReport) and "durability" not in stored[-1].event.answer
        task = await rooms.registry.get_task(LAN, run.task.task_id)
        assert task.status is TaskStatus.COMPLETED and task.result is not None and "durability" not in task.result
        assert not list((tmp_path / "spool").iterdir())

    async def test_go_on_in_the_database_when_it_is_back_before_they_end(
        self, server: FragileServer, rooms: Rooms
    ) -> None:
        run = await rooms.begin()
        async with server.away():
            say(run, "while away")
            await run.writer.flush()
        say(run, "again")
        await settled(rooms)
        say(run, "and directly")
        await rooms.complete(run)
        entries = await rooms.entries(run.task.task_id)
        assert texts_of(entries) == ["while away", "again", "and directly"]
        assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
        assert isinstance(entries[-1].event, FinalReport) and "durability" not in entries[-1].event.answer

    async def test_keep_plan_and_steps(self, server: FragileServer, rooms: Rooms) -> None:
        run = await rooms.begin()
        step, later = step_of(run.task, "first"), step_of(run.task, "second")
        await rooms.registry.steps.register(run, [step])
        async with server.away():
            await rooms.registry.steps.register(run, [later], plan={"a": 1})
            for one in (step, later):
                claimed = await rooms.registry.steps.claim(LAN, one.task_id, "hr")
                assert claimed is not None and claimed.attempt == 1
                await rooms.registry.update_status(
                    LAN, one.task_id, 1, TaskStatus.COMPLETED, result={"answer": one.title}
                )
            await rooms.complete(run)
        await settled(rooms)
        task = await rooms.registry.get_task(LAN, run.task.task_id)
        steps = await rooms.registry.children(LAN, run.task.task_id)
        assert task.plan == {"a": 1} and task.status is TaskStatus.COMPLETED
        assert {(one.title, one.status.value, (one.result or {})["answer"]) for one in steps} == {
            ("first", "completed", "first"),
            ("second", "completed", "second"),
        }

    async def test_lose_nothing_of_what_the_server_forgot(
        self, server: FragileServer, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        """A crash takes back what was committed asynchronously: here the last events of a run that knows them."""
        run = await rooms.begin()
        say(run, "a", "b")
        await run.writer.flush()
        await superuser.execute("delete from events where root_task_id = $1 and seq > 2", run.task.task_id)
        say(run, "c")
        await run.writer.flush()
        await superuser.execute("delete from events where root_task_id = $1 and seq > 3", run.task.task_id)
        await rooms.complete(run)
        entries = await rooms.entries(run.task.task_id)
        assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
        assert texts_of(entries) == ["a", "b", "c"]


class TestAnotherAttempt:
    """Here the database cannot be reached, elsewhere it can."""

    @pytest.fixture
    async def relay(self, server: FragileServer) -> AsyncIterator[LosingRelay]:
        async with losing_relay(server.server) as opened:
            yield opened

    @pytest.fixture
    async def here(self, relay: LosingRelay, tmp_path: Path) -> AsyncIterator[Rooms]:
        async with spooling_rooms(relay.url(), tmp_path / "here") as opened:
            yield opened

    async def test_that_has_not_ended_is_fenced_off_by_an_answer_that_was_shown(
        self, relay: LosingRelay, here: Rooms, rooms: Rooms
    ) -> None:
        run = await here.begin()
        say(run, "ours 1")
        await run.writer.flush()
        await here.expire(run)
        follower = asyncio.create_task(here.entries(run.task.task_id))
        with relay.away():
            say(run, "ours 2", "ours 3", "ours 4")
            await here.complete(run, "ours")
            await run.writer.aclose()
            shown = await follower
            theirs = await rooms.resume(run.task.task_id)
            say(theirs, "theirs")
            await theirs.writer.flush()
        await settled(here)
        say(theirs, "never seen")
        with pytest.raises(StaleAttempt):
            await theirs.writer.flush()
        entries = await rooms.entries(run.task.task_id)
        task = await rooms.registry.get_task(LAN, run.task.task_id)
        assert [entry.seq for entry in shown] == list(range(1, 7))
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert [entry.event.type for entry in entries if entry.is_terminal] == ["final_report"]
        assert task.status is TaskStatus.COMPLETED and task.attempt == 3 and (task.result or {})["answer"] == "ours"
        [restart] = [entry.seq for entry in entries if entry.event == Redispatched(attempt=3)]
        assert texts_of(entries[:restart]) == ["ours 1", "theirs"]
        assert texts_of(entries[restart:]) == ["ours 1", "ours 2", "ours 3", "ours 4"]
        assert restart > shown[-2].seq, "who saw a part of it here and comes back finds the restart behind that"

    async def test_that_has_ended_keeps_its_answer_and_ours_is_late(
        self, relay: LosingRelay, here: Rooms, rooms: Rooms
    ) -> None:
        run = await here.begin()
        await here.expire(run)
        with relay.away():
            await here.complete(run, "ours")
            await rooms.complete(await rooms.resume(run.task.task_id), "theirs")
        await settled(here)
        entries = await here.entries(run.task.task_id)
        task = await here.registry.get_task(LAN, run.task.task_id)
        assert [entry.event.type for entry in entries] == ["task_available", "final_report"]
        assert (task.result or {})["answer"] == "theirs"
        [late] = task.metadata["late_answers"]
        assert (late["attempt"], late["result"]["answer"]) == (1, "ours")

    async def test_does_the_work_when_ours_had_no_end(self, relay: LosingRelay, here: Rooms, rooms: Rooms) -> None:
        run = await here.begin()
        await here.expire(run)
        with relay.away():
            say(run, "ours")
            await run.writer.flush()
            theirs = await rooms.resume(run.task.task_id)
        await settled(here)
        with pytest.raises(StaleAttempt):
            await here.complete(run)
        await run.writer.aclose()
        await rooms.complete(theirs)
        assert texts_of(await rooms.entries(run.task.task_id)) == []

    async def test_of_an_erased_run_leaves_no_trace(
        self, relay: LosingRelay, here: Rooms, rooms: Rooms, tmp_path: Path
    ) -> None:
        run = await here.begin()
        with relay.away():
            say(run, "secret")
            await run.writer.flush()
            async with rooms.database.principal_scope(LAN) as tx:
                await tx.driver.execute("delete from sessions where session_id = $1", run.task.session_id)
        await settled(here)
        with pytest.raises(StaleAttempt):
            await here.complete(run)
        await run.writer.aclose()
        assert not list((tmp_path / "here" / "spool").iterdir())

    async def test_a_cancelled_run_stays_cancelled(self, relay: LosingRelay, here: Rooms, rooms: Rooms) -> None:
        run = await here.begin()
        with relay.away():
            await here.complete(run, "too late")
            await rooms.registry.cancel(LAN, run.task.task_id)
        await settled(here)
        entries = await rooms.entries(run.task.task_id)
        assert [entry.event.type for entry in entries] == ["task_available", "task_cancelled"]


class TestUnknownCommits:
    @pytest.mark.parametrize("lost", [1, 2, 3])
    async def test_are_resolved_by_looking(
        self, server: FragileServer, superuser: "asyncpg.Connection[asyncpg.Record]", tmp_path: Path, lost: int
    ) -> None:
        """The reply of a commit is lost: of a batch, of the end of the run, of bringing it in."""
        async with losing_relay(server.server) as relay, spooling_rooms(relay.url(), tmp_path) as rooms:
            for at in range(3):
                run = await rooms.begin()
                say(run, "a", "b")
                if at == 0:
                    relay.lose_next(lost)
                await run.writer.flush()
                say(run, "c")
                if at == 1:
                    relay.lose_next(lost)
                await rooms.complete(run)
                await run.writer.aclose()
                await settled(rooms)
                entries = await rooms.entries(run.task.task_id)
                assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
                assert texts_of(entries) == ["a", "b", "c"]
                assert (await rooms.registry.get_task(LAN, run.task.task_id)).metadata.get("late_answers") is None
            assert relay.lost == 2 * lost


class TestBounds:
    @pytest.mark.parametrize(
        "limits", [SpoolLimits(max_entries=2), SpoolLimits(max_bytes=3_000), SpoolLimits(tenant_max_bytes=3_000)]
    )
    async def test_beyond_them_a_run_fails_honestly_and_nothing_of_it_waits(
        self, server: FragileServer, tmp_path: Path, limits: SpoolLimits
    ) -> None:
        async with spooling_rooms(server.app_url, tmp_path, limits=limits, lease_seconds=0.2) as rooms:
            run = await rooms.begin()
            follower = asyncio.create_task(rooms.entries(run.task.task_id))
            async with server.away():
                with pytest.raises(AppError) as refusal:
                    for _ in range(4):
                        say(run, "x" * 900)
                        await run.writer.flush()
                assert (refusal.value.code, refusal.value.status) == (ErrorCode.DATABASE_UNAVAILABLE, 503)
                with pytest.raises(AppError):
                    await rooms.complete(run)
                with pytest.raises(AppError):
                    await follower
                await run.writer.aclose()
                assert waiting_in(tmp_path / "spool").entries == 0
            await settled(rooms)
            again = await rooms.resume(run.task.task_id)
            await rooms.complete(again)
            entries = await rooms.entries(run.task.task_id)
            assert [entry.event.type for entry in entries] == ["task_available", "final_report"]

    async def test_one_tenant_does_not_take_the_room_of_another(self, server: FragileServer, tmp_path: Path) -> None:
        async with spooling_rooms(server.app_url, tmp_path, limits=SpoolLimits(tenant_max_bytes=4_000)) as rooms:
            greedy, modest = await rooms.begin(), await rooms.begin(JANE)
            async with server.away():
                with pytest.raises(AppError):
                    for _ in range(9):
                        say(greedy, "x" * 900)
                        await greedy.writer.flush()
                await rooms.complete(modest)
                await greedy.writer.aclose()
            await settled(rooms)
            assert (await rooms.entries(modest.task.task_id, JANE))[-1].is_terminal


class TestReadiness:
    async def test_the_first_write_succeeds_soon_after_the_server_accepts_connections(
        self, server: FragileServer, rooms: Rooms
    ) -> None:
        run = await rooms.begin()
        async with server.away():
            say(run, "away")
            await run.writer.flush()
        clock = asyncio.get_running_loop().time()
        await settled(rooms)
        assert asyncio.get_running_loop().time() - clock < limit(5)
        await rooms.complete(run)
