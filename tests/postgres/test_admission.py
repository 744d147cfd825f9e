"""Who is let in when much is going on: by person, tenant and service, and by how long one more would wait."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.storage.database import Database
from app.tasks.queue import CHAT, JobQueue
from app.tasks.registry import TaskRegistry
from app.trust.admission import Admission, RunLimits
from tests.factories import principal
from tests.postgres.running import Rooms, new_task, rooms_on

_people = count(1)
RoomsOf = Callable[..., Rooms]


def somebody(tenant: str = "acme") -> Principal:
    return principal(tenant, f"asker-{next(_people)}")


@pytest.fixture
async def limited(database: Database) -> RoomsOf:
    """Makes rooms of certain limits, on an empty queue."""
    async with database.principal_scope(somebody()) as tx:
        await tx.driver.execute("delete from pgqueuer")
        await tx.driver.execute("delete from pgqueuer_log")

    def made(**limits: Any) -> Rooms:
        rooms = rooms_on(database)
        rooms.refused = []  # type: ignore[attr-defined]
        admission = Admission(RunLimits(**limits), CHAT, rooms.refused.append)  # type: ignore[attr-defined]
        rooms.registry = TaskRegistry(
            database, rooms.journal, JobQueue(), lambda: datetime.now(UTC), admission=admission
        )
        return rooms

    return made


async def waiting(rooms: Rooms, jobs: int, priority: int = 0, status: str = "queued") -> None:
    """So many questions of others in the line."""
    async with rooms.database.principal_scope(somebody()) as tx:
        await tx.driver.execute(
            "insert into pgqueuer (priority, status, entrypoint, payload)"
            " select $2, $4::pgqueuer_status, $3, '{}' from generate_series(1, $1::int)",
            jobs, priority, CHAT, status,
        )  # fmt: skip


async def ended(rooms: Rooms, seconds: float, runs: int = 20) -> None:
    """So many runs have just taken so long."""
    async with rooms.database.principal_scope(somebody()) as tx:
        for status, ago in (("picked", seconds), ("successful", 0.0)):
            await tx.driver.execute(
                "insert into pgqueuer_log (job_id, status, priority, entrypoint, created)"
                " select 1000000 + n, $4::pgqueuer_status, 0, $3, now() - make_interval(secs => $2)"
                " from generate_series(1, $1::int) n",
                runs, ago, CHAT, status,
            )  # fmt: skip


async def refusal_of(rooms: Rooms, who: Principal, **changes: Any) -> AppError | None:
    try:
        await rooms.register(who, **changes)
    except AppError as refused:
        return refused
    return None


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


class TestTenant:
    async def test_has_so_many_open_runs_however_many_people_come_at_once(self, limited: RoomsOf) -> None:
        rooms = limited(per_tenant=5)
        told = await asyncio.gather(*(refusal_of(rooms, somebody()) for _ in range(25)))
        refused = [one for one in told if one is not None]
        assert len(refused) == 20 and told.count(None) == 5
        assert {(one.status, one.code) for one in refused} == {(429, ErrorCode.RATE_LIMITED)}
        assert all(one.retry_after_seconds for one in refused)
        assert rooms.refused == ["tenant"] * 20  # type: ignore[attr-defined]
        assert await refusal_of(rooms, somebody("globex")) is None


class TestService:
    async def test_that_is_full_says_so(self, limited: RoomsOf) -> None:
        rooms = limited(in_all=30)
        await waiting(rooms, 29)
        assert await refusal_of(rooms, somebody()) is None
        refused = await refusal_of(rooms, somebody("globex"))
        assert refused is not None and (refused.status, refused.code) == (503, ErrorCode.OVERLOADED)
        assert refused.retry_after_seconds

    async def test_counts_no_documents_and_survives_a_job_nobody_can_read(self, limited: RoomsOf) -> None:
        rooms = limited(in_all=3)
        for _ in range(4):
            await rooms.register(somebody(), kind="ingest")
        async with rooms.database.principal_scope(somebody()) as tx:
            for payload in (None, b"\xff\x00{"):
                await tx.driver.execute(
                    "insert into pgqueuer (priority, status, entrypoint, payload) values (0, 'queued', $1, $2)",
                    CHAT,
                    payload,
                )
        assert await refusal_of(rooms, somebody()) is None


class TestWaiting:
    async def test_longer_than_the_deadline_is_refused_at_once_and_leaves_nothing(self, limited: RoomsOf) -> None:
        rooms = limited(slots=10)
        await waiting(rooms, 400)
        await ended(rooms, 3.0)  # 400 × 3 s / 10 = 120 s
        who, task = somebody(), new_task("late", deadline=in_seconds(90))
        started = time.perf_counter()
        with pytest.raises(AppError) as refused:
            await rooms.registry.register_task(who, task, idempotency_key="k", request_hash="h")
        assert time.perf_counter() - started < 0.1 * 5  # 100 ms on a machine that is not shared
        assert (refused.value.status, refused.value.code) == (503, ErrorCode.OVERLOADED)
        assert 25 <= (refused.value.retry_after_seconds or 0) <= 35
        async with rooms.database.principal_scope(who) as tx:
            for table in ("tasks", "sessions", "idempotency_keys", "events"):
                assert await tx.driver.fetchval(f"select count(*) from {table} where user_id = $1", who.user_id) == 0
        assert await refusal_of(rooms, somebody(), deadline=in_seconds(300)) is None

    async def test_behind_a_crowds_second_questions_is_no_waiting(self, limited: RoomsOf) -> None:
        rooms = limited(slots=10)
        await waiting(rooms, 400, priority=-1_000)
        await ended(rooms, 3.0)
        assert await refusal_of(rooms, somebody(), deadline=in_seconds(90)) is None

    async def test_is_shorter_where_more_is_done_at_a_time(self, limited: RoomsOf) -> None:
        rooms = limited(slots=10)
        await waiting(rooms, 400)
        await waiting(rooms, 40, status="picked")
        await ended(rooms, 3.0)  # 400 × 3 s / 40 = 30 s
        assert await refusal_of(rooms, somebody(), deadline=in_seconds(90)) is None

    async def test_of_an_unknown_length_refuses_nobody(self, limited: RoomsOf) -> None:
        rooms = limited(slots=1)
        await waiting(rooms, 400)
        assert await refusal_of(rooms, somebody(), deadline=in_seconds(1)) is None

    async def test_is_bounded_by_the_operator_too(self, limited: RoomsOf) -> None:
        rooms = limited(slots=10, wait_seconds=20)
        await waiting(rooms, 100)
        await ended(rooms, 3.0)
        refused = await refusal_of(rooms, somebody(), deadline=in_seconds(90))
        assert refused is not None and refused.code is ErrorCode.OVERLOADED


class TestTurns:
    async def test_one_persons_crowd_leaves_connections_to_others(self) -> None:
        admission, crowd, other = Admission(RunLimits(), CHAT), somebody(), somebody()
        inside, most, leave = 0, 0, asyncio.Event()

        async def one() -> None:
            nonlocal inside, most
            async with admission.turn(crowd):
                inside, most = inside + 1, max(most, inside + 1)
                await leave.wait()
                inside -= 1

        work = [asyncio.create_task(one()) for _ in range(20)]
        await asyncio.sleep(0)
        async with asyncio.timeout(1), admission.turn(other):
            assert inside == 2
        work[-1].cancel()
        leave.set()
        await asyncio.gather(*work, return_exceptions=True)
        assert most == 2 and not len(admission._turns)

    async def test_a_repeated_request_is_answered_though_nobody_else_gets_in(self, limited: RoomsOf) -> None:
        rooms, who, task = limited(per_person=1, per_tenant=1), somebody(), new_task("kept", task_id=uuid4())
        told = await asyncio.gather(
            *(rooms.registry.register_task(who, task, idempotency_key="same", request_hash="h") for _ in range(6))
        )
        assert {one.task_id for one in told} == {task.task_id}
