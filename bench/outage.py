"""What an outage costs: a write into the spool against a write into the database, bringing in, and the way back.

``python -m bench.outage [rounds]`` starts a PostgreSQL of its own that waits for the disk, and crashes it ``rounds``
times. Medians; the ratios count.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

import asyncpg

from app import telemetry
from app.bus.relay import MemoryBus
from app.domain.principal import Principal
from app.domain.tasks import NewTask, TaskStatus
from app.events import FinalReport, TextDelta
from app.journal import Journal
from app.journal.outage import Outage
from app.storage import embedded
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade
from app.storage.spool import Spool
from app.tasks.outage import SpooledWrites
from app.tasks.queue import JobQueue
from app.tasks.registry import TaskRegistry
from app.tasks.run import TaskRun
from app.tasks.worker import Worker

BATCHES, RUNS = 40, 20
WHO = Principal(
    tenant_id=UUID(int=1), user_id=UUID(int=2), department="hr", departments=frozenset({"hr"}), scopes=frozenset()
)


class Rooms:
    """The rooms of a process, with a worker that completes at once whatever it takes."""

    def __init__(self, database: Database, folder: Path):
        bus = MemoryBus()
        self.outage = Outage(database, bus, Spool(folder / "spool"))
        self.journal = Journal(database, bus, self.outage)
        self.registry = TaskRegistry(database, self.journal, JobQueue(), lambda: datetime.now(UTC))
        self.bring_in = SpooledWrites(database, 30).bring_in
        self.worker = Worker(database, self.registry, self.journal, {"chat": self.complete})

    async def register(self) -> UUID:
        """A waiting task."""
        task_id = uuid4()
        task = NewTask(
            task_id=task_id, root_task_id=task_id, session_id=uuid4(), kind="chat", title="?", request={"query": "?"}
        )
        await self.registry.register_task(WHO, task)
        return task_id

    async def begin(self) -> TaskRun:
        """A claimed task; the worker may be quicker, then another one."""
        task = None
        while task is None:
            task = await self.registry.claim_task(WHO, await self.register(), "bench")
        return TaskRun(WHO, task, task.attempt, await self.journal.writer(WHO, task))

    async def complete(self, run: TaskRun) -> None:
        """End a run."""
        answer = {"answer": "done", "outcome": "answered"}
        await self.registry.finish(run, status=TaskStatus.COMPLETED, result=answer, event=FinalReport(answer=answer))


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds."""
    clock = time.perf_counter()
    await work()
    return (time.perf_counter() - clock) * 1000


async def batch_ms(run: TaskRun) -> float:
    """The median of writing a batch of five events."""
    taken = []
    for _ in range(BATCHES):
        for number in range(5):
            run.writer.append(TextDelta(text=f"a piece of an answer, number {number}"))
        taken.append(await timed(run.writer.flush))
    return median(taken)


async def control(server: EmbeddedServer, *arguments: str) -> None:
    """``pg_ctl``."""
    log = str(server.data_dir / "server.log")
    arguments = (*arguments, "-D", str(server.data_dir), "-l", log)
    await asyncio.to_thread(embedded._run, server._account, "pg_ctl", *arguments)


async def accepts(url: str) -> None:
    """Wait until the server takes a connection."""
    while True:
        try:
            connection = await asyncpg.connect(url)
        except (OSError, asyncpg.PostgresError):
            await asyncio.sleep(0.005)
            continue
        await connection.close()
        return


async def one_round(rooms: Rooms, server: EmbeddedServer) -> dict[str, float]:
    """Milliseconds by what was done, over one crash."""
    found: dict[str, float] = {}
    direct = await rooms.begin()
    found["batch, database"] = await batch_ms(direct)
    await rooms.complete(direct)
    runs = [await rooms.begin() for _ in range(RUNS)]
    await control(server, "stop", "-m", "immediate")
    found["batch, spool"] = await batch_ms(runs[0])
    ends = [await timed(lambda run=run: rooms.complete(run)) for run in runs]  # type: ignore[misc]
    found["end, spool"] = median(ends)
    starting = asyncio.create_task(control(server, "start", "-W"))
    await accepts(server.app_url)
    clock = time.perf_counter()
    assert await rooms.outage.is_settled_within(30)
    found[f"back to {RUNS} runs brought in"] = (time.perf_counter() - clock) * 1000
    task_id = await rooms.register()
    await rooms.journal.resting(WHO, task_id)
    found["back to a new task done by the worker"] = (time.perf_counter() - clock) * 1000
    await starting
    return found


async def main(rounds: int) -> None:
    """Print medians and the worst."""
    telemetry.configure("CRITICAL")
    folder = Path(tempfile.mkdtemp(prefix="conclave-outage-"))
    server = start_embedded(folder)
    try:
        upgrade(server.owner_url)
        database = await Database.connect(server.app_url)
        rooms = Rooms(database, folder)
        await rooms.outage.start(rooms.bring_in)
        await rooms.worker.start()
        found = [await one_round(rooms, server) for _ in range(rounds)]
        for name in found[0]:
            values = sorted(one[name] for one in found)
            print(f"{name:45} {median(values):9.1f} ms   (most {values[-1]:.1f})")
        await rooms.worker.stop()
        await rooms.outage.aclose()
        await database.dispose()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
