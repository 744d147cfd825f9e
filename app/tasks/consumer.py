"""Takes jobs out of lines with PgQueuer, and hands each to whoever does it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol

import structlog
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.domain.models import Job as QueuedJob
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from app.storage.database import Database
from app.tasks.watchdog import LONGEST_PAUSE_SECONDS

_POOL_SIZE = 4
_RESTART_SECONDS = 1.0
_MAX_BATCH = 10
_log = structlog.get_logger(__name__)


class _Closable(Protocol):
    async def close(self) -> None: ...

    def terminate(self) -> None: ...


class _BeatingQueries(Queries):
    """Gives a sign of life whenever the lines were looked at."""

    beat: Callable[[], None]

    async def dequeue(self, *args: Any, **kwargs: Any) -> list[QueuedJob]:
        found = await super().dequeue(*args, **kwargs)
        self.beat()
        return found


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
            await _close(pool)


async def _close(pool: _Closable) -> None:
    """Close the queue's connections, by force when the database does not answer."""
    try:
        async with asyncio.timeout(_RESTART_SECONDS):
            await pool.close()
    except Exception:
        pool.terminate()
