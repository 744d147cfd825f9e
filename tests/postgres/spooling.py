"""The rooms of a process whose writes may wait in a spool."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from app.bus.relay import MemoryBus
from app.journal import Journal
from app.journal.outage import Outage
from app.storage.database import Database
from app.storage.spool import Spool, SpoolLimits
from app.tasks.outage import SpooledWrites
from app.tasks.queue import JobQueue
from app.tasks.registry import TaskRegistry
from tests.postgres.running import Rooms


@asynccontextmanager
async def spooling_rooms(
    url: str, folder: Path, *, lease_seconds: float = 30, limits: SpoolLimits | None = None, spool: Spool | None = None
) -> AsyncIterator[Rooms]:
    """One process of the data directory `folder`."""
    database = await Database.connect(url)
    bus = MemoryBus()
    outage = Outage(database, bus, spool or Spool(folder / "spool", limits))
    journal = Journal(database, bus, outage)
    registry = TaskRegistry(database, journal, JobQueue(), lambda: datetime.now(UTC), lease_seconds, 3)
    await outage.start(SpooledWrites(database, lease_seconds).bring_in)
    try:
        yield Rooms(database, bus, journal, registry)
    finally:
        await outage.aclose()
        await database.dispose()
