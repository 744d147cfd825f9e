"""The append-only log of every run: written by the one holder of the run, followed by whoever may see it.

Truth is the table; the bus only says "look". An entry is seen by the owner of its task, by nobody else. What was
committed asynchronously can be lost when PostgreSQL itself crashes (never when this process does); the terminal entry
is committed synchronously, together with the task it ends.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from app.bus import Bus
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import Event, JournalEntry, read_event
from app.storage import events as rows
from app.storage.database import Database, Transaction
from app.storage.json_text import dump, storable

FLUSH_SECONDS: Final = 0.025
"""Events are committed in batches about this often."""
POLL_SECONDS: Final = 0.5
"""A follower looks at least this often, whatever the bus says."""
_RETRY_SECONDS = 0.5
_PAGE = 500
_log = logging.getLogger(__name__)


class Journal:
    """Every run's events."""

    def __init__(self, database: Database, wake: Bus):
        self._database = database
        self.wake: Final = wake

    async def read(self, principal: Principal, task_id: UUID, after: int = 0) -> list[JournalEntry]:
        """The entries behind `after`, in order. Raises `AppError` (404) for unknown and foreign tasks alike."""
        entries: list[JournalEntry] = []
        while True:
            async with self._database.principal_scope(principal) as tx:
                page = await rows.read(tx, task_id, after, _PAGE)
            if page is None:
                raise not_found()
            entries += [JournalEntry(seq=seq, event=read_event(event)) for seq, event in page]
            if len(page) < _PAGE:
                return entries
            after = page[-1][0]

    async def follow(self, principal: Principal, task_id: UUID, after: int = 0) -> AsyncGenerator[JournalEntry, None]:
        """The entries behind `after`, then new ones as they are committed; ends after the terminal entry.

        Raises `AppError` (404) for unknown and foreign tasks, also when the task is erased meanwhile. Holds no
        connection while its reader is slow.
        """
        async with self.wake.subscribe(topic_of(task_id)) as hints:
            while True:
                for entry in await self.read(principal, task_id, after):
                    after = entry.seq
                    yield entry
                    if entry.is_terminal:
                        return
                await hints.next_within(POLL_SECONDS)

    async def writer(self, principal: Principal, task_id: UUID, attempt: int) -> "JournalWriter":
        """The writer of a claimed run; it goes on behind what earlier attempts wrote."""
        async with self._database.principal_scope(principal) as tx:
            last = await rows.last_seq(tx, task_id)
        return JournalWriter(self._database, self.wake, principal, task_id, attempt, last)

    async def announce(self, task_id: UUID) -> None:
        """Tell followers to look."""
        await self.wake.publish(topic_of(task_id), {"task_id": str(task_id)})


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


def not_found() -> AppError:
    """The same answer for a foreign and for an unknown id."""
    return AppError(ErrorCode.NOT_FOUND, "There is no such task.", status=404)
