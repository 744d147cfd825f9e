"""Runs that begin while the database is away: registered in the spool, carried out in this process at once."""

import asyncio
import socket
from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

import structlog

from app.domain.principal import Principal
from app.domain.tasks import NewTask, Task, TaskStatus
from app.errors import AppError, ErrorCode
from app.journal import Journal
from app.journal.spool_records import Registered
from app.tasks.registry import TaskRegistry
from app.tasks.run import Handler, TaskRun
from app.tasks.worker import Attempts

_log = structlog.get_logger(__name__)


class OfflineRuns:
    """Carries out root tasks the database has never seen. What does not end here is run again from the database."""

    def __init__(
        self,
        journal: Journal,
        registry: TaskRegistry,
        handler: Handler,
        clock: Callable[[], datetime],
        max_concurrent: int = 20,
    ):
        """`handler` must not need the database."""
        self._journal = journal
        self._attempts = Attempts(registry, {"chat": handler})
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._running: set[asyncio.Task[None]] = set()
        self._name = f"{socket.gethostname()}:offline:{uuid4().hex[:8]}"

    async def begin(
        self, principal: Principal, new_task: NewTask, idempotency_key: str | None, request_hash: str
    ) -> None:
        """Put a root task into the spool and carry it out in the background; one begun here is not begun again.

        Raises `AppError` (503) when the spool has no room, or too many run already.
        """
        if self._journal.outage.run_here(principal, new_task.task_id) is not None:
            return
        if len(self._running) >= self._max_concurrent:
            detail = "Too many questions are being answered without the database. Try again shortly."
            raise AppError(ErrorCode.OVERLOADED, detail, status=503, retry_after_seconds=2)
        registered = Registered(new_task=new_task, idempotency_key=idempotency_key, request_hash=request_hash)
        writer = await self._journal.begin_spooled(principal, registered, self._name)
        task = _as_claimed(principal, new_task, self._name, self._clock())
        carrying = asyncio.create_task(self._carry_out(TaskRun(principal, task, task.attempt, writer)))
        self._running.add(carrying)
        carrying.add_done_callback(self._running.discard)

    async def aclose(self, grace_seconds: float = 2) -> None:
        """Let the running ones end for a while; the rest stays in the spool as it is."""
        if self._running:
            await asyncio.wait(self._running, timeout=grace_seconds)
        for left in list(self._running):
            left.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _carry_out(self, run: TaskRun) -> None:
        try:
            await self._attempts.carry_out(run)
        except AppError as error:  # whoever waits for it is told; nothing of it is kept
            _log.warning("offline_run_failed", task_id=run.task.task_id, code=error.code.value)


def _as_claimed(principal: Principal, new_task: NewTask, claimant: str, now: datetime) -> Task:
    """The task as it will stand in the database: held by its first attempt."""
    return Task(
        **new_task.model_dump(exclude={"token_limit"}),
        status=TaskStatus.IN_PROGRESS,
        plan=None,
        result=None,
        flow_action=None,
        metadata={},
        error_message=None,
        attempt=1,
        claimed_by=claimant,
        lease_until=None,
        created_at=now,
        updated_at=now,
        completed_at=None,
        principal=principal,
    )
