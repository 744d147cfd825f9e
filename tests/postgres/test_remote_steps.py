"""A leader and the workers of a remote agent: the step ends, once, within its time, whatever those workers do.

Leaders and workers have buses of their own: nothing here is told but by the database.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import asyncpg
import pytest

from app.agents.step import StepError, StepOutcome
from app.bus import Method, Wanted
from app.domain.plan import ORCHESTRATOR
from app.domain.tasks import TaskStatus
from app.errors import StaleAttempt, ToolFailed
from app.events import AgentTask, RenavigateRequest
from app.storage.database import Database
from app.tasks.run import TaskRun
from app.tools.base import ToolCall
from tests.limits import limit
from tests.nursery import Child, Nursery
from tests.postgres.remote_steps import PLANNED, Scripted, elsewhere, leading, order_of, runner_of, taking
from tests.postgres.running import LAN, Rooms, rooms_on

LEASE_SECONDS = 1.0


@pytest.fixture
def here(database: Database) -> Rooms:
    return rooms_on(database, 30)


@pytest.fixture
def there(database: Database) -> Rooms:
    return rooms_on(database, LEASE_SECONDS)


@asynccontextmanager
async def worker_process(nursery: Nursery, url: str, patience_seconds: float) -> AsyncIterator[Child]:
    arguments = (url, str(LEASE_SECONDS), str(patience_seconds))
    async with nursery.running("tests.postgres.step_worker_process", *arguments) as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield process


async def begun(rooms: Rooms, step_id: object, superuser: "asyncpg.Connection[asyncpg.Record]", attempt: int) -> None:
    """Wait until an attempt at the step works."""
    query = "select exists (select from tasks where task_id = $1 and attempt = $2 and status = 'in_progress')"
    while not await superuser.fetchval(query, step_id, attempt):  # noqa: ASYNC110 - the state is elsewhere
        await asyncio.sleep(0.02)


async def told(rooms: Rooms, leader: TaskRun) -> list[str]:
    await leader.writer.flush()
    return [entry.event.type for entry in (await rooms.journal.read(LAN, leader.task.task_id))[1:]]


class TestDoing:
    async def test_ends_as_it_would_have_here(self, here: Rooms, there: Rooms) -> None:
        """The same outcome, the same events in the same order, the same row."""
        leader, local = await here.begin(), await here.begin()
        order, near = await order_of(here, leader), await order_of(here, local)
        async with asyncio.timeout(10), elsewhere(there, taking(0)):
            far_outcome = await leading(here).run(order)
        near_outcome = await runner_of(here, taking(0)).run(near)
        assert _steady(far_outcome) == _steady(near_outcome)
        assert far_outcome.result is not None and repr(far_outcome.result.value) == "{'b': 1, 'a': 2.0}"
        assert await told(here, leader) == await told(here, local)
        rows = [await here.registry.get_task(LAN, one.task_id) for one in (order, near)]
        assert {row.status for row in rows} == {TaskStatus.COMPLETED}
        far, beside = ({**(row.result or {}), "duration_ms": 0} for row in rows)
        assert far == beside

    async def test_acts_for_the_asker_with_the_context_of_the_step(self, here: Rooms, there: Rooms) -> None:
        tool = taking(0)
        async with asyncio.timeout(10), elsewhere(there, tool):
            await leading(here).run(await order_of(here, await here.begin()))
        [call] = tool.calls
        assert (call.principal, call.message, call.queries) == (LAN, "how late?", PLANNED.queries)

    async def test_is_told_while_it_goes_on(self, here: Rooms, there: Rooms) -> None:
        leader, tool = await here.begin(), taking(2)
        async with asyncio.timeout(10), elsewhere(there, tool):
            running = asyncio.create_task(leading(here).run(await order_of(here, leader)))
            await tool.begun.wait()
            await asyncio.sleep(0.7)
            assert await told(here, leader) == ["agent_task", "tool_request"]
            await running

    async def test_gives_signs_of_life_on_the_bus(self, here: Rooms, there: Rooms) -> None:
        leader, tool = await here.begin(), taking(1)
        order = await order_of(here, leader)
        async with asyncio.timeout(10), there.bus.subscribe(Wanted(topics=frozenset({"heartbeat"}))) as signs:
            async with elsewhere(there, tool):
                await leading(here).run(order)
            sign = await signs.next_within(0)
        assert sign is not None
        assert (sign.method, sign.from_agent, sign.to_agent) == (Method.HEARTBEAT, "hr", ORCHESTRATOR)
        assert (sign.root_task_id, sign.task_id, sign.attempt) == (leader.task.task_id, order.task_id, 1)

    async def test_tells_a_failure_as_such(self, here: Rooms, there: Rooms) -> None:
        async def refuse(call: ToolCall) -> str:
            raise ToolFailed("cannot")

        leader = await here.begin()
        async with asyncio.timeout(10), elsewhere(there, Scripted(refuse)):
            outcome = await leading(here).run(await order_of(here, leader))
        assert outcome.error == StepError("tool_failed", "cannot")
        assert await told(here, leader) == [
            "agent_task", "tool_request", "tool_response", "navigation_error", "agent_result",
        ]  # fmt: skip

    async def test_fails_when_the_order_cannot_be_read(
        self, here: Rooms, there: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        """As when the two machines run different versions."""
        leader = await here.begin()
        order = await order_of(here, leader)
        running = asyncio.create_task(leading(here).run(order))
        async with asyncio.timeout(10):
            broken = "update handoffs set task_order = '{}' where task_id = $1"
            while await superuser.execute(broken, order.task_id) == "UPDATE 0":  # noqa: ASYNC110 - the state is elsewhere
                await asyncio.sleep(0.01)
            async with elsewhere(there, taking(0)):
                outcome = await running
        assert outcome.error == StepError("exception", "Tool failed unexpectedly")

    async def test_keeps_to_the_limit_of_the_agent(self, here: Rooms, there: Rooms) -> None:
        """Over all workers."""
        running, most = 0, 0

        async def deed(call: ToolCall) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.2)
            running -= 1
            return "done"

        tool, leader = Scripted(deed), await here.begin()
        limits = {"hr": 1}
        one, two = (elsewhere(there, tool, step_limits=limits) for _ in range(2))
        async with asyncio.timeout(20), one, two:
            orders = [await order_of(here, leader) for _ in range(4)]
            outcomes = await asyncio.gather(*(leading(here).run(order) for order in orders))
        assert all(outcome.ok for outcome in outcomes)
        assert most == 1


class TestSilence:
    async def test_of_a_killed_worker_gives_the_step_to_another(
        self, here: Rooms, app_url: str, nursery: Nursery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        leader = await here.begin()
        order = await order_of(here, leader, seconds=30)
        running = asyncio.create_task(leading(here).run(order))
        async with asyncio.timeout(30):
            async with worker_process(nursery, app_url, 60) as first:
                await begun(here, order.task_id, superuser, 1)
                first.send_signal(signal.SIGKILL)
            clock = asyncio.get_running_loop().time()
            async with worker_process(nursery, app_url, 0):
                outcome = await running
        assert outcome.ok
        assert asyncio.get_running_loop().time() - clock < limit(LEASE_SECONDS + 10)
        await leader.writer.flush()
        events = [entry.event for entry in await here.journal.read(LAN, leader.task.task_id)]
        assert [event.attempt for event in events if isinstance(event, AgentTask)] == [1, 2]
        assert len([event for event in events if isinstance(event, RenavigateRequest)]) == 1

    async def test_of_a_paused_worker_too_and_its_late_result_is_refused(
        self, here: Rooms, app_url: str, nursery: Nursery, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        leader = await here.begin()
        order = await order_of(here, leader, seconds=30)
        running = asyncio.create_task(leading(here).run(order))
        late = "select (metadata ->> 'late_results')::int from tasks where task_id = $1"
        async with asyncio.timeout(30), worker_process(nursery, app_url, 1.0) as paused:
            await begun(here, order.task_id, superuser, 1)
            paused.send_signal(signal.SIGSTOP)
            async with worker_process(nursery, app_url, 0):
                outcome = await running
            before = await here.registry.get_task(LAN, order.task_id)
            paused.send_signal(signal.SIGCONT)
            await asyncio.sleep(1.5)
        assert outcome.ok
        after = await here.registry.get_task(LAN, order.task_id)
        assert (after.status, after.attempt, after.result) == (TaskStatus.COMPLETED, 2, before.result)
        assert (await superuser.fetchval(late, order.task_id) or 0) <= 1
        events = "select count(*) from events where root_task_id = $1 and attempt = 1 and type = 'agent_result'"
        assert await superuser.fetchval(events, order.task_id) == 0

    async def test_ends_the_step_after_too_many_attempts(self, database: Database, there: Rooms) -> None:
        here = rooms_on(database, 30, max_redispatches=1)
        there = rooms_on(database, 0.3, max_redispatches=1)
        leader, tool = await here.begin(), taking(60)
        order = await order_of(here, leader, seconds=60)
        running = asyncio.create_task(leading(here).run(order))
        async with asyncio.timeout(20):
            for _ in range(2):
                async with elsewhere(there, tool) as worker:
                    await tool.begun.wait()
                    tool.begun.clear()
                    await worker.stop(0)
            outcome = await running
        assert outcome.error == StepError("timeout", "Tool timeout")
        assert (await here.registry.get_task(LAN, order.task_id)).status is TaskStatus.FAILED

    async def test_of_everybody_ends_with_the_time_of_the_step(
        self, here: Rooms, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        leader = await here.begin()
        order = replace(await order_of(here, leader, seconds=0.6), deadline_binds=True)
        clock = asyncio.get_running_loop().time()
        outcome = await leading(here).run(order)
        assert asyncio.get_running_loop().time() - clock < limit(1.2)
        assert (outcome.error, outcome.calls) == (StepError("deadline", "Tool timeout"), ())
        assert await told(here, leader) == ["agent_task", "navigation_error", "agent_result"]
        assert (await here.registry.get_task(LAN, order.task_id)).status is TaskStatus.CANCELLED
        assert await superuser.fetchval("select count(*) from pgqueuer where entrypoint = 'step:hr'") == 0

    async def test_of_a_tool_ends_where_it_would_have_here(self, here: Rooms, there: Rooms) -> None:
        leader, tool = await here.begin(), taking(60)
        async with asyncio.timeout(10), elsewhere(there, tool):
            outcome = await leading(here).run(await order_of(here, leader, seconds=4))
        assert outcome.error == StepError("timeout", "Tool timeout")
        assert [call.status for call in outcome.calls] == ["timeout"]
        assert tool.cut.is_set()


class TestStopping:
    async def test_reaches_the_other_machine_within_a_second_when_the_run_is_cancelled(
        self, here: Rooms, there: Rooms
    ) -> None:
        leader, tool = await here.begin(), taking(60)
        order = await order_of(here, leader, seconds=60)
        async with asyncio.timeout(20), elsewhere(there, tool):
            running = asyncio.create_task(leading(here).run(order))
            await tool.begun.wait()
            await here.registry.cancel(LAN, leader.task.task_id)
            async with asyncio.timeout(1):
                await tool.cut.wait()
            with pytest.raises(StaleAttempt):
                await running

    async def test_reaches_it_when_another_attempt_leads_the_run(self, here: Rooms, there: Rooms) -> None:
        leader, tool = await here.begin(), taking(60)
        order = await order_of(here, leader, seconds=60)
        async with asyncio.timeout(20), elsewhere(there, tool):
            running = asyncio.create_task(leading(here).run(order))
            await tool.begun.wait()
            await here.expire(leader)
            await here.resume(leader.task.task_id)
            async with asyncio.timeout(1):
                await tool.cut.wait()
            running.cancel()
            with suppress(asyncio.CancelledError, StaleAttempt):
                await running

    async def test_of_the_worker_gives_the_step_to_another(self, here: Rooms, there: Rooms) -> None:
        leader, slow = await here.begin(), taking(60)
        order = await order_of(here, leader, seconds=30)
        running = asyncio.create_task(leading(here).run(order))
        async with asyncio.timeout(15):
            async with elsewhere(there, slow) as worker:
                await slow.begun.wait()
                await worker.stop(0)
            async with elsewhere(there, taking(0)):
                outcome = await running
        assert outcome.ok and slow.cut.is_set()


def _steady(outcome: StepOutcome) -> StepOutcome:
    calls = tuple(call.model_copy(update={"duration_ms": 0}) for call in outcome.calls)
    return replace(
        outcome, started_at=outcome.started_at.min, ended_at=outcome.ended_at.min, duration_ms=0, calls=calls
    )
