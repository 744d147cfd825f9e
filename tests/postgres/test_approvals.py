"""A run that waits for a person: nobody works on it, nobody forgets it, and only its owner decides."""

import asyncio
from collections.abc import Awaitable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import uuid4

import asyncpg
import pytest

from app.domain.tasks import Task, TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import Interrupt, TaskCancelled, TextDelta
from app.storage.database import Database
from app.tasks.approvals import NOT_IN_TIME, REFUSED, Approvals, Decision, DeepStates
from app.tasks.leases import Recovery
from app.tasks.queue import JobQueue
from app.tasks.run import TaskRun
from tests.factories import principal
from tests.postgres.running import JANE, LAN, Rooms, new_task, rooms_on, say, texts_of

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LEASE_SECONDS = 1.0
PLAN = {"refined_query": "how much?", "tiers": 2}
YES, NO = Decision(approved=True), Decision(approved=False)


def decided(state: dict[str, Any], *, approved: bool, feedback: str = "") -> dict[str, Any]:
    """What a flow does with a decision, as far as it matters here."""
    if state.get("version") == "of old":
        raise ValueError("this state cannot be read")
    return {**state, "approved": approved} | ({"feedback": feedback} if feedback else {})


def clock() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def rooms(database: Database) -> Rooms:
    return rooms_on(database, LEASE_SECONDS)


@pytest.fixture
def states(rooms: Rooms) -> DeepStates:
    return DeepStates(rooms.database, rooms.journal, clock)


@pytest.fixture
def approvals(rooms: Rooms) -> Approvals:
    return Approvals(rooms.database, rooms.journal, JobQueue(), decided)


@pytest.fixture
async def recovery(rooms: Rooms, superuser: Superuser) -> Recovery:
    """Over an empty queue."""
    await superuser.execute("delete from pgqueuer")
    await superuser.execute("delete from sessions")
    return Recovery(rooms.database, rooms.journal, JobQueue(), LEASE_SECONDS)


async def parked(rooms: Rooms, states: DeepStates, **state: Any) -> TaskRun:
    """A run of Lan's that has planned and waits."""
    run = await rooms.begin()
    await states.park(run, {"step": 0} | state, PLAN)
    await run.writer.aclose()
    return run


async def task_of(rooms: Rooms, run: TaskRun) -> Task:
    return await rooms.registry.get_task(LAN, run.task.task_id)


class Flow:
    """Plans, waits, works: what it does follows from its state alone."""

    def __init__(self, rooms: Rooms, states: DeepStates):
        self.rooms, self.states = rooms, states
        self.attempts: list[int] = []

    async def __call__(self, run: TaskRun) -> None:
        self.attempts.append(run.attempt)
        state = await self.states.last(run) if run.attempt > 1 else None
        if state is not None and state.get("approved"):
            say(run, "worked")
            await self.rooms.complete(run, f"with {state['plan']}")
            return
        plan = f"plan {state['feedback']}" if state else "plan"
        say(run, plan)
        await self.states.park(run, {"plan": plan}, PLAN | {"name": plan})


class TestAParkedRun:
    async def test_is_pending_and_waits_for_its_owner(self, rooms: Rooms, states: DeepStates) -> None:
        run = await rooms.begin()
        say(run, "planned")
        await states.park(run, {}, PLAN)
        assert run.writer.has_ended
        task = await task_of(rooms, run)
        assert (task.status, task.waiting_for, task.attempt, task.parked_attempt) == ("pending", "approval", 1, 1)
        assert task.expires_at is not None and timedelta(hours=23) < task.expires_at - clock() < timedelta(hours=25)
        told = (await rooms.journal.read(LAN, run.task.task_id))[-1].event
        assert told == Interrupt(plan=PLAN, attempt=1, expires_at=task.expires_at)
        assert texts_of(await rooms.journal.read(LAN, run.task.task_id)) == ["planned"]

    async def test_cannot_be_claimed_or_written_to(self, rooms: Rooms, states: DeepStates) -> None:
        run = await parked(rooms, states)
        task_id = run.task.task_id
        assert await rooms.registry.claim_task(LAN, task_id, "somebody") is None
        assert await rooms.registry.lease_remaining(LAN, task_id) is None
        assert not await rooms.registry.renew_lease(LAN, task_id, 1)
        writer = await rooms.journal.writer(LAN, run.task)
        writer.append(TextDelta(text="late"))
        with pytest.raises(StaleAttempt):
            await writer.flush()
        with pytest.raises(StaleAttempt):
            await states.store(run, {"step": "late"})
        assert await states.last(run) == {"step": 0}

    async def test_is_not_parked_by_who_lost_it(self, rooms: Rooms, states: DeepStates) -> None:
        run = await rooms.begin()
        await rooms.expire(run)
        await rooms.resume(run.task.task_id)
        with pytest.raises(StaleAttempt):
            await states.park(run, {}, PLAN)
        assert (await task_of(rooms, run)).waiting_for is None

    async def test_is_left_alone_by_workers_and_recovery(
        self, rooms: Rooms, states: DeepStates, recovery: Recovery, superuser: Superuser
    ) -> None:
        flow = Flow(rooms, states)
        async with asyncio.timeout(20), rooms.working({"chat": flow}):
            task = await rooms.register()
            await rooms.journal.resting(LAN, task.task_id)
            await asyncio.sleep(2.5)  # several leases and looks of the recovery
            assert await superuser.fetchval("select count(*) from pgqueuer") == 0
        assert await recovery.recover() == 0
        assert await recovery.end_waiting() == 0
        assert flow.attempts == [1]

    async def test_can_be_cancelled(self, rooms: Rooms, states: DeepStates, superuser: Superuser) -> None:
        run = await parked(rooms, states)
        task = await rooms.registry.cancel(LAN, run.task.task_id)
        assert (task.status, task.waiting_for) == ("cancelled", None)
        assert (await rooms.entries(run.task.task_id))[-1].event.type == "task_cancelled"
        assert await superuser.fetchval("select count(*) from deep_states where task_id = $1", run.task.task_id) == 0

    async def test_keeps_its_followers_waiting(self, rooms: Rooms, states: DeepStates, approvals: Approvals) -> None:
        async with asyncio.timeout(20), rooms.working({"chat": Flow(rooms, states)}):
            task = await rooms.register()
            async with aclosing(rooms.journal.follow(LAN, task.task_id)) as following:
                told = [(await anext(following)).event.type for _ in range(3)]
                assert told == ["task_available", "text_delta", "interrupt"]
                coming = asyncio.ensure_future(anext(following))
                await asyncio.sleep(0.8)
                assert not coming.done()
                await approvals.decide(LAN, task.task_id, YES)
                told = [(await coming).event.type] + [entry.event.type async for entry in following]
                assert told == ["verification_done", "text_delta", "final_report"]


class TestDecisions:
    async def test_an_approved_plan_is_carried_out_once(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals, superuser: Superuser
    ) -> None:
        flow = Flow(rooms, states)
        async with asyncio.timeout(20), rooms.working({"chat": flow}):
            task = await rooms.register()
            waiting = await rooms.journal.resting(LAN, task.task_id)
            assert isinstance(waiting, Interrupt) and waiting.plan["name"] == "plan"
            await approvals.decide(LAN, task.task_id, YES)
            entries = await rooms.entries(task.task_id)
        assert [entry.event.type for entry in entries] == [
            "task_available", "text_delta", "interrupt", "verification_done", "text_delta", "final_report",
        ]  # fmt: skip
        assert [entry.seq for entry in entries] == list(range(1, 7))
        ended = await rooms.registry.get_task(LAN, task.task_id)
        assert (ended.status, (ended.result or {})["answer"]) == ("completed", "with plan")
        assert ended.metadata["approval"] == {"approved": True, "feedback": "", "attempt": 1}
        assert flow.attempts == [1, 2]
        assert await superuser.fetchval("select count(*) from deep_states where task_id = $1", task.task_id) == 0

    async def test_a_refused_plan_is_made_again_with_what_was_said(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals
    ) -> None:
        """More often than a run may be given out again when it is lost."""
        flow = Flow(rooms, states)
        async with asyncio.timeout(30), rooms.working({"chat": flow}):
            task = await rooms.register()
            for number in range(1, 7):
                waiting = await rooms.journal.resting(LAN, task.task_id)
                assert isinstance(waiting, Interrupt) and waiting.attempt == number
                await approvals.decide(LAN, task.task_id, Decision(approved=False, feedback=f"v{number}"))
            await rooms.journal.resting(LAN, task.task_id)
            await approvals.decide(LAN, task.task_id, YES)
            entries = await rooms.entries(task.task_id)
        assert texts_of(entries) == ["plan", *(f"plan v{number}" for number in range(1, 7)), "worked"]
        types = [entry.event.type for entry in entries]
        assert types.count("renavigate_request") == 6 and "redispatched" not in types

    async def test_a_plan_refused_without_a_word_ends_the_run(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals
    ) -> None:
        run = await parked(rooms, states)
        for _ in range(2):
            await approvals.decide(LAN, run.task.task_id, NO)
        assert (await rooms.entries(run.task.task_id))[-1].event == TaskCancelled(reason=REFUSED)
        task = await task_of(rooms, run)
        assert (task.status, task.error_message) == (TaskStatus.CANCELLED, REFUSED)

    async def test_the_same_again_changes_nothing_and_another_is_refused(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals, superuser: Superuser
    ) -> None:
        run = await parked(rooms, states)
        await superuser.execute("delete from pgqueuer")
        for one in (YES, YES, Decision(approved=True, attempt=1)):
            await approvals.decide(LAN, run.task.task_id, one)
        assert await superuser.fetchval("select count(*) from pgqueuer") == 1
        assert len(await rooms.journal.read(LAN, run.task.task_id)) == 3
        for other in (NO, Decision(approved=False, feedback="no"), Decision(approved=True, attempt=2)):
            await _refused(approvals.decide(LAN, run.task.task_id, other), ErrorCode.CONFLICT_IN_FLIGHT, 409)

    async def test_about_a_plan_that_was_made_again_does_not_count_for_the_next_one(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals
    ) -> None:
        first = await parked(rooms, states)
        await approvals.decide(LAN, first.task.task_id, Decision(approved=False, feedback="no", attempt=1))
        second = await rooms.resume(first.task.task_id)
        await states.park(second, {}, PLAN)
        await approvals.decide(LAN, first.task.task_id, Decision(approved=False, feedback="no", attempt=1))
        assert (await task_of(rooms, first)).waiting_for == "approval"
        late = Decision(approved=True, attempt=1)
        await _refused(approvals.decide(LAN, first.task.task_id, late), ErrorCode.CONFLICT_IN_FLIGHT, 409)
        await approvals.decide(LAN, first.task.task_id, Decision(approved=True, attempt=2))
        assert (await task_of(rooms, first)).waiting_for is None

    async def test_many_at_once_are_one(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals, superuser: Superuser
    ) -> None:
        run = await parked(rooms, states)
        await superuser.execute("delete from pgqueuer")
        again = Decision(approved=False, feedback="again")
        asked = (YES, again, NO) * 4
        done = await asyncio.gather(
            *(approvals.decide(LAN, run.task.task_id, one) for one in asked), return_exceptions=True
        )
        said = Decision.model_validate((await task_of(rooms, run)).metadata["approval"])
        for one, outcome in zip(asked, done, strict=True):
            assert (outcome is None) == ((one.approved, one.feedback) == (said.approved, said.feedback))
        assert await superuser.fetchval("select count(*) from pgqueuer") == (
            0 if said.feedback == "" and not said.approved else 1
        )

    async def test_are_the_owners_alone(self, rooms: Rooms, states: DeepStates, approvals: Approvals) -> None:
        run = await parked(rooms, states)
        boss = principal(user="boss", roles=("admin",))
        for other in (JANE, principal(user="minh"), boss):
            await _refused(approvals.decide(other, run.task.task_id, YES), ErrorCode.NOT_FOUND, 404)
        await _refused(approvals.decide(LAN, uuid4(), YES), ErrorCode.NOT_FOUND, 404)
        assert (await task_of(rooms, run)).waiting_for == "approval"

    async def test_are_refused_where_nothing_waits(self, rooms: Rooms, approvals: Approvals) -> None:
        waiting, running, ended = await rooms.register(), await rooms.begin(), await rooms.begin()
        await rooms.complete(ended)
        for task in (waiting, running.task, ended.task):
            for one in (YES, NO):
                await _refused(approvals.decide(LAN, task.task_id, one), ErrorCode.CONFLICT_IN_FLIGHT, 409)

    async def test_are_audited_without_a_word_of_theirs(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals, superuser: Superuser
    ) -> None:
        run, other = await parked(rooms, states), await parked(rooms, states)
        await approvals.decide(LAN, run.task.task_id, YES)
        await approvals.decide(LAN, other.task.task_id, Decision(approved=False, feedback="a secret"))
        rows = await superuser.fetch(
            "select user_id, action, details::text from audit where target = any ($1) and action like '%_plan'"
            " order by audit_id",
            [str(run.task.task_id), str(other.task.task_id)],
        )
        assert [tuple(row) for row in rows] == [
            (LAN.user_id, "approve_plan", '{"attempt": 1}'), (LAN.user_id, "refuse_plan", '{"attempt": 1}'),
        ]  # fmt: skip

    async def test_a_state_nobody_can_read_any_more_is_dropped_and_the_run_begins_anew(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals
    ) -> None:
        run = await parked(rooms, states, version="of old")
        await approvals.decide(LAN, run.task.task_id, YES)
        assert await states.last(await rooms.resume(run.task.task_id)) is None


class TestTime:
    async def test_stands_still_while_a_run_waits(
        self, rooms: Rooms, states: DeepStates, approvals: Approvals, superuser: Superuser
    ) -> None:
        deadline = clock() + timedelta(seconds=60)
        task = await rooms.registry.register_task(LAN, new_task(deadline=deadline))
        run = await rooms.resume(task.task_id)
        await states.park(run, {}, PLAN)
        await superuser.execute(
            "update tasks set updated_at = updated_at - interval '1 hour' where task_id = $1", task.task_id
        )
        await approvals.decide(LAN, task.task_id, YES)
        moved = (await task_of(rooms, run)).deadline
        assert moved is not None and timedelta(hours=1) <= moved - deadline < timedelta(hours=1, seconds=20)

    async def test_ends_the_wait(self, rooms: Rooms, recovery: Recovery, superuser: Superuser) -> None:
        hasty = DeepStates(rooms.database, rooms.journal, clock, approval_seconds=0.2)
        run = await parked(rooms, hasty)
        staying = await parked(rooms, DeepStates(rooms.database, rooms.journal, clock))
        assert await recovery.end_waiting() == 0
        await asyncio.sleep(0.3)
        assert await asyncio.gather(*(recovery.end_waiting() for _ in range(4))) in (
            [1, 0, 0, 0],
            [0, 1, 0, 0],
            [0, 0, 1, 0],
            [0, 0, 0, 1],
        )
        assert (await rooms.entries(run.task.task_id))[-1].event == TaskCancelled(reason=NOT_IN_TIME)
        assert (await task_of(rooms, staying)).waiting_for == "approval"
        assert await superuser.fetchval("select count(*) from deep_states where task_id = $1", run.task.task_id) == 0

    async def test_is_told_by_any_worker(self, rooms: Rooms) -> None:
        hasty = DeepStates(rooms.database, rooms.journal, clock, approval_seconds=0.2)
        async with asyncio.timeout(20), rooms.working({"chat": Flow(rooms, hasty)}):
            task = await rooms.register()
            assert (await rooms.entries(task.task_id))[-1].event == TaskCancelled(reason=NOT_IN_TIME)

    async def test_nobody_learns_more_than_ids_of_those_who_wait(
        self, rooms: Rooms, states: DeepStates, app_url: str, owner_url: str, maintenance_url: str, superuser: Superuser
    ) -> None:
        run = await parked(rooms, states)
        await superuser.execute("update tasks set expires_at = now() where task_id = $1", run.task.task_id)
        service, owner, operator = [await asyncpg.connect(url) for url in (app_url, owner_url, maintenance_url)]
        try:
            found = await service.fetch("select * from runs_past_waiting(10)")
            assert dict(next(row for row in found if row["task_id"] == run.task.task_id)) == {
                "tenant_id": LAN.tenant_id, "user_id": LAN.user_id, "task_id": run.task.task_id,
            }  # fmt: skip
            assert await owner.fetch("select * from deep_states") == []
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await operator.fetch("select state from deep_states")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await operator.fetch("select * from runs_past_waiting(10)")
        finally:
            for connection in (service, owner, operator):
                await connection.close()


async def _refused(asking: Awaitable[object], code: ErrorCode, status: int) -> None:
    with pytest.raises(AppError) as refused:
        await asking
    assert (refused.value.code, refused.value.status) == (code, status)
