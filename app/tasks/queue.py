"""Delivery: a job per root task, put into the database in the same transaction as the task's row, and one for every
time a step of a remote agent is handed out, in the transaction that hands it out.

A job holds ids only, because every process of the service may read it.
"""

import json
from datetime import timedelta
from uuid import UUID

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.domain.types import JobId
from pgqueuer.queries import Queries

from app.domain.principal import GENERAL, Principal
from app.domain.record import Record
from app.storage.database import OperatorTransaction, Transaction

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
        return Principal(
            tenant_id=self.tenant_id,
            user_id=self.user_id,
            department=GENERAL,
            departments=frozenset({GENERAL}),
            scopes=frozenset(),
        )


class JobQueue:
    """Puts jobs into PgQueuer's table."""

    async def enqueue(self, tx: Transaction, task_id: UUID, line: str = CHAT, *, delay_seconds: float = 0) -> JobId:
        """Add a job in the caller's transaction; a worker sees it when (and only if) that is committed."""
        job = Job(tenant_id=tx.principal.tenant_id, user_id=tx.principal.user_id, task_id=task_id)
        return await self._put(tx, job, line, delay_seconds)

    async def enqueue_again(self, tx: OperatorTransaction, job: Job, line: str) -> JobId:
        """Add a job for a task that has lost its own."""
        return await self._put(tx, job, line, 0)

    async def _put(self, tx: Transaction | OperatorTransaction, job: Job, line: str, delay_seconds: float) -> JobId:
        queries = Queries(AsyncpgDriver(tx.driver))
        delay = timedelta(seconds=delay_seconds) if delay_seconds else None
        [job_id] = await queries.enqueue(line, job.model_dump_json().encode(), execute_after=delay)
        return job_id


def read_job(payload: bytes | None) -> Job:
    """The job in a payload; raises ``ValueError`` when it is none."""
    return Job.model_validate(json.loads(payload or b""))
