"""Register, claim, finish and cancel tasks.

Whoever works on a task holds it by a lease and an attempt number; a write of an earlier attempt raises `StaleAttempt`
and changes nothing.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from app.bus import Place
from app.domain.conflicts import Conflict
from app.domain.oversight import OWNER_STOPPED
from app.domain.principal import Principal
from app.domain.tasks import NewTask, Origin, Task, TaskStatus
from app.errors import AppError, ErrorCode
from app.events import FinalReport, TaskAvailable, TaskFailed
from app.journal import Journal, not_found
from app.journal.spool_records import RunEnded, StepEnded, json_of
from app.journal.writer import Rows
from app.storage import documents, tasks
from app.storage.database import Database, Transaction, dump
from app.tasks.queue import CHAT, INGESTION, JobQueue
from app.tasks.run import TaskRun
from app.tasks.steps import StepRegistry, conclude_run, demand, stop_run

CANCEL_TOPIC = "task_cancelled"
"""Topic of the message that tells workers to stop a run at once."""


class Admission(Protocol):
    """Who is let in, and where a question stands in the line."""

    def turn(self, principal: Principal) -> AbstractAsyncContextManager[None]:
        """Wait until this person may register one more."""

    async def place(self, tx: Transaction, deadline_at: datetime | None, now: datetime) -> int:
        """The place of one more question, 0 first. Raises `AppError` (429, 503) for one too many."""


class TaskRegistry:
    """States of root tasks and their steps."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        queue: JobQueue,
        clock: Callable[[], datetime],
        lease_seconds: float = 30,
        max_redispatches: int = 3,
        admission: Admission | None = None,
    ):
        self._database = database
        self._journal = journal
        self._queue = queue
        self._clock = clock
        self.steps = StepRegistry(database, journal.outage, queue, clock, lease_seconds, max_redispatches)
        self.lease_seconds = lease_seconds
        self.max_redispatches = max_redispatches
        self._admission = admission
        self.on_end: Callable[[TaskRun, TaskStatus, Mapping[str, Any]], object] = lambda *_: None
        """Is told of every run that was ended here."""

    async def register_task(
        self,
        principal: Principal,
        new_task: NewTask,
        *,
        idempotency_key: str | None = None,
        request_hash: str = "",
        within: Callable[[Transaction], Awaitable[object]] | None = None,
        origin: Origin = "page",
    ) -> Task:
        """Register a root task, its session, first event and job, and do what is `within`, once, in one transaction.
        The same key and hash, or id and request, give the task registered first. Raises `AppError`: 422 for a key used
        with another hash, 409 for a task id taken by another request, and what `Admission.place` raises."""
        try:
            async with self._turn(principal), self._database.principal_scope(principal) as tx:
                if idempotency_key is not None:
                    taken = await tasks.take_key(tx, idempotency_key, request_hash, new_task.task_id)
                    if taken is not None:
                        return await _repeated(tx, taken, request_hash)
                registered, first = await self._insert_root(tx, new_task, origin)
                if within is not None:
                    await within(tx)
        except _TaskIdTaken:
            return await self._same_as(principal, new_task)
        await self._journal.publish(Place.of(principal, new_task.session_id, new_task.task_id), 1, first)
        return registered

    def _turn(self, principal: Principal) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._admission is None else self._admission.turn(principal)

    async def _insert_root(self, tx: Transaction, new_task: NewTask, origin: Origin) -> tuple[Task, TaskAvailable]:
        place = 0
        if self._admission is not None and new_task.kind != "ingest":
            place = await self._admission.place(tx, new_task.deadline, self._clock())
        question = str(new_task.request.get("query") or new_task.title)
        kind = "" if new_task.kind == "chat" else new_task.kind
        first = TaskAvailable(task_id=new_task.task_id, session_id=new_task.session_id, query=question)
        registered = await tasks.register(tx, new_task, question, kind, origin, (first.type, json_of(first)))
        if registered is None:
            raise _TaskIdTaken
        if new_task.kind == "ingest":
            await self._queue.enqueue(tx, new_task.task_id, INGESTION)
        else:
            await self._queue.enqueue(tx, new_task.task_id, CHAT, place)
        return registered, first

    async def _same_as(self, principal: Principal, new_task: NewTask) -> Task:
        """The task that has the id of `new_task`, if it is the same request."""
        found = await self.get_task(principal, new_task.task_id)
        if found.request != json.loads(dump(new_task.request)):
            raise AppError(ErrorCode.CONFLICT_IN_FLIGHT, "This task id is taken.", status=409)
        return found

    async def claim_task(self, principal: Principal, task_id: UUID, agent_id: str) -> Task | None:
        """Take a task under the next attempt number, durably: a lost claim would give the number out twice; None when
        somebody holds it or it has ended."""
        async with self._database.statements_scope(principal) as tx:
            return await tasks.claim(tx, task_id, agent_id, self.lease_seconds)

    def is_overdue(self, task: Task) -> bool:
        """Whether a task's deadline has passed by the process's clock."""
        return task.deadline is not None and task.deadline <= self._clock()

    async def renew_lease(self, principal: Principal, task_id: UUID, attempt: int) -> bool:
        """Hold a task longer; False when the attempt does not hold it any more (taken over, cancelled, erased)."""
        async with self._database.statements_scope(principal, durable=False) as tx:
            return await tasks.renew(tx, task_id, attempt, self.lease_seconds)

    async def release_lease(self, principal: Principal, task_id: UUID, attempt: int) -> None:
        """Give a task back unfinished; the next claim takes it at once."""
        async with self._database.statements_scope(principal) as tx:
            await tasks.release(tx, task_id, attempt)

    async def lease_remaining(self, principal: Principal, task_id: UUID) -> float | None:
        """Seconds until a task can be claimed again, 0 = now; None when it has ended."""
        async with self._database.statements_scope(principal) as tx:
            return await tasks.lease_remaining(tx, task_id)

    async def update_status(
        self,
        principal: Principal,
        task_id: UUID,
        attempt: int,
        status: TaskStatus,
        *,
        result: Mapping[str, Any] | None = None,
        error_message: str | None = None,
    ) -> None:
        """End a step as completed, failed or cancelled. Raises `StaleAttempt`."""

        async def directly() -> None:
            async with self._database.statements_scope(principal, durable=False) as tx:
                done = await tasks.conclude(tx, task_id, attempt, status, result=result, error_message=error_message)
            demand(done, task_id, attempt)

        kept = StepEnded(task_id=task_id, attempt=attempt, status=status, result=result, error_message=error_message)
        await self._journal.outage.write_for(task_id, directly, lambda: [kept])
        if (known := self._journal.outage.active_step(task_id)) is not None:
            known.ended = kept

    async def get_task(self, principal: Principal, task_id: UUID) -> Task:
        """A task the caller may see. Raises `AppError` (404) for unknown and foreign ids alike."""
        async with self._database.statements_scope(principal) as tx:
            task = await tasks.find(tx, task_id)
        if task is None:
            raise not_found()
        return task

    async def open_task(self, principal: Principal, task_id: UUID) -> tuple[Task, list[Task]]:
        """A task with its steps, to be read. That of another, which an administrator may open, is written to the audit
        in the same transaction. Raises `AppError` (404) as `get_task` does, and for a run of more rights."""
        async with self._database.principal_scope(principal) as tx:
            task = await tasks.find(tx, task_id)
            root = task if task is None or task.parent_task_id is None else await tasks.find(tx, task.root_task_id)
            if task is None or root is None:
                raise not_found()
            owner = asker_within(principal, root).user_id
            if owner != principal.user_id:
                await documents.note(tx, "read_task", str(task_id), {"owner": str(owner), "kind": task.kind})
            return task, await tasks.children_of(tx, task_id)

    async def children(self, principal: Principal, task_id: UUID) -> list[Task]:
        """The steps of a task, oldest first; those of earlier attempts are among them."""
        async with self._database.statements_scope(principal) as tx:
            return await tasks.children_of(tx, task_id)

    async def finish(
        self,
        run: TaskRun,
        *,
        status: TaskStatus,
        result: Mapping[str, Any] | None,
        flow_action: Sequence[Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        error_message: str | None = None,
        event: FinalReport | TaskFailed,
        plan: Mapping[str, Any] | None = None,
        conflicts: Sequence[Conflict] = (),
    ) -> None:
        """End a run with its events, steps, session and conflicts in one durable transaction, or in the spool. Raises
        `StaleAttempt`, and nothing changes, when the attempt no longer holds it."""
        ended = RunEnded(
            status=status, result=result, flow_action=flow_action, metadata=metadata, error_message=error_message,
            plan=plan, conflicts=conflicts,
        )  # fmt: skip

        def conclude(tx: Transaction, entries: Rows) -> Awaitable[bool]:
            return conclude_run(tx, run.task.task_id, run.attempt, ended, entries)

        await run.writer.end(event, conclude, ended)
        self.on_end(run, status, metadata or {})

    async def cancel(self, principal: Principal, task_id: UUID, reason: str = OWNER_STOPPED) -> Task:
        """Stop the run a task belongs to. Idempotent. Raises `AppError` (404) for unknown and foreign ids alike, also
        for an administrator."""
        root_task_id = (await self.get_task(principal, task_id)).root_task_id
        async with self._database.principal_scope(principal) as tx:
            stopped = await stop_run(tx, root_task_id, reason)
            task = await tasks.find(tx, task_id)
        if task is None or not task.status.is_terminal:
            raise not_found()
        if stopped is not None:
            await self._journal.publish(*stopped)
        return task


def asker_within(caller: Principal, root: Task) -> Principal:
    """Who asked for a run. It holds what its asker could read then; who has fewer rights today does not see it.

    Raises `AppError` (404), the same as for an unknown id.
    """
    asker = root.principal
    if asker is None or not (asker.scopes <= caller.scopes and asker.departments <= caller.departments):
        raise not_found()
    return asker


class _TaskIdTaken(Exception):
    """Undoes the transaction that met an existing task."""


async def _repeated(tx: Transaction, taken: tuple[str, UUID], request_hash: str) -> Task:
    known_hash, task_id = taken
    if known_hash != request_hash:
        detail = "This Idempotency-Key was used for another request."
        raise AppError(ErrorCode.IDEMPOTENCY_MISMATCH, detail, status=422)
    task = await tasks.find(tx, task_id)
    assert task is not None  # a key is removed together with its task
    return task
