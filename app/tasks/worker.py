"""The worker: takes jobs from the queue, runs their tasks, and sees every one of them to an end.

A run that dies with its process is taken up by the next worker when its lease is over, from the start, under the next
attempt number. A run whose handler raises ends in exactly one ``task_failed``.
"""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Protocol
from uuid import UUID, uuid4

import structlog
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Job as QueuedJob
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from app.domain.answer import ErrorAnswer, to_json
from app.domain.principal import Principal
from app.domain.tasks import Task, TaskKind, TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import Redispatched, TaskFailed
from app.journal import Journal
from app.storage.database import Database
from app.tasks.queue import CHAT, INGESTION, Job, read_job
from app.tasks.registry import CANCEL_TOPIC, TaskRegistry
from app.tasks.run import Handler, TaskRun

__all__ = ["Handler", "TaskRun", "Worker"]
_POOL_SIZE = 4
_RESTART_SECONDS = 1.0
_MAX_BATCH = 10
_MAX_DOUBLINGS = 5
_LEASE_MARGIN_SECONDS = 0.05
_log = structlog.get_logger(__name__)


class _Closable(Protocol):
    async def close(self) -> None: ...

    def terminate(self) -> None: ...


class Worker:
    """Runs tasks of all tenants, each with the rights of the person who registered it."""

    def __init__(
        self,
        database: Database,
        registry: TaskRegistry,
        journal: Journal,
        handlers: Mapping[TaskKind, Handler],
        *,
        max_concurrent_runs: int = 20,
        max_ingestions: int = 4,
        worker_id: str | None = None,
    ):
        """`max_ingestions` documents are read at a time by all workers together, however many wait."""
        self._database = database
        self._registry = registry
        self._journal = journal
        self._handlers = handlers
        self._max_concurrent = max(2, max_concurrent_runs)
        self._max_ingestions = max_ingestions
        self.worker_id = worker_id or f"{socket.gethostname()}:{uuid4().hex[:8]}"
        self._runs: dict[UUID, asyncio.Task[bool]] = {}
        self._manager: QueueManager | None = None
        self._background: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        """Begin to take jobs in the background."""
        self._background = [asyncio.create_task(self._keep_consuming()), asyncio.create_task(self._heed_cancels())]

    async def stop(self, grace_seconds: float = 10) -> None:
        """Take no more jobs, let the running ones end for a while, then give the rest back to the queue."""
        self._stopping.set()
        if self._manager is not None:
            self._manager.shutdown.set()
        running = list(self._runs.values())
        if running:
            _, late = await asyncio.wait(running, timeout=grace_seconds)
            for run in late:
                run.cancel()
        if self._background:
            consuming, heeding = self._background
            heeding.cancel()
            await asyncio.wait([consuming], timeout=grace_seconds + _RESTART_SECONDS)
            consuming.cancel()
            await asyncio.gather(consuming, heeding, return_exceptions=True)

    async def _keep_consuming(self) -> None:
        """Consume until stopped; a lost database is waited for."""
        while not self._stopping.is_set():
            try:
                await self._consume()
            except Exception:
                _log.exception("worker_interrupted", worker_id=self.worker_id)
            with suppress(TimeoutError):
                async with asyncio.timeout(_RESTART_SECONDS):
                    await self._stopping.wait()

    async def _consume(self) -> None:
        lease = self._registry.lease_seconds
        pool = await self._database.open_driver_pool(_POOL_SIZE)
        try:
            manager = QueueManager(Queries(AsyncpgPoolDriver(pool)))
            manager.entrypoint(CHAT, accepts_context=False)(self._take)
            manager.entrypoint(INGESTION, accepts_context=False, concurrency_limit=self._max_ingestions)(self._take)
            self._manager = manager
            if self._stopping.is_set():
                return
            await manager.run(
                dequeue_timeout=timedelta(seconds=min(max(lease / 4, 0.2), 5)),
                batch_size=min(_MAX_BATCH, self._max_concurrent // 2),
                max_concurrent_tasks=self._max_concurrent,
                shutdown_on_listener_failure=True,
                heartbeat_timeout=timedelta(seconds=lease),
            )
        finally:
            self._manager = None
            await _close(pool)

    async def _heed_cancels(self) -> None:
        async with self._journal.wake.subscribe(CANCEL_TOPIC) as cancelled:
            async for message in cancelled:
                run = self._runs.get(UUID(message["task_id"]))
                if run is not None:
                    run.cancel()

    async def _take(self, queued: QueuedJob) -> None:
        """One job. Returning ends it; `RetryRequested` gives it back."""
        try:
            job = read_job(queued.payload)
        except ValueError:
            _log.error("job_unreadable", job_id=queued.id)
            return
        try:
            task = await self._registry.claim(job.owner, job.task_id, self.worker_id)
            if task is None:
                await self._give_back(job, 0)  # held by somebody who may yet fall silent, or ended
                return
            await self._hold(job, task)
        except AppError as error:
            # The database went away: the job stays, its lease runs out.
            raise RetryRequested(timedelta(seconds=_RESTART_SECONDS), error.code.value) from error

    async def _hold(self, job: Job, task: Task) -> None:
        """Run a claimed task in a task of its own, so that giving it up does not end the job with it."""
        run = asyncio.create_task(self._run(task.principal or job.owner, task))
        renewing = asyncio.create_task(self._renew(job, task.attempt, run))
        self._runs[task.task_id] = run
        try:
            await asyncio.wait([run])
        finally:
            renewing.cancel()
            if self._runs.get(task.task_id) is run:
                del self._runs[task.task_id]
        if run.cancelled():
            # Its owner cancelled it, another attempt took over, or this worker stops: only the last gives it back.
            await self._registry.release_lease(job.owner, task.task_id, task.attempt)
            await self._give_back(job, 0)
        elif run.exception() is not None:
            await self._give_back(job, _RESTART_SECONDS * 2 ** min(task.attempt, _MAX_DOUBLINGS))
        elif not run.result():
            await self._give_back(job, 0)

    async def _give_back(self, job: Job, delay_seconds: float) -> None:
        """Leave a task that has not ended to the next attempt, when its lease is over and some time has passed."""
        left = await self._registry.lease_remaining(job.owner, job.task_id)
        if left is not None:
            raise RetryRequested(timedelta(seconds=max(left + _LEASE_MARGIN_SECONDS, delay_seconds)))

    async def _renew(self, job: Job, attempt: int, run: "asyncio.Task[bool]") -> None:
        """Keep the lease while the run goes on; stop the run when the lease is lost."""
        while True:
            await asyncio.sleep(self._registry.lease_seconds / 3)
            try:
                if not await self._registry.renew_lease(job.owner, job.task_id, attempt):
                    run.cancel()
                    return
            except Exception as error:
                _log.warning("lease_not_renewed", task_id=job.task_id, error_class=type(error).__name__)

    async def _run(self, principal: Principal, task: Task) -> bool:
        """Take a claimed task to its terminal event; whether that was committed here. What goes wrong is told there,
        and raised only when it cannot be told."""
        writer = await self._journal.writer(principal, task.task_id, task.attempt)
        run = TaskRun(principal=principal, task=task, attempt=task.attempt, writer=writer)
        try:
            await self._attempt(run)
        except StaleAttempt:
            _log.info("run_lost", task_id=task.task_id, attempt=task.attempt)
        except AppError as error:
            await self._fail_after(run, error, error.code, error.detail)
        except Exception as error:
            _log.exception("run_crashed", task_id=task.task_id, kind=task.kind, attempt=task.attempt)
            await self._fail_after(run, error, ErrorCode.INTERNAL, "The run failed unexpectedly.")
        finally:
            await writer.aclose()
        return writer.has_ended

    async def _attempt(self, run: TaskRun) -> None:
        if run.attempt > 1:
            run.writer.append(Redispatched(attempt=run.attempt))
        if run.attempt > 1 + self._registry.max_redispatches:
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
        answer = to_json(
            ErrorAnswer(
                error=True, error_code=code.value, error_message=message, partial_results={}, fallback_answer="",
                flow_action=(),
            )
        )  # fmt: skip
        ids = {"session_id": str(run.task.session_id), "task_id": str(run.task.task_id)}
        result = {**answer, **ids, "outcome": "failed"}
        await self._registry.finish(
            run, status=TaskStatus.FAILED, result=result, metadata={"outcome": "failed"}, error_message=message,
            event=TaskFailed(answer=result),
        )  # fmt: skip


async def _close(pool: _Closable) -> None:
    """Close the queue's connections, by force when the database does not answer."""
    try:
        async with asyncio.timeout(_RESTART_SECONDS):
            await pool.close()
    except Exception:
        pool.terminate()
