"""Claim steps in the leader's own process, or hand them out to a remote agent and follow them.

Once its leader no longer holds the run, nobody can claim or keep a handed out step.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app.bus import Place
from app.domain.principal import Principal
from app.domain.tasks import ClaimedStep, HandedStep, NewTask, PrivateContext, StepSight, TaskStatus
from app.errors import StaleAttempt
from app.events import Event, TaskCancelled
from app.journal.outage import Outage
from app.journal.spool_records import PlanSaved, RunEnded, StepClaimed, StepsRegistered, Write, json_of
from app.storage import conflicts, events, sessions, steps, tasks
from app.storage.database import Database, Transaction
from app.tasks.queue import JobQueue, line_of
from app.tasks.run import TaskRun


class StepRegistry:
    """States of the steps of all runs."""

    def __init__(
        self,
        database: Database,
        outage: Outage,
        queue: JobQueue,
        clock: Callable[[], datetime],
        lease_seconds: float,
        max_redispatches: int,
    ):
        self._database = database
        self._outage = outage
        self._queue = queue
        self._clock = clock
        self._lease_seconds = lease_seconds
        self.max_redispatches = max_redispatches

    async def register(
        self,
        leader: TaskRun,
        new_tasks: Sequence[NewTask],
        agent_contexts: Mapping[str, list[PrivateContext]] | None = None,
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        """Register steps, once, with what their agents need, and keep the `plan` they belong to with the run. Raises
        `StaleAttempt` when the leader no longer holds the run."""
        if not new_tasks and plan is None:
            return
        root_task_id = leader.task.task_id
        needs, at = {agent: list(given) for agent, given in (agent_contexts or {}).items()}, self._clock()

        async def directly() -> None:
            async with self._database.statements_scope(leader.principal, durable=False) as tx:
                done = await steps.register(tx, root_task_id, leader.attempt, new_tasks, plan, needs, at.isoformat())
            demand(done, root_task_id, leader.attempt)

        kept: list[Write] = [] if plan is None else [PlanSaved(plan=plan)]
        kept.append(StepsRegistered(new_tasks=tuple(new_tasks), agent_contexts=needs, at=at))
        await self._outage.write_for(root_task_id, directly, lambda: kept)
        by_hash = {context.context_hash: context for given in needs.values() for context in given}
        for new_task in new_tasks:
            self._outage.know_step(new_task, by_hash.get(str(new_task.request.get("context_hash"))))

    async def claim(self, principal: Principal, task_id: UUID, agent_id: str) -> ClaimedStep | None:
        """Take a step to be done in this process, with its instruction and the context it names; None when it cannot be
        had."""
        claimed: ClaimedStep | None = None

        async def directly() -> None:
            nonlocal claimed
            async with self._database.statements_scope(principal, durable=False) as tx:
                claimed = await steps.claim(tx, task_id, agent_id, self._lease_seconds)

        known = self._outage.active_step(task_id)
        attempt = 1 + (known.attempt if known else 0)
        kept = StepClaimed(task_id=task_id, attempt=attempt, agent_id=agent_id)
        if not await self._outage.write_for(task_id, directly, lambda: [kept]) and known is not None:
            claimed = ClaimedStep(attempt=attempt, instruction=known.new_task.description, context=known.context)
        if claimed is not None and known is not None:
            known.attempt = claimed.attempt
        return claimed

    async def hand_out(self, leader: TaskRun, task_id: UUID, agent: str, order: str, seconds: float) -> int:
        """Let the workers of an agent's line take a step, for so long; the id of its job, which is written in the same
        transaction. Raises `StaleAttempt` when the leader no longer holds the run."""
        async with self._database.principal_scope(leader.principal, durable=False) as tx:
            root_task_id, attempt = leader.task.task_id, leader.attempt
            demand(await steps.hand_out(tx, task_id, root_task_id, attempt, seconds, order), task_id, attempt)
            return await self._queue.enqueue(tx, task_id, line_of(agent))

    async def hand_out_again(self, leader: TaskRun, task_id: UUID, agent: str) -> int:
        """Another job for a step whose holder fell silent; whoever takes it gets the next attempt number."""
        async with self._database.principal_scope(leader.principal, durable=False) as tx:
            return await self._queue.enqueue(tx, task_id, line_of(agent))

    async def take_up(self, owner: Principal, task_id: UUID, worker_id: str) -> HandedStep | None:
        """Take a handed out step for a worker; None when it cannot be had (see the table's statement). Durable, as the
        claim of a run is."""
        async with self._database.statements_scope(owner) as tx:
            return await steps.take_up(tx, task_id, worker_id, self._lease_seconds, self.max_redispatches)

    async def look(self, leader: TaskRun, task_id: UUID, after: int) -> StepSight:
        """How a handed out step stands, with its events behind `after`. Raises `StaleAttempt` when it was erased."""
        async with self._database.statements_scope(leader.principal, durable=False) as tx:
            sight = await steps.look(tx, task_id, after)
        if sight is None:
            raise StaleAttempt(f"step {task_id} was erased")
        return sight

    async def collect(self, leader: TaskRun, task_id: UUID) -> str | None:
        """Take the outcome of an ended step; nothing of it but the step's own result stays in the database."""
        async with self._database.statements_scope(leader.principal, durable=False) as tx:
            return await steps.collect(tx, task_id)

    async def give_up(self, leader: TaskRun, task_id: UUID, job_ids: Sequence[int], reason: str) -> bool:
        """End a step nobody finished in time, with its jobs and what was handed out; False when it has ended after
        all."""
        async with self._database.principal_scope(leader.principal, durable=False) as tx:
            if not await steps.give_up(tx, task_id, reason):
                return False
            await steps.collect(tx, task_id)
            await tasks.drop_waiting(tx, job_ids)
            return True

    async def finish(
        self, run: TaskRun, status: TaskStatus, *, result: Mapping[str, Any], error_message: str | None, outcome: str,
        event: Event,
    ) -> None:  # fmt: skip
        """End a handed out step with its events and outcome in one transaction. Raises `StaleAttempt`, and only counts
        a late result, when the step is no longer held."""
        task_id = run.task.task_id
        try:
            async with run.writer.ending(), self._database.principal_scope(run.principal, durable=False) as tx:
                await run.writer.append_in(tx, event)
                done = await tasks.conclude(
                    tx, task_id, run.attempt, status, result=result, error_message=error_message
                )
                demand(done, task_id, run.attempt)
                await steps.bring_back(tx, task_id, outcome)
        except StaleAttempt:
            async with self._database.principal_scope(run.principal, durable=False) as tx:
                await steps.count_late(tx, task_id)
            raise


def demand(done: bool, task_id: UUID, attempt: int) -> None:
    """Raise `StaleAttempt` for a write that changed nothing."""
    if not done:
        raise StaleAttempt(f"attempt {attempt} no longer holds task {task_id}")


async def conclude_run(
    tx: Transaction, task_id: UUID, attempt: int, ended: RunEnded, entries: Sequence[tuple[int, str, str]] = ()
) -> bool:
    """Write task row, last events, leftover steps, session and conflicts, in one statement; False, and nothing changed,
    when the attempt no longer holds the task or the event before is missing."""
    told = ended.status.value, ended.result, ended.error_message, ended.flow_action, ended.metadata, ended.plan
    turn = _text_of(ended.result), _agent_of(ended.result, ended.metadata)
    return await steps.end_run(tx, task_id, attempt, told, turn, entries, conflicts.columns(ended.conflicts))


async def stop_run(tx: Transaction, root_task_id: UUID, reason: str) -> tuple[Place, int, TaskCancelled] | None:
    """Cancel an own run with its steps, and write its last event; what is to be told once that is committed. None, and
    nothing changed, when it has ended or is somebody else's."""
    stopped = await tasks.cancel(tx, root_task_id, reason)
    if stopped is None:
        return None
    attempt, session_id = stopped
    event = TaskCancelled(reason=reason)
    seq = await events.append_next(tx, root_task_id, attempt, event.type, json_of(event))
    await steps.stop_children(tx, root_task_id)
    await sessions.close_turn(tx, session_id, TaskStatus.CANCELLED.value, None, None)
    return Place.of(tx.principal, session_id, root_task_id, attempt), seq, event


def _text_of(result: Mapping[str, Any] | None) -> str | None:
    answer = (result or {}).get("answer") or (result or {}).get("fallback_answer")
    return str(answer) if answer else None


def _agent_of(result: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None) -> str | None:
    """The agent follow-up questions go to: whose answer counted, else the first one that was asked."""
    agents = ((result or {}).get("execution_metadata") or {}).get("agents_invoked") or ()
    return (metadata or {}).get("active_agent") or (str(agents[0]) if agents else None)
