"""Deliver tasks: a job is put into the database in the same transaction as the row of its root task, or as the handing
out of a step. It holds ids only, because every process may read it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.domain.models import Job as QueuedJob
from pgqueuer.domain.types import JobId, QueueEntrypoint
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from app.domain.principal import Principal
from app.domain.record import Record
from app.storage.database import Database, OperatorTransaction, Transaction
from app.tasks.watchdog import LONGEST_PAUSE_SECONDS

CHAT, INGESTION = "run_task", "ingest_document"
"""The two lines root tasks wait in: a folder full of documents must not keep a question waiting."""
IN_PROCESS = ("chat", "ingest")
"""The queues, as people name them, of a worker inside a server: whole runs and documents, never single steps."""
_STEP = "step:"


def line_of(queue: str) -> str:
    """The line behind a queue's name: ``chat``, ``ingest``, or an agent's name for its steps."""
    return {"chat": CHAT, "ingest": INGESTION}.get(queue) or f"{_STEP}{queue}"


def queue_of(line: str) -> str:
    """The name of the queue behind a line."""
    return {CHAT: "chat", INGESTION: "ingest"}.get(line) or line.removeprefix(_STEP)


class Job(Record):
    """Which task to run, and whose it is."""

    tenant_id: UUID
    user_id: UUID
    task_id: UUID

    @property
    def owner(self) -> Principal:
        """The task's owner without any right to knowledge: enough to claim the task, which knows the real caller."""
        return Principal.without_rights(self.tenant_id, self.user_id)


class JobQueue:
    """Puts jobs into PgQueuer's table."""

    async def enqueue(self, tx: Transaction, task_id: UUID, line: str = CHAT, others: int = 0) -> JobId:
        """Add a job in the caller's transaction; a worker sees it when (and only if) that is committed. Who has fewer
        `others` before it is taken first, equals by their age."""
        job = Job(tenant_id=tx.principal.tenant_id, user_id=tx.principal.user_id, task_id=task_id)
        return await self.enqueue_job(tx, job, line, others)

    async def enqueue_job(self, tx: Transaction | OperatorTransaction, job: Job, line: str, others: int = 0) -> JobId:
        """Add a job, also for a task that has lost its own."""
        queries = Queries(AsyncpgDriver(tx.driver))
        [job_id] = await queries.enqueue(line, job.model_dump_json().encode(), priority=-others)
        return job_id


def read_job(payload: bytes | None) -> Job:
    """The job in a payload; raises ``ValueError`` when it is none."""
    return Job.model_validate(json.loads(payload or b""))


_POOL_SIZE = 4
_RESTART_SECONDS = 1.0
_MAX_BATCH = 10
_log = structlog.get_logger(__name__)


_READY = """
with queued as not materialized (
    select execute_after from pgqueuer where status = 'queued' and entrypoint = any($1)
)
select exists (select from queued where execute_after <= now()) as ready,
    (select execute_after - now() from queued where execute_after > now() order by execute_after limit 1) as eta
"""


class _BeatingQueries(Queries):
    """Gives a sign of life whenever the lines were looked at; asks once what may be taken and when, not three times."""

    beat: Callable[[], None]
    _eta: timedelta | None = None

    async def dequeue(self, *args: Any, **kwargs: Any) -> list[QueuedJob]:
        found = await super().dequeue(*args, **kwargs)
        self.beat()
        return found

    async def eligible_queued_work(self, entrypoints: list[QueueEntrypoint]) -> int:
        row: Any = (await self.driver.fetch(_READY, entrypoints))[0]
        self._eta = row["eta"]
        return int(row["ready"])

    async def next_deferred_eta(self, entrypoints: list[QueueEntrypoint]) -> timedelta | None:
        return self._eta

    async def queued_work(self, entrypoints: list[QueueEntrypoint]) -> int:
        return 0  # asked where the same look found none ready and none later


class Consumer:
    """Consumes some lines, in one budget."""

    def __init__(
        self,
        database: Database,
        take: Callable[[QueuedJob], Awaitable[None]],
        lines: Mapping[str, int],
        *,
        max_concurrent: int,
        lease_seconds: float,
    ):
        """`lines`: how many jobs of each are done at a time by all workers together, 0 = as many as there are;
        `max_concurrent`: how many by this consumer."""
        self._database = database
        self._take = take
        self._lines = lines
        self._max_concurrent = max(2, max_concurrent)
        self._lease_seconds = lease_seconds
        self._manager: QueueManager | None = None
        self._stopping = asyncio.Event()
        self.stopped = asyncio.Event()

    def stop(self) -> None:
        """Take no more jobs; those that are being done end first."""
        self._stopping.set()
        if self._manager is not None:
            self._manager.shutdown.set()

    async def keep_consuming(self, beat: Callable[[], None]) -> None:
        """Consume until stopped; a lost database is waited for."""
        while not self._stopping.is_set():
            try:
                await self._consume(beat)
            except Exception:
                _log.exception("worker_interrupted")
            beat()
            with suppress(TimeoutError):
                async with asyncio.timeout(_RESTART_SECONDS):
                    await self._stopping.wait()
        self.stopped.set()
        while True:  # nothing is left to do, which is no silence
            beat()
            await asyncio.sleep(_RESTART_SECONDS)

    async def _consume(self, beat: Callable[[], None]) -> None:
        lease = self._lease_seconds
        pool = await self._database.open_driver_pool(_POOL_SIZE)
        try:
            queries = _BeatingQueries(AsyncpgPoolDriver(pool))
            queries.beat = beat
            manager = QueueManager(queries)
            for line, limit in self._lines.items():
                manager.entrypoint(line, accepts_context=False, concurrency_limit=limit)(self._take)
            self._manager = manager
            if self._stopping.is_set():
                return
            await manager.run(
                dequeue_timeout=timedelta(seconds=min(max(lease / 4, 0.2), LONGEST_PAUSE_SECONDS)),
                batch_size=min(_MAX_BATCH, self._max_concurrent // 2),
                max_concurrent_tasks=self._max_concurrent,
                shutdown_on_listener_failure=True,
                heartbeat_timeout=timedelta(seconds=lease),
            )
        finally:
            self._manager = None
            try:
                async with asyncio.timeout(_RESTART_SECONDS):
                    await pool.close()
            except Exception:  # the database does not answer
                pool.terminate()
