"""A deep run outlives the worker it began with: another one goes on from the last finished step."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeAlias

import asyncpg
import pytest

from app.domain.tasks import Task, TaskStatus
from app.events import FinalReport, Interrupt, JournalEntry, Redispatched, ToolRequest, ToolResponse
from app.storage.database import Database
from app.tasks.approvals import Approvals, Decision
from app.tasks.queue import JobQueue
from tests.nursery import Child, Nursery
from tests.postgres.deep_worker_process import STEPS
from tests.postgres.running import LAN, Rooms, new_task, rooms_on
from tests.postgres.test_approvals import decided
from tests.postgres.test_checkpoints import write_passage

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LEASE_SECONDS = 1.0
NODES = ("researcher#rag:1", "researcher#rag:2", "researcher#rag:3", "expert#math:1")
ANSWER = f"the sum is {2 ** (STEPS + 1) - 1}"


@pytest.fixture
def rooms(database: Database) -> Rooms:
    return rooms_on(database, LEASE_SECONDS)


@asynccontextmanager
async def deep_worker(
    nursery: Nursery, url: str, patience_seconds: float, *options: str, of: str = "deep_worker_process"
) -> AsyncIterator[Child]:
    """A worker to be killed; it takes `patience_seconds` for a step."""
    arguments = (url, str(LEASE_SECONDS), str(patience_seconds), *options)
    async with nursery.running(f"tests.postgres.{of}", *arguments) as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield process


def asked_of(entries: Sequence[JournalEntry]) -> Counter[str]:
    """How often each step's tool was called."""
    return Counter(entry.event.node_id for entry in entries if isinstance(entry.event, ToolRequest))


def answered_in(entries: Sequence[JournalEntry]) -> set[str]:
    return {entry.event.node_id for entry in entries if isinstance(entry.event, ToolResponse)}


def check_whole(entries: Sequence[JournalEntry]) -> None:
    """One gapless journal with one end and the right answer."""
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.event.type for entry in entries if entry.is_terminal] == ["final_report"]
    last = entries[-1].event
    assert isinstance(last, FinalReport) and last.answer["answer"] == ANSWER
    assert asked_of(entries).keys() == answered_in(entries) == {f"expert#math:{n}" for n in range(1, STEPS + 1)}


async def claims_of(rooms: Rooms, tasks: Sequence[Task]) -> int:
    """How often any of the runs was claimed so far."""
    return sum([(await rooms.registry.get_task(LAN, task.task_id)).attempt for task in tasks])


async def another_claim(rooms: Rooms, tasks: Sequence[Task], claims: int) -> None:
    """Wait until one of the runs was claimed once more."""
    for _ in range(600):
        if await claims_of(rooms, tasks) > claims:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("nobody claimed any of the runs")


class TestAKilledWorker:
    async def test_leaves_a_run_that_goes_on_behind_its_last_finished_step(
        self, rooms: Rooms, app_url: str, nursery: Nursery
    ) -> None:
        async with asyncio.timeout(60):
            async with deep_worker(nursery, app_url, 0, "hang:3") as first:
                task = await rooms.register()
                async for entry in rooms.journal.follow(LAN, task.task_id):
                    if isinstance(entry.event, ToolRequest) and entry.event.node_id == "expert#math:3":
                        first.send_signal(signal.SIGKILL)
                        break
                await first.wait()
            async with deep_worker(nursery, app_url, patience_seconds=0):
                entries = await rooms.entries(task.task_id)
        check_whole(entries)
        asked = asked_of(entries)
        assert [asked[f"expert#math:{number}"] for number in range(1, STEPS + 1)] == [1, 1, 2, 1, 1]
        assert [entry.event for entry in entries if entry.event.type == "redispatched"] == [Redispatched(attempt=2)]
        assert (await rooms.registry.get_task(LAN, task.task_id)).status is TaskStatus.COMPLETED

    async def test_after_another_costs_each_run_the_step_it_was_in_and_no_more(
        self, rooms: Rooms, app_url: str, nursery: Nursery, database: Database
    ) -> None:
        rng, kills = Random(5), 4
        async with asyncio.timeout(120):
            tasks = [await rooms.register() for _ in range(4)]
            for _ in range(kills):
                claims = await claims_of(rooms, tasks)
                async with deep_worker(nursery, app_url, patience_seconds=0.4) as worker:
                    await another_claim(rooms, tasks, claims)
                    await asyncio.sleep(rng.uniform(0.1, 0.9))
                    worker.send_signal(signal.SIGKILL)
                await asyncio.sleep(LEASE_SECONDS)
            async with deep_worker(nursery, app_url, patience_seconds=0):
                journals = [await rooms.entries(task.task_id) for task in tasks]
        for entries in journals:
            check_whole(entries)
            lost = sum(1 for entry in entries if isinstance(entry.event, Redispatched))
            assert sum(asked_of(entries).values()) <= STEPS + lost
        assert any(isinstance(entry.event, Redispatched) for entries in journals for entry in entries)
        async with database.principal_scope(LAN) as tx:
            assert await tx.driver.fetchval("select count(*) from deep_states") == 0

    async def test_takes_no_decision_with_it(self, rooms: Rooms, app_url: str, nursery: Nursery) -> None:
        """Killed while the run waits, and again when it goes on: the plan is made once and approved once."""
        approvals = Approvals(rooms.database, rooms.journal, JobQueue(), decided)
        async with asyncio.timeout(60):
            async with deep_worker(nursery, app_url, 0, "approve"):
                task = await rooms.register()
                assert isinstance(await rooms.journal.resting(LAN, task.task_id), Interrupt)
            await approvals.decide(LAN, task.task_id, Decision(approved=True))
            async with deep_worker(nursery, app_url, 0, "approve", "hang:2") as second:
                async for entry in rooms.journal.follow(LAN, task.task_id):
                    if isinstance(entry.event, ToolRequest) and entry.event.node_id == "expert#math:2":
                        second.send_signal(signal.SIGKILL)
                        break
                await second.wait()
            async with deep_worker(nursery, app_url, 0, "approve"):
                entries = await rooms.entries(task.task_id)
        check_whole(entries)
        types = Counter(entry.event.type for entry in entries)
        assert (types["plan_ready"], types["interrupt"], types["redispatched"]) == (1, 1, 1)
        assert sum(asked_of(entries).values()) == STEPS + 1


class TestTheDeepFlow:
    """With its real graph, steps and rows."""

    @pytest.fixture
    async def passage(self, superuser: Superuser) -> dict[str, Any]:
        """What the researcher finds."""
        await superuser.execute("delete from documents")
        return await write_passage(superuser)

    async def test_goes_on_behind_the_last_finished_tool_call_with_the_same_answer(
        self, rooms: Rooms, app_url: str, nursery: Nursery, passage: dict[str, Any]
    ) -> None:
        async with asyncio.timeout(90):
            task = await self._cut(rooms, app_url, nursery)
            async with deep_worker(nursery, app_url, 0, of="deep_flow_process"):
                cut = await rooms.entries(task.task_id)
                whole = await rooms.entries((await self._ask(rooms)).task_id)
        assert asked_of(whole) == dict.fromkeys(NODES, 1)
        assert asked_of(cut) == {**dict.fromkeys(NODES, 1), "researcher#rag:2": 2}
        assert [entry.event.type for entry in cut if entry.is_terminal] == ["final_report"]
        answer, expected = (entries[-1].event for entries in (cut, whole))
        assert isinstance(answer, FinalReport) and isinstance(expected, FinalReport)
        for name in ("answer", "reasoning", "evidence", "confidence_score", "outcome"):
            assert answer.answer[name] == expected.answer[name], name
        assert [one["node_id"] for one in answer.answer["flow_action"]] == [
            one["node_id"] for one in expected.answer["flow_action"]
        ]

    async def test_begins_anew_when_a_document_was_taken_away_meanwhile(
        self, rooms: Rooms, app_url: str, nursery: Nursery, passage: dict[str, Any], superuser: Superuser
    ) -> None:
        """What it had found may not be read any more, and nothing of it is used."""
        async with asyncio.timeout(90):
            task = await self._cut(rooms, app_url, nursery)
            await superuser.execute("delete from documents")
            other = await write_passage(superuser, text="another text")
            async with deep_worker(nursery, app_url, 0, of="deep_flow_process"):
                entries = await rooms.entries(task.task_id)
        assert asked_of(entries) == {"researcher#rag:1": 2, "researcher#rag:2": 2} | dict.fromkeys(NODES[2:], 1)
        assert Counter(entry.event.type for entry in entries)["plan_ready"] == 2
        last = entries[-1].event
        assert isinstance(last, FinalReport)
        assert [entry.event.type for entry in entries if entry.is_terminal] == ["final_report"]
        told = await rooms.registry.children(LAN, task.task_id)
        used = {one for child in told if child.attempt for one in (child.result or {}).get("chunks", ())}
        assert used == {passage["chunk_id"], other["chunk_id"]}

    async def _ask(self, rooms: Rooms) -> Task:
        question = "Add the first, the second and the third fact"
        request = {"query": question, "mode": "deep", "language": "en"}
        deadline = datetime.now(UTC) + timedelta(seconds=60)
        return await rooms.registry.register_task(LAN, new_task(question, request=request, deadline=deadline))

    async def _cut(self, rooms: Rooms, url: str, nursery: Nursery) -> Task:
        """A run whose worker is killed during its second tool call."""
        async with deep_worker(nursery, url, 0, "hang:2", of="deep_flow_process") as first:
            task = await self._ask(rooms)
            async for entry in rooms.journal.follow(LAN, task.task_id):
                if isinstance(entry.event, ToolRequest) and entry.event.node_id == "researcher#rag:2":
                    first.send_signal(signal.SIGKILL)
                    break
            await first.wait()
        return task
