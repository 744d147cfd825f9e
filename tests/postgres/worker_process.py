"""A worker in a process of its own, to be killed: ``python -m tests.postgres.worker_process URL LEASE PATIENCE``.

Its runs say "begun <attempt>", take PATIENCE seconds, and complete.
"""

import asyncio
import sys

from app.bus.relay import RelayingBus
from app.journal import Journal
from app.storage.database import Database
from app.storage.notifications import NotificationChannel
from app.tasks.run import TaskRun
from app.tasks.worker import Worker
from tests.postgres.running import Rooms, rooms_on, say


async def main(url: str, lease_seconds: float, patience_seconds: float) -> None:
    database = await Database.connect(url)
    bus = await RelayingBus.open(NotificationChannel(url))
    rooms: Rooms = rooms_on(database, lease_seconds, max_redispatches=10)

    async def handle(run: TaskRun) -> None:
        say(run, f"begun {run.attempt}")
        await asyncio.sleep(patience_seconds)
        await rooms.complete(run)

    worker = Worker(database, rooms.registry, Journal(database, bus), {"chat": handle})
    await worker.start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
