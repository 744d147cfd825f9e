"""The worker: takes jobs from the queue, runs their tasks, and sees every one of them to an end.

A run whose process died is taken up under the next attempt number; one whose handler raises ends in one
``task_failed``. A handed out step is not given back: its leader hands it out again.
"""

import asyncio
import socket
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import uuid4

import structlog
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Job as QueuedJob

from app.domain.answer import ErrorAnswer
from app.domain.principal import Principal
from app.domain.tasks import HandedStep, Task, TaskKind, TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import Redispatched, TaskFailed
from app.journal import Journal
from app.storage.database import Database
from app.tasks.leases import Leases, Recovery, StepNotifications
from app.tasks.queue import IN_PROCESS, Consumer, Job, JobQueue, line_of, read_job
from app.tasks.registry import TaskRegistry
from app.tasks.run import Handler, StepHandler, TaskRun
from app.tasks.watchdog import LONGEST_PAUSE_SECONDS, Loop, Watchdog

__all__ = ["Handler", "TaskRun", "Worker"]
_RESTART_SECONDS = 1.0
_SETTLE_SECONDS = 5.0
"""A job waits so long for the writes of an outage to be brought in before it is given back."""
_MAX_DOUBLINGS = 2
_LEASE_MARGIN_SECONDS = 0.05
_SILENCE_SECONDS = 20.0
_log = structlog.get_logger(__name__)


class Worker:
    """Runs tasks of all tenants, each with the rights of the person who registered it."""

    def __init__(
        self,
        database: Database,
        registry: TaskRegistry,
        journal: Journal,
        handlers: Mapping[TaskKind, Handler],
        *,
        queues: Collection[str] = IN_PROCESS,
        step_handler: StepHandler | None = None,
        step_limits: Mapping[str, int] | None = None,
        max_concurrent_runs: int = 20,
        max_ingestions: int = 4,
        silence_seconds: float = _SILENCE_SECONDS,
        worker_id: str | None = None,
        further_loops: Mapping[str, Loop] | None = None,
    ):
        """`queues`: ``chat``, ``ingest``, and agents whose steps `step_handler` does here; `step_limits` holds for an
        agent over all workers, as `max_ingestions` does for documents. A loop silent for `silence_seconds` is started
        anew."""
        self.worker_id = worker_id or f"{socket.gethostname()}:{uuid4().hex[:8]}"
        self.queues = tuple(queues)
        self._database = database
        self._registry = registry
        self._journal = journal
        self._step_journal = Journal(database, StepNotifications(journal.wake))
        self._handlers = handlers
        self._step_handler = step_handler
        self._holdings = Leases(database, registry, journal)
        runs = {line_of(one): max_ingestions if one == "ingest" else 0 for one in queues if one in IN_PROCESS}
        steps = {line_of(one): (step_limits or {}).get(one, 0) for one in queues if one not in IN_PROCESS}
        self._consumers = {
            name: Consumer(
                database, take, lines, max_concurrent=max_concurrent_runs, lease_seconds=registry.lease_seconds
            )
            for name, take, lines in (("runs", self._take, runs), ("steps", self._take_step, steps))
            if lines
        }
        pause = min(max(registry.lease_seconds / 6, 1.0), LONGEST_PAUSE_SECONDS)
        loops = {**self._loops(), **(further_loops or {})}
        self._watchdog = Watchdog(loops, max(silence_seconds, 2 * pause))

    def _loops(self) -> dict[str, Loop]:
        recovery = Recovery(self._database, self._journal, JobQueue(), self._registry.lease_seconds)
        return {
            **{f"consume {name}": consumer.keep_consuming for name, consumer in self._consumers.items()},
            "look": self._holdings.keep_looking,
            "renew": self._holdings.keep_renewing,
            "hear": self._holdings.keep_hearing,
            "recover": recovery.keep_recovering,
        }

    @property
    def is_well(self) -> bool:
        """Whether it is started and all of it gives signs of life."""
        return self._watchdog.is_well

    @property
    def beyond_help(self) -> asyncio.Event:
        """Set when part of it hangs although it was started anew: its process should be replaced."""
        return self._watchdog.beyond_help

    async def start(self) -> None:
        """Begin to take jobs in the background."""
        self._watchdog.start()

    async def stop(self, grace_seconds: float = 10) -> None:
        """Take no more jobs, let the running ones end for a while, then give the rest back to the queue."""
        for consumer in self._consumers.values():
            consumer.stop()
        if self._holdings.work:
            _, late = await asyncio.wait(self._holdings.work, timeout=grace_seconds)
            for work in late:
                work.cancel()
        if self.is_well:
            leaving = [asyncio.create_task(consumer.stopped.wait()) for consumer in self._consumers.values()]
            _, staying = await asyncio.wait(leaving, timeout=grace_seconds + _RESTART_SECONDS)
            for waiting in staying:
                waiting.cancel()
        await self._watchdog.stop()

    async def _take(self, queued: QueuedJob) -> None:
        """One run's job. Returning ends it; `RetryRequested` gives it back."""
        if (job := _read(queued)) is None:
            return
        if not await self._journal.outage.is_settled_within(_SETTLE_SECONDS):
            raise RetryRequested(timedelta(seconds=_RESTART_SECONDS), "what was spooled comes first")
        try:
            task = await self._registry.claim_task(job.owner, job.task_id, self.worker_id)
            if task is None:
                await self._give_back(job, 0)  # held by somebody who may yet fall silent, or ended
                return
            await self._see_through(job, task)
        except AppError as error:
            # The database went away: the job stays, its lease runs out.
            raise RetryRequested(timedelta(seconds=_RESTART_SECONDS), error.code.value) from error

    async def _see_through(self, job: Job, task: Task) -> None:
        """Wait for a claimed run; giving it up does not end the job with it, nor the other way round."""
        work = self._holdings.hold(job.owner, task, self._run(task.principal or job.owner, task)).work
        await asyncio.wait([work])
        if work.cancelled():
            # Its owner cancelled it, another attempt took over, or this worker stops: only the last gives it back.
            await self._registry.release_lease(job.owner, task.task_id, task.attempt)
            await self._give_back(job, 0)
        elif work.exception() is not None:
            await self._give_back(job, _RESTART_SECONDS * 2 ** min(task.attempt, _MAX_DOUBLINGS))
        elif not work.result():
            await self._give_back(job, 0)

    async def _give_back(self, job: Job, delay_seconds: float) -> None:
        """Leave a task that has not ended to the next attempt, when its lease is over and some time has passed."""
        left = await self._registry.lease_remaining(job.owner, job.task_id)
        if left is not None:
            raise RetryRequested(timedelta(seconds=max(left + _LEASE_MARGIN_SECONDS, delay_seconds)))

    async def _run(self, principal: Principal, task: Task) -> bool:
        return await self._carry_out(await self._begun(self._journal, principal, task))

    async def _take_step(self, queued: QueuedJob) -> None:
        """One handed out step's job. It always ends: a step that was not done is handed out again by its leader."""
        if (job := _read(queued)) is None:
            return
        try:
            step = await self._registry.steps.take_up(job.owner, job.task_id, self.worker_id)
            if step is None:
                _log.info("step_not_taken", task_id=job.task_id)
                return
            work = self._holdings.hold(job.owner, step.task, self._do_step(step)).work
            await asyncio.wait([work])
            error = None if work.cancelled() else work.exception()
            if error is not None:
                _log.error("step_crashed", task_id=job.task_id, attempt=step.attempt, exc_info=error)
            if work.cancelled() or error is not None:
                await self._registry.release_lease(job.owner, job.task_id, step.attempt)
        except AppError as error:
            _log.warning("step_left", task_id=job.task_id, code=error.code.value)

    async def _do_step(self, step: HandedStep) -> bool:
        assert self._step_handler is not None and step.task.principal is not None
        run = await self._begun(self._step_journal, step.task.principal, step.task)
        try:
            await self._step_handler(run, step)
        except StaleAttempt:
            _log.warning("step_result_late", task_id=step.task.task_id, attempt=step.attempt)
        finally:
            await run.writer.aclose()
        return run.writer.has_ended

    async def _begun(self, journal: Journal, principal: Principal, task: Task) -> TaskRun:
        writer = await journal.writer(principal, task)
        self._holdings.attach(task.task_id, task.attempt, writer)
        check = partial(self._holdings.check, task.task_id, task.attempt)
        return TaskRun(principal, task, task.attempt, writer, check)

    async def _carry_out(self, run: TaskRun) -> bool:
        """Take a claimed task to its terminal event, or let it wait for a person; whether that was committed here. What
        goes wrong is told there, and raised only when it cannot be told."""
        try:
            await self._attempt(run)
        except StaleAttempt:
            _log.info("run_lost", task_id=run.task.task_id, attempt=run.attempt)
        except AppError as error:
            await self._fail_after(run, error, error.code, error.detail)
        except Exception as error:
            _log.exception("run_crashed", task_id=run.task.task_id, kind=run.task.kind, attempt=run.attempt)
            await self._fail_after(run, error, ErrorCode.INTERNAL, "The run failed unexpectedly.")
        finally:
            await run.writer.aclose()
        return run.writer.has_ended

    async def _attempt(self, run: TaskRun) -> None:
        tries = run.attempt - run.task.parked_attempt
        if run.attempt > 1 and (tries > 1 or not run.task.parked_attempt):
            run.writer.append(Redispatched(attempt=run.attempt))
        if tries > 1 + self._registry.max_redispatches:
            await self._fail(run, ErrorCode.AGENT_EXECUTION_FAILED, "The run was started too often without ending.")
            return
        if self._registry.is_overdue(run.task):
            await self._fail(run, ErrorCode.RUN_DEADLINE_EXCEEDED, "The run did not start before its deadline.")
            return
        await self._handle(run)
        if not run.writer.has_ended:
            raise RuntimeError("the handler ended without a terminal event")

    async def _handle(self, run: TaskRun) -> None:
        handler = self._handlers.get(run.task.kind)
        if handler is None:
            raise AppError(ErrorCode.INTERNAL, f"No worker handles tasks of kind {run.task.kind}.", status=500)
        await handler(run)

    async def _fail_after(self, run: TaskRun, error: Exception, code: ErrorCode, message: str) -> None:
        """Tell the failure, unless the database is what failed: then the run is left to its next attempt."""
        if code is ErrorCode.DATABASE_UNAVAILABLE:
            raise error
        with suppress(StaleAttempt):
            if not run.writer.has_ended:
                await self._fail(run, code, message)

    async def _fail(self, run: TaskRun, code: ErrorCode, message: str) -> None:
        answer = ErrorAnswer.bare(code.value, message)
        ids = {"session_id": str(run.task.session_id), "task_id": str(run.task.task_id)}
        result = {**answer, **ids, "outcome": "failed"}
        await self._registry.finish(
            run, status=TaskStatus.FAILED, result=result, metadata={"outcome": "failed"}, error_message=message,
            event=TaskFailed(answer=result),
        )  # fmt: skip


def _read(queued: QueuedJob) -> Job | None:
    try:
        return read_job(queued.payload)
    except ValueError:
        _log.error("job_unreadable", job_id=queued.id)
        return None
