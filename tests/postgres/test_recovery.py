"""Runs that lost their job are found, and a worker that hangs is noticed."""

import asyncio

import asyncpg
import pytest

from app.domain.tasks import TaskStatus
from app.storage.database import Database
from app.tasks.leases import Recovery
from app.tasks.queue import JobQueue
from app.tasks.run import TaskRun
from tests.factories import principal
from tests.postgres.running import JANE, LAN, Rooms, rooms_on

LEASE_SECONDS = 1.0


@pytest.fixture
def rooms(database: Database) -> Rooms:
    return rooms_on(database, LEASE_SECONDS)


@pytest.fixture
async def recovery(database: Database, superuser: "asyncpg.Connection[asyncpg.Record]") -> Recovery:
    """Over an empty queue."""
    await superuser.execute("delete from pgqueuer")
    await superuser.execute("delete from sessions")
    return Recovery(database, rooms_on(database).journal, JobQueue(), LEASE_SECONDS)


async def _forget_jobs(superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
    await superuser.execute("delete from pgqueuer")


class TestLostJobs:
    async def test_of_waiting_and_of_left_runs_are_written_again(
        self, rooms: Rooms, recovery: Recovery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        waiting, left = await rooms.register(JANE), await rooms.begin()
        await rooms.expire(left)
        await _forget_jobs(superuser)
        assert await recovery.recover() == 0  # a moment's grace
        await asyncio.sleep(1.2)
        assert await recovery.recover() == 2
        assert await recovery.recover() == 0
        async with rooms.working({"chat": rooms.complete}), asyncio.timeout(10):
            for task, who in ((waiting, JANE), (left.task, LAN)):
                assert (await rooms.entries(task.task_id, who))[-1].event.type == "final_report"

    async def test_are_found_by_any_worker(
        self, rooms: Rooms, recovery: Recovery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        async with asyncio.timeout(15):
            task = await rooms.register()
            await _forget_jobs(superuser)
            async with rooms.working({"chat": rooms.complete}):
                assert (await rooms.entries(task.task_id))[-1].event.type == "final_report"

    async def test_are_not_seen_where_there_are_none(
        self, rooms: Rooms, recovery: Recovery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        """Waiting with a job, running, ended, and a step."""
        waiting = await rooms.register()
        running, ended = await rooms.begin(), await rooms.begin()
        await rooms.complete(ended)
        await superuser.execute(
            "delete from pgqueuer where convert_from(payload, 'UTF8') not like $1", f"%{waiting.task_id}%"
        )
        await asyncio.sleep(1.2)
        assert await rooms.registry.renew_lease(LAN, running.task.task_id, running.attempt)
        assert await recovery.recover() == 0

    async def test_count_as_lost_when_their_worker_holds_them_and_does_nothing(
        self, rooms: Rooms, recovery: Recovery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        run = await rooms.begin()
        await superuser.execute("update pgqueuer set status = 'picked', heartbeat = now() + interval '1 minute'")
        await rooms.expire(run)
        await asyncio.sleep(1.2)
        assert await recovery.recover() == 0
        await superuser.execute("update tasks set lease_until = now() - interval '1 hour'")
        assert await recovery.recover() == 1

    async def test_are_looked_for_by_one_at_a_time(
        self, rooms: Rooms, recovery: Recovery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        await rooms.register()
        await _forget_jobs(superuser)
        await asyncio.sleep(1.2)
        found = await asyncio.gather(*(recovery.recover() for _ in range(6)))
        assert sorted(found) == [0, 0, 0, 0, 0, 1]


class TestWhoMayAsk:
    async def test_the_service_learns_ids_and_nobody_else_learns_anything(
        self, rooms: Rooms, recovery: Recovery, app_url: str, owner_url: str, maintenance_url: str,
        superuser: "asyncpg.Connection[asyncpg.Record]",
    ) -> None:  # fmt: skip
        task = await rooms.register(query="a secret question")
        await _forget_jobs(superuser)
        query = "select * from runs_without_job(interval '0', 10)"
        service, owner, operator = [await asyncpg.connect(url) for url in (app_url, owner_url, maintenance_url)]
        try:
            [found] = await service.fetch(query)
            assert dict(found) == {
                "tenant_id": LAN.tenant_id, "user_id": LAN.user_id, "task_id": task.task_id, "kind": "chat",
            }  # fmt: skip
            assert await service.fetch("select * from tasks") == []
            assert await owner.fetch("select * from tasks") == []
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await operator.fetch(query)
        finally:
            for connection in (service, owner, operator):
                await connection.close()

    async def test_only_about_attempts_that_are_named(self, rooms: Rooms, app_url: str) -> None:
        run, other = await rooms.begin(), await rooms.begin(principal(user="minh", department="it"))
        service = await asyncpg.connect(app_url)
        query = "select lost_attempts($1, $2, $3, $4)"
        try:
            held = [(run.principal, run.task.task_id, 1), (run.principal, other.task.task_id, 1),
                    (run.principal, run.task.task_id, 2)]  # fmt: skip
            lost = await service.fetch(
                query, [who.tenant_id for who, *_ in held], [who.user_id for who, *_ in held],
                [task_id for _, task_id, _ in held], [attempt for *_, attempt in held],
            )  # fmt: skip
        finally:
            await service.close()
        assert [row[0] for row in lost] == [other.task.task_id, run.task.task_id]


class TestHangingWorker:
    async def test_is_noticed_started_anew_and_given_up(self, rooms: Rooms, superuser_url: str) -> None:
        """Somebody locks the queue's table: the worker waits for ever."""
        locker = await asyncpg.connect(superuser_url)
        try:
            async with asyncio.timeout(30), rooms.working({"chat": rooms.complete}, silence_seconds=1.5) as worker:
                await _done(rooms)
                assert worker.is_well
                lock = locker.transaction()
                await lock.start()
                await locker.execute("lock table pgqueuer in access exclusive mode")
                await worker.beyond_help.wait()
                assert not worker.is_well
                await lock.rollback()
                await _done(rooms)
                while not worker.is_well:  # noqa: ASYNC110 - told by the next look
                    await asyncio.sleep(0.05)
        finally:
            await locker.close()

    async def test_lets_a_run_go_on_that_it_had_begun(self, rooms: Rooms, superuser_url: str) -> None:
        begun = asyncio.Event()

        async def handle(run: TaskRun) -> None:
            begun.set()
            await asyncio.sleep(3)
            await rooms.complete(run)

        locker = await asyncpg.connect(superuser_url)
        try:
            async with asyncio.timeout(40), rooms.working({"chat": handle}, silence_seconds=1) as worker:
                task = await rooms.register()
                await begun.wait()
                async with locker.transaction():
                    await locker.execute("lock table pgqueuer in access exclusive mode")
                    await worker.beyond_help.wait()
                assert (await rooms.entries(task.task_id))[-1].event.type == "final_report"
                found = await rooms.registry.get_task(LAN, task.task_id)
                assert (found.status, found.attempt) == (TaskStatus.COMPLETED, 1)
        finally:
            await locker.close()


async def _done(rooms: Rooms) -> None:
    """A question is answered."""
    assert (await rooms.entries((await rooms.register()).task_id))[-1].is_terminal
