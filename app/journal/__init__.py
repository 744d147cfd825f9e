"""The append-only log of every run: written by the one holder of the run, followed by its owner alone.

Truth is the table; between processes the bus only says "look". Every batch waits for the disk before it can be
followed, so that no crash takes back what somebody was shown.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final
from uuid import UUID

from app.bus import PATIENCE_SECONDS, Bus, Place, Subscription, Wanted, message_of
from app.domain.principal import Principal
from app.domain.tasks import Task
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import RESTING_EVENTS, Event, JournalEntry, read_event
from app.journal.outage import Outage
from app.journal.spool_records import ClaimedRun
from app.journal.writer import JournalWriter
from app.storage import events as rows
from app.storage.database import Database, dump

POLL_SECONDS: Final = PATIENCE_SECONDS
"""A follower looks at least this often, whatever the bus says."""
_AWAY_POLL_SECONDS = 0.05
_PAGE = 500


class Journal:
    """Every run's events."""

    def __init__(self, database: Database, wake: Bus, outage: Outage | None = None):
        """`outage`: where events wait while the database is away; None = nowhere."""
        self._database = database
        self.wake: Final = wake
        self.outage: Final = outage or Outage()

    async def read(self, principal: Principal, task_id: UUID, after: int = 0) -> list[JournalEntry]:
        """The entries behind `after`, in order. Raises `AppError` (404) for unknown and foreign tasks alike."""
        entries: list[JournalEntry] = []
        while True:
            async with self._database.statements_scope(principal) as tx:
                page = await rows.read(tx, task_id, after, _PAGE)
            if page is None:
                raise not_found()
            entries += [JournalEntry(seq=seq, event=read_event(event)) for seq, event in page]
            if len(page) < _PAGE:
                return entries
            after = page[-1][0]

    async def follow(self, principal: Principal, task_id: UUID, after: int = 0) -> AsyncGenerator[JournalEntry, None]:
        """The entries behind `after`, then new ones as they are committed, until the terminal entry; holds no
        connection while its reader is slow. Raises `AppError` (404) for unknown and foreign tasks, also when erased
        meanwhile."""
        async with self.wake.subscribe(Wanted(root_task_id=task_id)) as hints:
            entries = await self._visible(principal, task_id, after)
            while True:
                for entry in entries:
                    after = entry.seq
                    yield entry
                    if entry.is_terminal:
                        return
                patience = _AWAY_POLL_SECONDS if self.outage.is_away else POLL_SECONDS
                heard = await _next_entry(hints, after, patience)
                entries = [heard] if heard else await self._visible(principal, task_id, after)

    async def resting(self, principal: Principal, task_id: UUID) -> Event:
        """The terminal event, or the one with which the run waits for a person, waited for. Raises `AppError` (404) as
        `follow` does."""
        async with self.wake.subscribe(Wanted(root_task_id=task_id, topics=RESTING_EVENTS)) as hints:
            while (found := await self._rest(principal, task_id)) is None:
                await hints.next_within(_AWAY_POLL_SECONDS if self.outage.is_away else POLL_SECONDS)
            return found

    async def _rest(self, principal: Principal, task_id: UUID) -> Event | None:
        """The last event of a run that rests; the spool's, where that is known and the database's is not."""
        run = self.outage.active_run(principal, task_id)
        if run is not None and run.told:
            return run.told[-1].event
        if run is not None and isinstance(run.failure, AppError):
            raise run.failure
        if run is not None and self.outage.is_away:
            return None
        try:
            async with self._database.statements_scope(principal) as tx:
                is_known, event = await rows.last_of(tx, task_id, RESTING_EVENTS)
        except AppError as error:
            if error.code is ErrorCode.DATABASE_UNAVAILABLE and run is not None:
                self.outage.report_away()
                return None
            raise
        if not is_known:
            raise not_found()
        return None if event is None else read_event(event)

    async def _visible(self, principal: Principal, task_id: UUID, after: int) -> Sequence[JournalEntry]:
        """What may be shown behind `after`: what is committed, or the whole of a run whose end waits in the spool."""
        run = self.outage.active_run(principal, task_id)
        if run is not None and run.told and run.told[0].seq <= after + 1:
            return [entry for entry in run.told if entry.seq > after]
        if run is not None and isinstance(run.failure, AppError):
            raise run.failure
        if run is not None and self.outage.is_away:
            return ()
        try:
            return await self.read(principal, task_id, after)
        except AppError as error:
            if error.code is ErrorCode.DATABASE_UNAVAILABLE and self.outage.active_run(principal, task_id) is not None:
                self.outage.report_away()
                return ()
            raise

    async def writer(self, principal: Principal, task: Task) -> "JournalWriter":
        """Give a claimed task's writer, behind what was written before. Raises `StaleAttempt` when it was erased."""
        end: tuple[int, dict[str, Any] | None] | None = (1, task.first_event)
        if task.attempt > 1 or task.first_event is None:  # else nobody wrote since it was registered
            async with self._database.statements_scope(principal) as tx:
                end = await rows.end_of(tx, task.task_id)
        if end is None:
            raise StaleAttempt(f"task {task.task_id} was erased")
        last_seq, first = end
        held = ClaimedRun(
            principal=principal, session_id=task.session_id, task_id=task.task_id, attempt=task.attempt,
            claimed_by=task.claimed_by or "",
        )  # fmt: skip
        run = self.outage.hold(held) if task.parent_task_id is None else None
        before = [JournalEntry(seq=1, event=read_event(first))] if first and last_seq == 1 else []
        return JournalWriter(self._database, self.wake, self.outage, held, run, last_seq, before)

    async def publish(self, place: Place, seq: int, event: Event) -> None:
        """Publish an event that was committed elsewhere than by a writer."""
        await self.wake.publish(message_of(place, JournalEntry(seq=seq, event=event)))


def not_found() -> AppError:
    """The same answer for a foreign and for an unknown id."""
    return AppError(ErrorCode.NOT_FOUND, "There is no such task.", status=404)


async def _next_entry(hints: Subscription, after: int, patience_seconds: float) -> JournalEntry | None:
    """Wait for the entry behind `after`, as it was committed in this process; None where the table must be looked at,
    because only a number came or none did in time."""
    clock = asyncio.get_running_loop()
    until = clock.time() + patience_seconds
    while (left := until - clock.time()) > 0:
        hint = await hints.next_within(left)
        if hint is None or hint.seq is None:
            return None
        if hint.seq > after:
            is_next = hint.seq == after + 1 and hint.payload is not None
            return JournalEntry(seq=hint.seq, event=read_event(json.loads(dump(hint.payload)))) if is_next else None
    return None
