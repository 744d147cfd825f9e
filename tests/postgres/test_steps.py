"""Steps of remote agents: handed out once, worked on by one at a time, void as soon as their leader is."""

import asyncio
import json
from uuid import UUID

import asyncpg
import pytest

from app.domain.principal import Principal
from app.domain.tasks import HandedStep, NewTask, PrivateContext, TaskStatus
from app.errors import StaleAttempt
from app.events import AgentResult, TextDelta
from app.journal import Journal
from app.storage import steps, tasks
from app.storage.database import Database
from app.tasks.leases import StepNotifications
from app.tasks.run import TaskRun
from tests.factories import principal
from tests.postgres.running import JANE, LAN, MINH, Rooms, rooms_on, step_of

BOSS = principal(user="boss", department="general", roles=("admin",))
ORDER = json.dumps({"what": "xin chào"})
CONTEXT = PrivateContext(message="m", queries=((1, "q"),), refined_query="q", language="vi")


@pytest.fixture(scope="module")
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


async def registered(rooms: Rooms, leader: TaskRun) -> NewTask:
    """A step of the run, with its agent's context."""
    step = step_of(leader.task).model_copy(update={"request": {"context_hash": CONTEXT.context_hash}})
    await rooms.registry.steps.register(leader, [step], {"hr": [CONTEXT]})
    return step


async def handed_out(rooms: Rooms, leader: TaskRun, seconds: float = 30) -> UUID:
    step = await registered(rooms, leader)
    await rooms.registry.steps.hand_out(leader, step.task_id, "hr", ORDER, seconds)
    return step.task_id


async def taken(rooms: Rooms, step_id: UUID) -> HandedStep:
    step = await rooms.registry.steps.take_up(LAN, step_id, "elsewhere")
    assert step is not None
    return step


async def begun(rooms: Rooms, step: HandedStep) -> TaskRun:
    journal = Journal(rooms.database, StepNotifications(rooms.bus))
    writer = await journal.writer(LAN, step.task)
    return TaskRun(LAN, step.task, step.attempt, writer)


async def finish(rooms: Rooms, run: TaskRun, outcome: str = "the outcome") -> None:
    last = AgentResult(task_id=run.task.task_id, agent="hr", node_id="hr#rag", status="completed", answer="12")
    await rooms.registry.steps.finish(
        run, TaskStatus.COMPLETED, result={"answer": "12"}, error_message=None, outcome=outcome, event=last
    )


async def let_lease_end(rooms: Rooms, step: HandedStep) -> None:
    await rooms.registry.release_lease(LAN, step.task.task_id, step.attempt)


class TestHandingOut:
    async def test_gives_a_worker_everything_but_more_rights(self, rooms: Rooms) -> None:
        leader = await rooms.begin()
        step = await taken(rooms, await handed_out(rooms, leader))
        assert (step.order, step.context, step.root_attempt) == (ORDER, CONTEXT, leader.attempt)
        assert (step.task.principal, step.task.root_task_id, step.attempt) == (LAN, leader.task.task_id, 1)
        assert 25 < step.seconds_left <= 30

    async def test_writes_order_and_job_together(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        step = await registered(rooms, leader := await rooms.begin())
        await superuser.execute("alter table pgqueuer rename to pgqueuer_away")
        try:
            with pytest.raises(asyncpg.UndefinedTableError):
                await rooms.registry.steps.hand_out(leader, step.task_id, "hr", ORDER, 30)
        finally:
            await superuser.execute("alter table pgqueuer_away rename to pgqueuer")
        assert await rooms.registry.steps.take_up(LAN, step.task_id, "elsewhere") is None
        job = await rooms.registry.steps.hand_out(leader, step.task_id, "hr", ORDER, 30)
        assert await superuser.fetchval("select entrypoint from pgqueuer where id = $1", job) == "step:hr"

    async def test_is_done_once(self, rooms: Rooms) -> None:
        step_id = await handed_out(rooms, leader := await rooms.begin())
        await taken(rooms, step_id)
        with pytest.raises(StaleAttempt):
            await rooms.registry.steps.hand_out(leader, step_id, "hr", ORDER, 30)

    async def test_is_refused_to_a_leader_that_lost_its_run(self, rooms: Rooms) -> None:
        step = await registered(rooms, leader := await rooms.begin())
        await rooms.expire(leader)
        await rooms.resume(leader.task.task_id)
        with pytest.raises(StaleAttempt):
            await rooms.registry.steps.hand_out(leader, step.task_id, "hr", ORDER, 30)


class TestTaking:
    async def test_gives_a_step_to_exactly_one_of_many(self, rooms: Rooms) -> None:
        step_id = await handed_out(rooms, await rooms.begin())
        claims = await asyncio.gather(
            *(rooms.registry.steps.take_up(LAN, step_id, f"worker-{number}") for number in range(10))
        )
        assert [step.attempt for step in claims if step is not None] == [1]

    async def test_waits_for_the_order(self, rooms: Rooms) -> None:
        step = await registered(rooms, await rooms.begin())
        assert await rooms.registry.steps.take_up(LAN, step.task_id, "elsewhere") is None

    async def test_is_not_for_the_leaders_own_process(self, rooms: Rooms) -> None:
        step_id = await handed_out(rooms, await rooms.begin())
        assert await rooms.registry.steps.claim(LAN, step_id, "hr") is None

    @pytest.mark.parametrize("who", [MINH, JANE, BOSS], ids=lambda who: who.name)
    async def test_is_refused_to_everybody_else(self, rooms: Rooms, who: Principal) -> None:
        step_id = await handed_out(rooms, await rooms.begin())
        assert await rooms.registry.steps.take_up(who, step_id, "thief") is None

    async def test_is_over_with_the_time_of_the_step(self, rooms: Rooms) -> None:
        step_id = await handed_out(rooms, await rooms.begin(), seconds=0.05)
        await asyncio.sleep(0.1)
        assert await rooms.registry.steps.take_up(LAN, step_id, "late") is None

    async def test_is_over_with_the_run(self, rooms: Rooms) -> None:
        for end in (rooms.complete, lambda run: rooms.registry.cancel(LAN, run.task.task_id)):
            leader = await rooms.begin()
            step_id = await handed_out(rooms, leader)
            await end(leader)
            assert await rooms.registry.steps.take_up(LAN, step_id, "late") is None
            assert (await rooms.registry.get_task(LAN, step_id)).status is TaskStatus.CANCELLED

    async def test_is_over_when_another_attempt_leads_the_run(self, rooms: Rooms) -> None:
        leader = await rooms.begin()
        step_id = await handed_out(rooms, leader)
        await rooms.expire(leader)
        await rooms.resume(leader.task.task_id)
        assert await rooms.registry.steps.take_up(LAN, step_id, "late") is None

    async def test_ends_after_too_many_attempts(self, database: Database) -> None:
        rooms = rooms_on(database, max_redispatches=2)
        step_id = await handed_out(rooms, await rooms.begin())
        for attempt in (1, 2, 3):
            step = await taken(rooms, step_id)
            assert step.attempt == attempt
            await let_lease_end(rooms, step)
        assert await rooms.registry.steps.take_up(LAN, step_id, "late") is None


class TestHolding:
    async def test_lasts_as_long_as_the_lease_is_renewed(self, database: Database) -> None:
        rooms = rooms_on(database, lease_seconds=0.4)
        leader = await rooms_on(database).begin()
        step = await taken(rooms, await handed_out(rooms, leader))
        for _ in range(4):
            await asyncio.sleep(0.2)
            assert await rooms.registry.renew_lease(LAN, step.task.task_id, step.attempt)
        assert not (await rooms.registry.steps.look(leader, step.task.task_id, 0)).is_silent
        await asyncio.sleep(0.5)
        assert (await rooms.registry.steps.look(leader, step.task.task_id, 0)).is_silent

    async def test_ends_with_the_leaders_attempt(self, rooms: Rooms) -> None:
        leader = await rooms.begin()
        step = await taken(rooms, await handed_out(rooms, leader))
        await rooms.expire(leader)
        await rooms.resume(leader.task.task_id)
        assert not await rooms.registry.renew_lease(LAN, step.task.task_id, step.attempt)

    async def test_of_steps_in_the_leaders_process_lasts_with_the_run(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        step = await registered(rooms, leader := await rooms.begin())
        assert await rooms.registry.steps.claim(LAN, step.task_id, "hr")
        query = "select lease_until from tasks where task_id = $1"
        before = await superuser.fetchval(query, step.task_id)
        assert await rooms.registry.renew_lease(LAN, leader.task.task_id, leader.attempt)
        assert await superuser.fetchval(query, step.task_id) > before


class TestFinishing:
    async def test_brings_events_result_and_outcome_in_one_commit(self, rooms: Rooms) -> None:
        leader = await rooms.begin()
        step = await taken(rooms, await handed_out(rooms, leader))
        run = await begun(rooms, step)
        run.writer.append(TextDelta(text="on the way"))
        await finish(rooms, run)
        sight = await rooms.registry.steps.look(leader, step.task.task_id, 0)
        assert (sight.status, sight.attempt) == (TaskStatus.COMPLETED, 1)
        assert [(seq, by, event["type"]) for seq, by, event in sight.entries] == [
            (1, 1, "text_delta"), (2, 1, "agent_result"),
        ]  # fmt: skip
        assert [seq for seq, *_ in (await rooms.registry.steps.look(leader, step.task.task_id, 1)).entries] == [2]
        assert (await rooms.registry.get_task(LAN, step.task.task_id)).result == {"answer": "12"}
        assert await rooms.registry.steps.collect(leader, step.task.task_id) == "the outcome"
        assert await rooms.registry.steps.collect(leader, step.task.task_id) is None

    async def test_is_refused_to_an_attempt_that_was_replaced(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        leader = await rooms.begin()
        first = await taken(rooms, await handed_out(rooms, leader))
        slow = await begun(rooms, first)
        await let_lease_end(rooms, first)
        second = await taken(rooms, first.task.task_id)
        with pytest.raises(StaleAttempt):
            await finish(rooms, slow, "late")
        await finish(rooms, await begun(rooms, second), "in time")
        with pytest.raises(StaleAttempt):
            await finish(rooms, slow, "later")
        assert await rooms.registry.steps.collect(leader, first.task.task_id) == "in time"
        late = "select (metadata ->> 'late_results')::int from tasks where task_id = $1"
        assert await superuser.fetchval(late, first.task.task_id) == 2

    async def test_is_refused_when_the_leader_gave_up(self, rooms: Rooms) -> None:
        leader = await rooms.begin()
        step = await taken(rooms, await handed_out(rooms, leader))
        assert await rooms.registry.steps.give_up(leader, step.task.task_id, [], "too late")
        assert not await rooms.registry.steps.give_up(leader, step.task.task_id, [], "too late")
        with pytest.raises(StaleAttempt):
            await finish(rooms, await begun(rooms, step))
        assert (await rooms.registry.get_task(LAN, step.task.task_id)).status is TaskStatus.FAILED


class TestWhatStays:
    @pytest.mark.parametrize("end", ["collect", "give up", "complete", "cancel", "erase"])
    async def test_is_nothing_that_was_handed_over(
        self, rooms: Rooms, end: str, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        leader = await rooms.begin()
        step_id = await handed_out(rooms, leader)
        if end in ("collect", "complete"):
            await finish(rooms, await begun(rooms, await taken(rooms, step_id)))
        match end:
            case "collect":
                await rooms.registry.steps.collect(leader, step_id)
            case "give up":
                await rooms.registry.steps.give_up(leader, step_id, [], "nobody took it")
            case "complete":
                await rooms.complete(leader)
            case "cancel":
                await rooms.registry.cancel(LAN, leader.task.task_id)
            case _:
                await superuser.execute("delete from sessions where session_id = $1", leader.task.session_id)
        assert await superuser.fetchval("select count(*) from handoffs where task_id = $1", step_id) == 0

    async def test_is_no_job_of_a_step_nobody_took(
        self, rooms: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        step = await registered(rooms, leader := await rooms.begin())
        job = await rooms.registry.steps.hand_out(leader, step.task_id, "hr", ORDER, 30)
        assert await rooms.registry.steps.give_up(leader, step.task_id, [job], "nobody took it")
        assert await superuser.fetchval("select count(*) from pgqueuer where id = $1", job) == 0
        assert (await rooms.registry.get_task(LAN, step.task_id)).status is TaskStatus.CANCELLED

    async def test_is_seen_by_its_owner_alone(self, rooms: Rooms, database: Database) -> None:
        step_id = await handed_out(rooms, await rooms.begin())
        for who, seen in ((LAN, 1), (MINH, 0), (JANE, 0), (BOSS, 0)):
            async with database.principal_scope(who) as tx:
                found = await tx.driver.fetchval("select count(*) from handoffs where task_id = $1", step_id)
            assert found == seen


class TestAtOnce:
    async def test_finishing_a_step_and_cancelling_its_run_never_wait_for_each_other(
        self, rooms: Rooms, database: Database, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        """Both lock the step before what was handed out for it: here the one comes when the other is half way."""
        leader = await rooms.begin()
        step_id = (await taken(rooms, await handed_out(rooms, leader))).task.task_id
        waits = "select exists (select from pg_locks where not granted)"
        async with database.principal_scope(LAN) as tx, asyncio.timeout(10):
            assert await tasks.conclude(tx, step_id, 1, TaskStatus.COMPLETED, result={}, error_message=None)
            cancelling = asyncio.create_task(rooms.registry.cancel(LAN, leader.task.task_id))
            while not await superuser.fetchval(waits):  # noqa: ASYNC110 - the state is elsewhere
                await asyncio.sleep(0.01)
            await steps.bring_back(tx, step_id, "the outcome")
        assert (await cancelling).status is TaskStatus.CANCELLED
        assert (await rooms.registry.get_task(LAN, step_id)).status is TaskStatus.COMPLETED
        assert await superuser.fetchval("select count(*) from handoffs where task_id = $1", step_id) == 0
