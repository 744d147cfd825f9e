"""Writing a run's events: the one holder of the run appends, batches are committed about every 25 ms."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from app.bus import Bus
from app.domain.principal import Principal
from app.errors import AppError, StaleAttempt
from app.events import Event
from app.storage import events as rows
from app.storage.database import Database, Transaction
from app.storage.json_text import dump, storable

FLUSH_SECONDS: Final = 0.025
"""Events are committed in batches about this often."""
_RETRY_SECONDS = 0.5
_log = logging.getLogger(__name__)


class JournalWriter:
    """Appends the events of one attempt. A write of an attempt that lost its lease changes nothing."""

    def __init__(self, database: Database, wake: Bus, principal: Principal, task_id: UUID, attempt: int, last_seq: int):
        self.task_id: Final = task_id
        self.attempt: Final = attempt
        self._database = database
        self.wake: Final = wake
        self._principal = principal
        self._last_seq = last_seq
        self._waiting: list[tuple[int, str, str]] = []
        self._flushing = asyncio.Lock()
        self._flusher: asyncio.Task[None] | None = None
        self._stale: StaleAttempt | None = None
        self._closed = False
        self._ended = False

    @property
    def has_ended(self) -> bool:
        """Whether this attempt committed the run's terminal event."""
        return self._ended

    def append(self, event: Event) -> None:
        """Append an event; it is committed within about 25 ms. Raises `StaleAttempt` once the run was lost."""
        if self._stale is not None:
            raise self._stale
        if self._closed:
            raise StaleAttempt(f"the journal of task {self.task_id} is closed")
        self._enqueue(event)
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush_soon())

    async def flush(self) -> None:
        """Commit what is waiting. Raises `StaleAttempt`, or `AppError` (503) and keeps the events for later."""
        async with self._flushing:
            if self._stale is not None:
                raise self._stale
            if not self._waiting:
                return
            batch = list(self._waiting)
            try:
                async with self._database.principal_scope(self._principal, durable=False) as tx:
                    await rows.append(tx, self.task_id, self.attempt, batch)
            except StaleAttempt as lost:
                self._stale = lost
                raise
            del self._waiting[: len(batch)]
        await self._announce()

    @asynccontextmanager
    async def ending(self) -> AsyncIterator[None]:
        """Surround the transaction that ends the run with this: nothing else is committed meanwhile.

        When the body succeeds the journal is closed and followers are told; when it raises, the events wait as before.
        """
        async with self._flushing:
            yield
            self._closed = self._ended = True
            self._waiting.clear()
        await self._stop_flushing()
        await self._announce()

    async def append_in(self, tx: Transaction, event: Event) -> None:
        """Inside `ending`: write what is waiting and the terminal event in the caller's transaction.

        The task must still be in progress there. Raises `StaleAttempt`.
        """
        last = (self._last_seq + 1, event.type, json_of(event))
        await rows.append(tx, self.task_id, self.attempt, [*self._waiting, last])

    async def aclose(self) -> None:
        """Commit what is waiting, if it still can be, and stop. Never raises."""
        self._closed = True
        await self._stop_flushing()
        try:
            await self.flush()
        except Exception:  # lost to another attempt, or the database is away: the next attempt starts over
            _log.info("events_given_up", extra={"task_id": str(self.task_id), "attempt": self.attempt})

    def _enqueue(self, event: Event) -> None:
        self._last_seq += 1
        self._waiting.append((self._last_seq, event.type, json_of(event)))

    async def _flush_soon(self) -> None:
        """Commit batches until nothing is left; an absent database is waited for."""
        pause = FLUSH_SECONDS
        while self._waiting:
            await asyncio.sleep(pause)
            try:
                await self.flush()
                pause = FLUSH_SECONDS
            except StaleAttempt:
                return
            except AppError:
                pause = _RETRY_SECONDS
            except Exception:  # the run finds out when it tries to end
                _log.exception("events_not_committed", extra={"task_id": str(self.task_id), "attempt": self.attempt})
                return

    async def _stop_flushing(self) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.wait([self._flusher])

    async def _announce(self) -> None:
        await self.wake.publish(topic_of(self.task_id), {"task_id": str(self.task_id)})


def json_of(event: Event) -> str:
    """The event as it is stored."""
    try:
        return storable(event.model_dump_json())
    except ValueError:  # text that is not Unicode
        return dump(event.model_dump())


def topic_of(task_id: UUID) -> str:
    """The bus topic on which a root task's followers are told to look."""
    return f"journal:{task_id}"
