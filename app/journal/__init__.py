"""The append-only log of every run: written by the one holder of the run, followed by whoever may see it.

Truth is the table; the bus only says "look". An entry is seen by the owner of its task, by nobody else. What was
committed asynchronously can be lost when PostgreSQL itself crashes (never when this process does); the terminal entry
is committed synchronously, together with the task it ends.
"""

from collections.abc import AsyncGenerator
from typing import Final
from uuid import UUID

from app.bus import Bus
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.events import JournalEntry, read_event
from app.journal.writer import JournalWriter, topic_of
from app.storage import events as rows
from app.storage.database import Database

POLL_SECONDS: Final = 0.5
"""A follower looks at least this often, whatever the bus says."""
_PAGE = 500


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


def not_found() -> AppError:
    """The same answer for a foreign and for an unknown id."""
    return AppError(ErrorCode.NOT_FOUND, "There is no such task.", status=404)
