"""A process whose database goes away, to be killed: ``python -m tests.postgres.spool_process URL FOLDER RUNS KILL_AT``.

Its own words stand behind ">", its log does not. It begins RUNS runs, says "ready", waits for a line, then ends one
after the other and names each that was accepted.
KILL_AT = n: it dies by SIGKILL when the n-th run was brought in and before the spool forgets it; 0 = it does not.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from uuid import UUID

from app.storage.spool import Spool
from tests.postgres.running import LAN, say
from tests.postgres.spooling import spooling_rooms


class DyingSpool(Spool):
    """Kills its process at the worst moment."""

    def __init__(self, folder: Path, kill_at: int):
        super().__init__(folder)
        self._until_kill = kill_at

    async def remove(self, origin: str, root_task_id: UUID, upto: int) -> None:
        self._until_kill -= 1
        if self._until_kill == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        await super().remove(origin, root_task_id, upto)


def tell(text: str) -> None:
    sys.stdout.write(f"> {text}\n")
    sys.stdout.flush()


async def main(url: str, folder: Path, runs: int, kill_at: int) -> None:
    spool = DyingSpool(folder / "spool", kill_at)
    async with spooling_rooms(url, folder, lease_seconds=1, spool=spool) as rooms:
        begun = [await rooms.begin(LAN) for _ in range(runs)]
        for run in begun:
            say(run, "before")
            await run.writer.flush()
        tell("ready")
        await asyncio.to_thread(sys.stdin.readline)
        for number, run in enumerate(begun):
            say(run, f"{number} away")
            await run.writer.flush()
            await rooms.complete(run, f"answer {number}")
            await run.writer.aclose()
            tell(f"{run.task.task_id} answer {number}")
        while not await rooms.journal.outage.is_settled_within(60):
            pass
        tell("settled")
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
