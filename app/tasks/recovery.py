"""Finds runs that nobody works on and that no job will bring to anybody, and gives them a job again; and those that
waited for a person in vain, and ends them."""

import asyncio
from collections.abc import Callable

import structlog

from app.journal import Journal
from app.storage import delivery, parking
from app.storage.database import Database
from app.tasks.approvals import give_up
from app.tasks.queue import Job, JobQueue, line_of
from app.tasks.watchdog import LONGEST_PAUSE_SECONDS

_MOST = 100
_LEAST_QUIET_SECONDS, _LONGEST_QUIET_SECONDS = 1.0, 2.0
_PATIENCE_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class Recovery:
    """Every worker recovers; the database lets one at a time."""

    def __init__(self, database: Database, journal: Journal, queue: JobQueue, lease_seconds: float):
        self._database = database
        self._journal = journal
        self._queue = queue
        pause = max(lease_seconds / 6, _LEAST_QUIET_SECONDS)
        self._quiet_seconds = min(pause, _LONGEST_QUIET_SECONDS)
        self._pause = min(pause, LONGEST_PAUSE_SECONDS)

    async def keep_recovering(self, beat: Callable[[], None]) -> None:
        """Recover now and then, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    await self.recover()
                    await self.end_waiting()
            except Exception as error:
                _log.warning("not_recovered", error_class=type(error).__name__)
            beat()
            await asyncio.sleep(self._pause)

    async def recover(self) -> int:
        """Give every forgotten run a job; how many there were."""
        async with self._database.operator_scope() as tx:
            if not await delivery.may_recover(tx):
                return 0
            forgotten = await delivery.runs_without_job(tx, self._quiet_seconds, _MOST)
            for run in forgotten:
                job = Job(tenant_id=run.tenant_id, user_id=run.user_id, task_id=run.task_id)
                await self._queue.enqueue_again(tx, job, line_of("ingest" if run.kind == "ingest" else "chat"))
                _log.warning("run_recovered", task_id=run.task_id, kind=run.kind)
            return len(forgotten)

    async def end_waiting(self) -> int:
        """Cancel every run that waited for too long; how many there were."""
        async with self._database.operator_scope() as tx:
            late = await parking.in_vain(tx, _MOST)
        ended = 0
        for one in late:
            job = Job(tenant_id=one.tenant_id, user_id=one.user_id, task_id=one.task_id)
            async with self._database.principal_scope(job.owner) as own:
                told = await give_up(own, one.task_id)
            if told is not None:
                ended += 1
                await self._journal.tell(*told)
                _log.info("run_waited_in_vain", task_id=one.task_id)
        return ended
