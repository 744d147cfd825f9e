"""A worker of the hr agent in a process of its own, to be killed or paused:
``python -m tests.postgres.step_worker_process URL LEASE PATIENCE``. Its tool answers after PATIENCE seconds.
"""

import asyncio
import sys

from app.storage.database import Database
from tests.postgres.remote_steps import elsewhere, taking
from tests.postgres.running import rooms_on


async def main(url: str, lease_seconds: float, patience_seconds: float) -> None:
    database = await Database.connect(url)
    async with elsewhere(rooms_on(database, lease_seconds), taking(patience_seconds)):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
