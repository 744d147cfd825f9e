"""Writing a run's events: the one holder of the run appends, batches are committed about every 25 ms."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog

from app.bus import Bus, Place, message_of
from app.errors import AppError, StaleAttempt
from app.events import Event, FinalReport, JournalEntry, TaskFailed
from app.journal.outage import Outage
from app.journal.spool_records import ActiveRun, ClaimedRun, EventsAppended, RunEnded, row_of
from app.storage import events as rows
from app.storage.database import Database, Transaction

FLUSH_SECONDS: Final = 0.025
"""Events are committed in batches about this often."""
_RETRY_SECONDS = 0.5
Rows = Sequence[tuple[int, str, str]]
"""Entries as they are stored: (seq, type, JSON)."""
_log = structlog.get_logger(__name__)


class JournalWriter:
    """Appends the events of one attempt. A write of an attempt that lost its lease changes nothing."""

    def __init__(
        self,
        database: Database,
        wake: Bus,
        outage: Outage,
        held: ClaimedRun,
        run: ActiveRun | None,
        last_seq: int,
        before: Sequence[JournalEntry] = (),
    ):
        """`run`: the run as the outage knows it; None = its events never wait in the spool. `before`: what the journal
        holds already, as far as it is known, without gaps up to `last_seq`."""
        self.task_id: Final = held.task_id
        self.attempt: Final = held.attempt
        self.run: Final = run
        self.wake: Final = wake
        self._database = database
        self._outage = outage
        self._principal = held.principal
        self._place = Place.of(held.principal, held.session_id, held.task_id, held.attempt)
        self._last_seq = last_seq
        self._told = list(before)
        """Everything up to what is waiting: a server that crashes forgets what it had not written to the disk yet."""
        self._waiting: list[JournalEntry] = []
        self._last: list[JournalEntry] = []
        self._flushing = asyncio.Lock()
        self._flusher: asyncio.Task[None] | None = None
        self._stale: StaleAttempt | None = None
        self._closed = False
        self._ended = False

    @property
    def has_ended(self) -> bool:
        """Whether this attempt committed its last event: the run's terminal one, or that it waits for a person."""
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
        """Commit what is waiting, or spool it. Raises `StaleAttempt`, or `AppError` (503) and keeps the events."""
        await self._commit_waiting(None)

    async def flush_with(self, within: Callable[[Transaction], Awaitable[None]]) -> bool:
        """Like `flush`, and do what is `within` in the same durable transaction; False, and it was not done, when the
        events wait in the spool."""
        return await self._commit_waiting(within)

    async def _commit_waiting(self, within: Callable[[Transaction], Awaitable[None]] | None) -> bool:
        async with self._flushing:
            if self._stale is not None:
                raise self._stale
            batch = list(self._waiting)
            if not batch and within is None:
                return True
            try:
                is_committed = await self._commit(batch, within)
            except StaleAttempt as lost:
                self._stale = lost
                raise
            del self._waiting[: len(batch)]
            self._told += batch
            if is_committed:
                await self._publish(batch)
            return is_committed

    async def _commit(
        self, batch: Sequence[JournalEntry], within: Callable[[Transaction], Awaitable[None]] | None
    ) -> bool:
        """Whether the events are in the database now; False = they wait in the spool."""

        async def directly() -> None:
            # Durable: followers are shown what is committed, and a crash must not take back what somebody was shown.
            scope = self._database.statements_scope if within is None else self._database.principal_scope
            async with scope(self._principal) as tx:
                if batch:
                    await self._append(tx, batch)
                if within is not None:
                    await within(tx)

        if self.run is None or not batch:
            await directly()
            return True
        is_committed = await self._outage.write(self.run, directly, lambda: [self._unspooled(batch)])
        self.run.has_events = not is_committed
        return is_committed

    def _unspooled(self, batch: Sequence[JournalEntry]) -> EventsAppended:
        """What the spool must hold of the events up to `batch`: all of this attempt."""
        assert self.run is not None
        return EventsAppended.of(batch if self.run.has_events else [*self._told, *batch])

    async def end(
        self, event: FinalReport | TaskFailed, conclude: Callable[[Transaction, Rows], Awaitable[bool]], ended: RunEnded
    ) -> None:
        """End the run: waiting events, terminal event and what `conclude` does in one durable transaction; or spool all
        of it, as `ended` says. Raises `StaleAttempt`, or `AppError` (503)."""

        async def directly() -> None:
            self._last = [JournalEntry(seq=self._last_seq + 1, event=event)]
            entries = [row_of(entry) for entry in (*self._waiting, *self._last)]
            async with self._database.statements_scope(self._principal) as tx:
                is_done = await conclude(tx, entries)
            if not is_done:  # the run was lost, or events of it by a crash of the server
                async with self._database.principal_scope(self._principal) as tx:
                    await self._fill(tx, entries)
                    if not await conclude(tx, ()):
                        raise StaleAttempt(f"attempt {self.attempt} no longer holds task {self.task_id}")

        async with self.ending():
            if self.run is None:
                await directly()
                return
            self._last = [JournalEntry(seq=self._last_seq + 1, event=event)]
            batch = [*self._waiting, *self._last]
            if not await self._outage.write(self.run, directly, lambda: [self._unspooled(batch), ended]):
                shown = JournalEntry(seq=self._last_seq + 1, event=pending(event))
                await self._outage.end_of(self.run, [*self._told, *self._waiting, shown])
                if self.run.failure is not None:
                    raise self.run.failure
                self._waiting, self._last = [], []

    @asynccontextmanager
    async def ending(self) -> AsyncIterator[None]:
        """Surround the transaction that ends or parks the run with this: when it succeeds the journal is closed and
        followers are told, when it raises the events wait as before."""
        async with self._flushing:
            yield
            self._closed = self._ended = True
            ended, self._last = [*self._waiting, *self._last], []
            self._waiting.clear()
            await self._publish(ended)
        await self._stop_flushing()

    async def append_in(self, tx: Transaction, event: Event) -> None:
        """Inside `ending`: write what is waiting and the last event in the caller's transaction. Raises
        `StaleAttempt`."""
        self._last = [JournalEntry(seq=self._last_seq + 1, event=event)]
        await self._append(tx, [*self._waiting, *self._last])

    async def _append(self, tx: Transaction, batch: Sequence[JournalEntry]) -> None:
        """Write events behind the others of this attempt, and again those that a crash of the server lost."""
        entries = [row_of(entry) for entry in batch]
        try:
            await rows.append(tx, self.task_id, self.attempt, entries)
        except StaleAttempt:
            await self._fill(tx, entries)

    async def _fill(self, tx: Transaction, entries: Rows) -> None:
        await rows.fill(tx, self.task_id, self.attempt, [*map(row_of, self._told), *entries])

    async def aclose(self) -> None:
        """Commit what is waiting, if it still can be, and stop. Never raises."""
        self._closed = True
        await self._stop_flushing()
        try:
            await self.flush()
        except Exception as error:  # lost to another attempt, or no database: the next attempt starts over
            _log.info("events_given_up", task_id=self.task_id, attempt=self.attempt, error_class=type(error).__name__)
        finally:
            if self.run is not None:
                self._outage.release(self.run)

    def _enqueue(self, event: Event) -> None:
        self._last_seq += 1
        self._waiting.append(JournalEntry(seq=self._last_seq, event=event))

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
                _log.exception("events_not_committed", task_id=self.task_id, attempt=self.attempt)
                return

    async def _stop_flushing(self) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.wait([self._flusher])

    async def _publish(self, committed: Sequence[JournalEntry]) -> None:
        await self.wake.publish(*(message_of(self._place, entry) for entry in committed))


def pending(event: FinalReport | TaskFailed) -> FinalReport | TaskFailed:
    """A terminal event as it is shown while its run waits in the spool."""
    return event.model_copy(update={"answer": {**event.answer, "durability": "pending"}})
