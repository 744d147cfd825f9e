"""The registry owns the states of tasks: registering, claiming, finishing, cancelling.

A person registers, changes and sees only own tasks (an administrator may look at every task of the tenant). Whoever
works on a task holds it by a lease and an attempt number; a write of an earlier attempt raises `StaleAttempt` and
changes nothing.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.principal import Principal
from app.domain.tasks import ClaimedStep, NewTask, PrivateContext, Task, TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import FinalReport, TaskAvailable, TaskCancelled, TaskFailed
from app.journal import Journal, not_found
from app.journal.writer import json_of
from app.storage import contexts, events, sessions, tasks
from app.storage.database import Database, Transaction
from app.storage.json_text import dump
from app.tasks.queue import CHAT, INGESTION, JobQueue
from app.tasks.run import TaskRun

CANCEL_TOPIC = "task_cancelled"
"""Bus topic that tells workers to stop a run at once."""


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
    ):
        self._database = database
        self._journal = journal
        self._queue = queue
        self._clock = clock
        self.lease_seconds = lease_seconds
        self.max_redispatches = max_redispatches

    async def register_task(
        self,
        principal: Principal,
        new_task: NewTask,
        *,
        idempotency_key: str | None = None,
        request_hash: str = "",
        within: Callable[[Transaction], Awaitable[object]] | None = None,
    ) -> Task:
        """Register a root task, its session, its first event and its job in one transaction, and in the same one do
        what is `within` (once: not again for a request that was registered before).

        The same idempotency key with the same hash, or the same task id with the same request, gives the task that was
        registered first. Raises `AppError`: IDEMPOTENCY_MISMATCH (422) for a key used with another hash,
        CONFLICT_IN_FLIGHT (409) for a task id that is taken by another request.
        """
        try:
            async with self._database.principal_scope(principal) as tx:
                if idempotency_key is not None:
                    taken = await tasks.take_key(tx, idempotency_key, request_hash, new_task.task_id)
                    if taken is not None:
                        return await _repeated(tx, taken, request_hash)
                await self._insert_root(tx, new_task)
                if within is not None:
                    await within(tx)
                registered = await tasks.find(tx, new_task.task_id)
                assert registered is not None
                return registered
        except _TaskIdTaken:
            return await self._same_as(principal, new_task)

    async def _insert_root(self, tx: Transaction, new_task: NewTask) -> None:
        question = str(new_task.request.get("query") or new_task.title)
        kind = "" if new_task.kind == "chat" else new_task.kind
        await sessions.open_session(tx, new_task.session_id, question, kind)
        if not await tasks.insert(tx, [new_task]):
            raise _TaskIdTaken
        first = TaskAvailable(task_id=new_task.task_id, session_id=new_task.session_id, query=question)
        await events.append_next(tx, new_task.task_id, 0, first.type, json_of(first))
        await self._queue.enqueue(tx, new_task.task_id, INGESTION if new_task.kind == "ingest" else CHAT)

    async def _same_as(self, principal: Principal, new_task: NewTask) -> Task:
        """The task that has the id of `new_task`, if it is the same request."""
        found = await self.get_task(principal, new_task.task_id)
        if found.request != json.loads(dump(new_task.request)):
            raise AppError(ErrorCode.CONFLICT_IN_FLIGHT, "This task id is taken.", status=409)
        return found

    async def register_steps(
        self,
        principal: Principal,
        new_tasks: Sequence[NewTask],
        agent_contexts: Mapping[str, list[PrivateContext]] | None = None,
    ) -> None:
        """Register the steps of a plan and what its agents need for them (by agent), in one transaction; steps that are
        registered already stay as they are."""
        if not new_tasks:
            return
        async with self._database.principal_scope(principal, durable=False) as tx:
            await tasks.insert(tx, new_tasks)
            if agent_contexts:
                await contexts.keep(tx, new_tasks[0].session_id, agent_contexts, self._clock().isoformat())

    async def claim_step(self, principal: Principal, task_id: UUID, agent_id: str) -> ClaimedStep | None:
        """Take a step for `agent_id`, with its instruction and the context it names; None when it cannot be had."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            return await tasks.claim_step(tx, task_id, agent_id, self.lease_seconds)

    async def claim_task(self, principal: Principal, task_id: UUID, agent_id: str) -> int | None:
        """Take a task for `agent_id`; its attempt number, or None when somebody holds it or it has ended."""
        task = await self.claim(principal, task_id, agent_id)
        return None if task is None else task.attempt

    async def claim(self, principal: Principal, task_id: UUID, claimant: str) -> Task | None:
        """Like `claim_task`, with the whole task."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            return await tasks.claim(tx, task_id, claimant, self.lease_seconds)

    def is_overdue(self, task: Task) -> bool:
        """Whether a task's deadline has passed by the process's clock."""
        return task.deadline is not None and task.deadline <= self._clock()

    async def renew_lease(self, principal: Principal, task_id: UUID, attempt: int) -> bool:
        """Hold a task longer; False when the attempt does not hold it any more (taken over, cancelled, erased)."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            return await tasks.renew(tx, task_id, attempt, self.lease_seconds)

    async def release_lease(self, principal: Principal, task_id: UUID, attempt: int) -> None:
        """Give a task back unfinished; the next claim takes it at once."""
        async with self._database.principal_scope(principal) as tx:
            await tasks.release(tx, task_id, attempt)

    async def lease_remaining(self, principal: Principal, task_id: UUID) -> float | None:
        """Seconds until a task can be claimed again, 0 = now; None when it has ended."""
        async with self._database.principal_scope(principal) as tx:
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
        async with self._database.principal_scope(principal, durable=False) as tx:
            done = await tasks.conclude(tx, task_id, attempt, status, result=result, error_message=error_message)
        _demand(done, task_id, attempt)

    async def save_plan(self, principal: Principal, task_id: UUID, attempt: int, plan: Mapping[str, Any]) -> None:
        """Keep a running task's plan. Raises `StaleAttempt`."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            done = await tasks.save_plan(tx, task_id, attempt, plan)
        _demand(done, task_id, attempt)

    async def get_task(self, principal: Principal, task_id: UUID) -> Task:
        """A task the caller may see. Raises `AppError` (404) for unknown and foreign ids alike."""
        async with self._database.principal_scope(principal) as tx:
            task = await tasks.find(tx, task_id)
        if task is None:
            raise not_found()
        return task

    async def children(self, principal: Principal, task_id: UUID) -> list[Task]:
        """The steps of a task, oldest first; those of earlier attempts are among them."""
        async with self._database.principal_scope(principal) as tx:
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
    ) -> None:
        """End a run: waiting events, terminal event, task row, leftover steps and session in one durable transaction.

        Raises `StaleAttempt`, and nothing changes, when the run was given to another attempt, cancelled or erased.
        """
        task = run.task
        async with run.writer.ending(), self._database.principal_scope(run.principal) as tx:
            await run.writer.append_in(tx, event)
            done = await tasks.conclude(
                tx, task.task_id, run.attempt, status, result=result, error_message=error_message,
                flow_action=flow_action, metadata=metadata, plan=plan,
            )  # fmt: skip
            _demand(done, task.task_id, run.attempt)
            await tasks.stop_children(tx, task.task_id)
            await sessions.close_turn(tx, task.session_id, status.value, _text_of(result), _agent_of(result))

    async def cancel(self, principal: Principal, task_id: UUID, reason: str = "cancelled by its owner") -> Task:
        """Stop the run a task belongs to; one that has ended stays as it is. Idempotent.

        Raises `AppError` (404) for unknown and foreign ids alike, also for an administrator who may only look.
        """
        root_task_id = (await self.get_task(principal, task_id)).root_task_id
        async with self._database.principal_scope(principal) as tx:
            stopped = await tasks.cancel(tx, root_task_id, reason)
            if stopped is not None:
                attempt, session_id = stopped
                event = TaskCancelled(reason=reason)
                await events.append_next(tx, root_task_id, attempt, event.type, json_of(event))
                await tasks.stop_children(tx, root_task_id)
                await sessions.close_turn(tx, session_id, TaskStatus.CANCELLED.value, None, None)
            task = await tasks.find(tx, task_id)
        if task is None or not task.status.is_terminal:
            raise not_found()
        if stopped is not None:
            await self._journal.announce(root_task_id)
            await self._journal.wake.publish(CANCEL_TOPIC, {"task_id": str(root_task_id)})
        return task


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


def _demand(done: bool, task_id: UUID, attempt: int) -> None:
    if not done:
        raise StaleAttempt(f"attempt {attempt} no longer holds task {task_id}")


def _text_of(result: Mapping[str, Any] | None) -> str | None:
    answer = (result or {}).get("answer") or (result or {}).get("fallback_answer")
    return str(answer) if answer else None


def _agent_of(result: Mapping[str, Any] | None) -> str | None:
    """The agent whose turn it was last, for follow-up questions: the first one that was asked."""
    agents = ((result or {}).get("execution_metadata") or {}).get("agents_invoked") or ()
    return str(agents[0]) if agents else None
