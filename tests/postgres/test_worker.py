"""The worker: every registered task ends, once, whatever its handler or its process does."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from app.domain.tasks import TaskStatus
from app.errors import AppError, ErrorCode
from app.events import FinalReport, Redispatched, TaskFailed
from app.storage.database import Database
from app.tasks.run import TaskRun
from tests.limits import limit
from tests.nursery import Child, Nursery
from tests.postgres.running import JANE, LAN, Rooms, rooms_on, say, texts_of

LEASE_SECONDS = 1.5


@pytest.fixture
def rooms(database: Database) -> Rooms:
    return rooms_on(database, LEASE_SECONDS)


@asynccontextmanager
async def worker_process(nursery: Nursery, url: str, patience_seconds: float) -> AsyncIterator[Child]:
    """A worker to be killed; it takes `patience_seconds` for a run."""
    arguments = (url, str(LEASE_SECONDS), str(patience_seconds))
    async with nursery.running("tests.postgres.worker_process", *arguments) as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield process


class TestRunning:
    async def test_runs_each_task_as_the_person_who_registered_it(self, rooms: Rooms) -> None:
        seen: list[object] = []

        async def handle(run: TaskRun) -> None:
            seen.append(run.principal)
            await rooms.complete(run)

        async with rooms.working({"chat": handle}), asyncio.timeout(10):
            narrowed = LAN.narrowed(scopes=["public"], department="hr")
            for who in (LAN, JANE, narrowed):
                await rooms.entries((await rooms.register(who)).task_id, who)
        assert seen == [LAN, JANE, narrowed]

    async def test_starts_soon_after_the_task_was_registered(self, rooms: Rooms) -> None:
        async with rooms.working({"chat": rooms.complete}), asyncio.timeout(10):
            await rooms.entries((await rooms.register()).task_id)
            clock = asyncio.get_running_loop().time()
            await rooms.entries((await rooms.register()).task_id)
            assert asyncio.get_running_loop().time() - clock < limit(0.4)

    async def test_runs_many_tasks_side_by_side(self, rooms: Rooms) -> None:
        together = asyncio.Barrier(8)

        async def handle(run: TaskRun) -> None:
            await together.wait()
            await rooms.complete(run)

        async with rooms.working({"chat": handle}), asyncio.timeout(15):
            tasks = [await rooms.register() for _ in range(8)]
            for task in tasks:
                assert (await rooms.entries(task.task_id))[-1].is_terminal

    async def test_keeps_its_lease_while_a_run_takes_long(self, rooms: Rooms) -> None:
        async def handle(run: TaskRun) -> None:
            await asyncio.sleep(LEASE_SECONDS * 1.6)
            await rooms.complete(run)

        async with rooms.working({"chat": handle}), rooms.working({"chat": handle}), asyncio.timeout(15):
            entries = await rooms.entries((await rooms.register()).task_id)
        assert [entry.event.type for entry in entries] == ["task_available", "final_report"]

    async def test_finishes_what_comes_after_the_answer(self, rooms: Rooms) -> None:
        """The task has ended then and is nobody's, but what is left (the session's memory) must not be lost."""
        finished = asyncio.Event()

        async def handle(run: TaskRun) -> None:
            await rooms.complete(run)
            await asyncio.sleep(LEASE_SECONDS)  # looked at and renewed several times
            finished.set()

        async with rooms.working({"chat": handle}), asyncio.timeout(15):
            await rooms.entries((await rooms.register()).task_id)
            await finished.wait()


class TestFailing:
    async def _ending_of(self, rooms: Rooms, error: Exception | None) -> TaskFailed:
        async def handle(run: TaskRun) -> None:
            say(run, "so far")
            if error is not None:
                raise error

        async with rooms.working({"chat": handle}), asyncio.timeout(10):
            task = await rooms.register()
            entries = await rooms.entries(task.task_id)
            assert (await rooms.registry.get_task(LAN, task.task_id)).status is TaskStatus.FAILED
            assert [entry.event.type for entry in entries] == ["task_available", "text_delta", "task_failed"]
            assert isinstance(entries[-1].event, TaskFailed)
            # It lives on.
            again = await rooms.entries((await rooms.register()).task_id)
            assert again[-1].event.type == "task_failed"
        return entries[-1].event

    async def test_a_bug_ends_the_run_with_internal_and_tells_nothing_of_itself(self, rooms: Rooms) -> None:
        event = await self._ending_of(rooms, KeyError("secret text"))
        assert event.answer["error_code"] == "INTERNAL"
        assert "secret" not in str(event.answer)

    async def test_a_refusal_ends_the_run_with_its_code(self, rooms: Rooms) -> None:
        refusal = AppError(ErrorCode.PERMISSION_DENIED, "Not for you.", status=403)
        event = await self._ending_of(rooms, refusal)
        assert (event.answer["error_code"], event.answer["error_message"]) == ("PERMISSION_DENIED", "Not for you.")

    async def test_a_handler_that_forgets_to_end_is_a_bug(self, rooms: Rooms) -> None:
        assert (await self._ending_of(rooms, None)).answer["error_code"] == "INTERNAL"

    async def test_a_kind_without_handler_fails(self, rooms: Rooms) -> None:
        async with rooms.working({}), asyncio.timeout(10):
            [*_, last] = await rooms.entries((await rooms.register()).task_id)
        assert last.event.type == "task_failed"

    async def test_an_overdue_run_is_not_started(self, rooms: Rooms) -> None:
        """As when the service was away for a day."""
        async with rooms.working({"chat": rooms.complete}), asyncio.timeout(10):
            task = await rooms.register(deadline=datetime.now(UTC) - timedelta(seconds=1))
            [*_, last] = await rooms.entries(task.task_id)
        assert isinstance(last.event, TaskFailed)
        assert last.event.answer["error_code"] == "RUN_DEADLINE_EXCEEDED"

    async def test_gives_up_after_too_many_attempts(self, database: Database) -> None:
        rooms = rooms_on(database, lease_seconds=0.4, max_redispatches=2)
        started: list[int] = []

        async def lose_it(run: TaskRun) -> None:
            started.append(run.attempt)
            raise AppError(ErrorCode.DATABASE_UNAVAILABLE, "away", status=503)

        task = await rooms.register()
        for _ in range(3):
            claimed = await rooms.registry.claim_task(LAN, task.task_id, "dead worker")
            assert claimed is not None
            await rooms.registry.release_lease(LAN, task.task_id, claimed.attempt)
        async with rooms.working({"chat": lose_it}), asyncio.timeout(15):
            entries = await rooms.entries(task.task_id)
        assert started == []
        assert [entry.event.type for entry in entries] == ["task_available", "redispatched", "task_failed"]


class TestCancelling:
    async def test_stops_the_handler_at_once(self, rooms: Rooms) -> None:
        stopped = asyncio.Event()
        begun = asyncio.Event()

        async def handle(run: TaskRun) -> None:
            begun.set()
            try:
                await asyncio.sleep(30)
            finally:
                stopped.set()

        async with rooms.working({"chat": handle}), asyncio.timeout(10):
            task = await rooms.register()
            await begun.wait()
            await rooms.registry.cancel(LAN, task.task_id)
            async with asyncio.timeout(0.4):
                await stopped.wait()
        entries = await rooms.entries(task.task_id)
        assert [entry.event.type for entry in entries] == ["task_available", "task_cancelled"]

    async def test_stops_the_handler_without_a_hint_when_its_lease_is_renewed(self, database: Database) -> None:
        rooms, elsewhere = rooms_on(database, 0.6), rooms_on(database)
        begun, stopped = asyncio.Event(), asyncio.Event()

        async def handle(run: TaskRun) -> None:
            begun.set()
            try:
                await asyncio.sleep(30)
            finally:
                stopped.set()

        async with rooms.working({"chat": handle}), asyncio.timeout(10):
            task = await rooms.register()
            await begun.wait()
            await elsewhere.registry.cancel(LAN, task.task_id)
            await stopped.wait()


class TestStopping:
    async def test_gives_an_unfinished_run_to_the_next_worker(self, rooms: Rooms) -> None:
        begun = asyncio.Event()

        async def never(run: TaskRun) -> None:
            say(run, "half")
            begun.set()
            await asyncio.sleep(30)

        async with rooms.working({"chat": never}) as worker, asyncio.timeout(10):
            task = await rooms.register()
            await begun.wait()
            await worker.stop(grace_seconds=0.05)
        async with rooms.working({"chat": rooms.complete}), asyncio.timeout(10):
            entries = await rooms.entries(task.task_id)
        assert [entry.event.type for entry in entries] == [
            "task_available", "text_delta", "redispatched", "final_report",
        ]  # fmt: skip

    async def test_waits_for_a_run_that_is_nearly_done(self, rooms: Rooms) -> None:
        begun = asyncio.Event()

        async def soon(run: TaskRun) -> None:
            begun.set()
            await asyncio.sleep(0.2)
            await rooms.complete(run)

        async with rooms.working({"chat": soon}) as worker, asyncio.timeout(10):
            task = await rooms.register()
            await begun.wait()
            await worker.stop(grace_seconds=5)
        assert (await rooms.registry.get_task(LAN, task.task_id)).status is TaskStatus.COMPLETED


class TestLosing:
    async def test_a_run_lost_to_a_worker_that_dies_is_taken_up_again(self, database: Database) -> None:
        """The job must outlive the worker that lost the run, or nobody would ever look again."""
        rooms = rooms_on(database, lease_seconds=0.5)

        async def handle(run: TaskRun) -> None:
            if run.attempt == 1:
                await rooms.expire(run)
                lost = await rooms.registry.claim_task(LAN, run.task.task_id, "soon dead")
                assert lost is not None and lost.attempt == 2
            await rooms.complete(run)

        async with rooms.working({"chat": handle}), asyncio.timeout(10):
            entries = await rooms.entries((await rooms.register()).task_id)
        assert entries[1].event == Redispatched(attempt=3)
        assert entries[-1].event.type == "final_report"


class TestCrashing:
    async def test_a_killed_run_starts_over_and_ends(self, rooms: Rooms, app_url: str, nursery: Nursery) -> None:
        async with asyncio.timeout(40):
            async with worker_process(nursery, app_url, patience_seconds=60) as first:
                task = await rooms.register()
                async for entry in rooms.journal.follow(LAN, task.task_id):
                    if texts_of([entry]) == ["begun 1"]:
                        first.send_signal(signal.SIGKILL)
                        break
                await first.wait()
            async with worker_process(nursery, app_url, patience_seconds=0):
                entries = await rooms.entries(task.task_id)
        assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
        assert texts_of(entries) == ["begun 1", "begun 2"]
        assert isinstance(entries[-1].event, FinalReport)
        assert entries[2].event == Redispatched(attempt=2)

    async def test_no_registered_task_is_lost_in_a_series_of_kills(
        self, rooms: Rooms, app_url: str, nursery: Nursery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        running = "select exists (select from tasks where task_id = any($1) and status = 'in_progress')"
        async with asyncio.timeout(60):
            tasks = [await rooms.register() for _ in range(12)]
            for _ in range(2):
                async with worker_process(nursery, app_url, patience_seconds=0.25) as worker:
                    registered = [task.task_id for task in tasks]
                    while not await superuser.fetchval(running, registered):  # noqa: ASYNC110 - the state is elsewhere
                        await asyncio.sleep(0.02)
                    worker.send_signal(signal.SIGKILL)
                tasks += [await rooms.register() for _ in range(4)]
            async with worker_process(nursery, app_url, patience_seconds=0):
                journals = [await rooms.entries(task.task_id) for task in tasks]
        for entries in journals:
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert [entry.event.type for entry in entries if entry.is_terminal] == ["final_report"]
        mine = [task.task_id for task in tasks]
        unfinished = "select count(*) from tasks where task_id = any($1) and status <> 'completed'"
        assert await superuser.fetchval(unfinished, mine) == 0
        assert any("redispatched" in {entry.event.type for entry in entries} for entries in journals)
