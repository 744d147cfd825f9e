"""Tasks that no worker of the house gets, to be claimed and written by a test itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgqueuer.domain.types import JobId

from app.domain.principal import Principal
from app.ingestion.seed import read_demo
from app.storage.database import Database
from app.tasks.queue import JobQueue
from app.tasks.registry import TaskRegistry
from tests.chaos.house import House
from tests.postgres.running import Rooms, rooms_on


class NoQueue(JobQueue):
    """Keeps tasks from the workers."""

    async def enqueue(self, *_: Any, **__: Any) -> JobId:
        return JobId(0)


@asynccontextmanager
async def own_rooms(house: House) -> AsyncIterator[tuple[Rooms, Principal]]:
    """Rooms on the house's database whose tasks are nobody else's, and acme/lan."""
    database = await Database.connect(house.postgres.server.app_url, pool_size=3)
    try:
        rooms = rooms_on(database)
        rooms.registry = TaskRegistry(database, rooms.journal, NoQueue(), lambda: datetime.now(UTC))
        everybody = read_demo(Path("seed_data")).users
        yield rooms, next(one.principal for one in everybody if (one.tenant, one.name) == ("acme", "lan"))
    finally:
        await database.dispose()
