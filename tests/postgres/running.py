"""The rooms a run needs, wired to a test database."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from app.bus.relay import MemoryBus
from app.domain.principal import Principal
from app.domain.tasks import NewTask, Task, TaskKind, TaskStatus
from app.events import FinalReport, JournalEntry, TextDelta
from app.journal import Journal
from app.storage.database import Database
from app.tasks.queue import JobQueue
from app.tasks.registry import TaskRegistry
from app.tasks.run import Handler, TaskRun
from app.tasks.worker import Worker
from tests.factories import principal

LAN = principal()
MINH = principal(user="minh", department="it")
JANE = principal("globex", "jane")


@dataclass
class Rooms:
    """One process's rooms."""

    database: Database
    bus: MemoryBus
    journal: Journal
    registry: TaskRegistry

    async def register(self, who: Principal = LAN, query: str = "?", **changes: Any) -> Task:
        return await self.registry.register_task(who, new_task(query, **changes))

    async def begin(self, who: Principal = LAN) -> TaskRun:
        """A registered task, claimed as a worker would."""
        task = await self.register(who)
        return await self.resume(task.task_id, who)

    async def resume(self, task_id: UUID, who: Principal = LAN) -> TaskRun:
        claimed = await self.registry.claim_task(who, task_id, "test")
        assert claimed is not None
        writer = await self.journal.writer(who, claimed)
        return TaskRun(principal=who, task=claimed, attempt=claimed.attempt, writer=writer)

    async def expire(self, run: TaskRun) -> None:
        """Let the run's lease be over."""
        await self.registry.release_lease(run.principal, run.task.task_id, run.attempt)

    async def entries(self, task_id: UUID, who: Principal = LAN, after: int = 0) -> list[JournalEntry]:
        """The whole journal, waited for."""
        return [entry async for entry in self.journal.follow(who, task_id, after)]

    async def complete(self, run: TaskRun, answer: str = "done") -> None:
        result = {"answer": answer, "outcome": "answered", "execution_metadata": {"agents_invoked": ["hr"]}}
        await self.registry.finish(
            run, status=TaskStatus.COMPLETED, result=result, flow_action=[], metadata={"outcome": "answered"},
            event=FinalReport(answer=result),
        )  # fmt: skip

    @asynccontextmanager
    async def working(self, handlers: Mapping[TaskKind, Handler], **options: Any) -> AsyncIterator[Worker]:
        """A worker for the time of the context."""
        worker = Worker(self.database, self.registry, self.journal, handlers, **options)
        await worker.start()
        try:
            yield worker
        finally:
            await worker.stop(grace_seconds=2)


def rooms_on(database: Database, lease_seconds: float = 30, max_redispatches: int = 3) -> Rooms:
    bus = MemoryBus()
    journal = Journal(database, bus)
    registry = TaskRegistry(database, journal, JobQueue(), lambda: datetime.now(UTC), lease_seconds, max_redispatches)
    return Rooms(database, bus, journal, registry)


def new_task(query: str = "?", **changes: Any) -> NewTask:
    task_id = changes.pop("task_id", None) or uuid4()
    values: dict[str, Any] = {
        "task_id": task_id, "root_task_id": task_id, "session_id": uuid4(), "kind": "chat", "title": query[:200],
        "request": {"query": query},
    }  # fmt: skip
    return NewTask.model_validate(values | changes)


def step_of(root: Task, title: str = "step") -> NewTask:
    return NewTask(
        task_id=uuid4(), session_id=root.session_id, parent_task_id=root.task_id, root_task_id=root.task_id,
        kind="step", title=title, assignee_agent_id="hr",
    )  # fmt: skip


def say(run: TaskRun, *texts: str) -> None:
    for text in texts:
        run.writer.append(TextDelta(text=text))


def texts_of(entries: list[JournalEntry]) -> list[str]:
    return [entry.event.text for entry in entries if isinstance(entry.event, TextDelta)]
