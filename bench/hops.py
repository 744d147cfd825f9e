"""`make bench`: what it costs to hand something to somebody else, against calling it in the same process.

A message travels from one bus to another of the same adapter, as between two processes; a job is registered and taken
by a worker. Floors: bare asyncpg LISTEN/NOTIFY, bare Redis PUBLISH/SUBSCRIBE, and a row that is inserted, notified and
taken over two bare connections. All are interleaved in one process, on the embedded PostgreSQL and a local Valkey;
medians, and ratios of the same run.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
from redis.asyncio import Redis
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.bus import Bus
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade
from app.tasks.run import TaskRun
from tests.conformance.bus_adapters import message, on, opener
from tests.fakes.valkey import ValkeyServer
from tests.postgres.running import Rooms, rooms_on

Hop = Callable[[], Awaitable[float]]
"""One hop; its seconds."""
_FLOORS = {
    "memory bus": "call", "postgres bus": "NOTIFY", "redis bus": "PUBLISH", "queue: registered to running": "job row",
    "queue: committed to running": "job row",
}  # fmt: skip
_PATIENCE_SECONDS = 10.0


async def _handler(arrived: "asyncio.Queue[float]") -> None:
    arrived.put_nowait(time.perf_counter())


async def call() -> float:
    """The floor of floors: the handler is called."""
    arrived: asyncio.Queue[float] = asyncio.Queue()
    began = time.perf_counter()
    await _handler(arrived)
    return await arrived.get() - began


def bus_hop(here: Bus, there: Bus) -> Hop:
    """A message from one bus to a reader of the other."""

    async def hop() -> float:
        async with there.subscribe(on("hop")) as inbox:
            began = time.perf_counter()
            await here.publish(message("hop"))
            assert await inbox.next_within(_PATIENCE_SECONDS) is not None
            return time.perf_counter() - began

    return hop


@asynccontextmanager
async def bare_notify(url: str) -> AsyncIterator[Hop]:
    """LISTEN on one connection, NOTIFY on another."""
    speaker, listener = await asyncpg.connect(url), await asyncpg.connect(url)
    arrived: asyncio.Queue[float] = asyncio.Queue()
    await listener.add_listener("bare", lambda *_: arrived.put_nowait(time.perf_counter()))

    async def hop() -> float:
        began = time.perf_counter()
        await speaker.execute("select pg_notify('bare', '1')")
        return await arrived.get() - began

    try:
        yield hop
    finally:
        await speaker.close()
        await listener.close()


@asynccontextmanager
async def bare_publish(url: str) -> AsyncIterator[Hop]:
    """SUBSCRIBE on one connection, PUBLISH on another."""
    speaker, listener = Redis.from_url(url), Redis.from_url(url)
    async with listener.pubsub() as inbox:
        await inbox.subscribe("bare")
        await inbox.get_message(timeout=_PATIENCE_SECONDS)

        async def hop() -> float:
            began = time.perf_counter()
            await speaker.publish("bare", b"1")
            await inbox.get_message(timeout=_PATIENCE_SECONDS)
            return time.perf_counter() - began

        yield hop
    await speaker.aclose()
    await listener.aclose()


@asynccontextmanager
async def bare_job(url: str) -> AsyncIterator[Hop]:
    """A row inserted and notified in one durable transaction, taken on another connection when that is heard."""
    speaker, listener, taker = [await asyncpg.connect(url) for _ in range(3)]
    await speaker.execute("create table bare_jobs (job_id bigint generated always as identity primary key, job jsonb)")
    heard = asyncio.Event()
    await listener.add_listener("bare_jobs", lambda *_: heard.set())

    async def hop() -> float:
        heard.clear()
        began = time.perf_counter()
        async with speaker.transaction():
            await speaker.execute("insert into bare_jobs (job) values ('{}')")
            await speaker.execute("select pg_notify('bare_jobs', '')")
        await heard.wait()
        await taker.fetch(
            "delete from bare_jobs where job_id = (select job_id from bare_jobs order by 1 for update skip locked"
            " limit 1) returning job"
        )
        return time.perf_counter() - began

    try:
        yield hop
    finally:
        for connection in (speaker, listener, taker):
            await connection.close()


@asynccontextmanager
async def queue_hops(database: Database) -> AsyncIterator[tuple[Hop, Hop]]:
    """A root task registered with its job, until its handler runs: from the call, and from its return."""
    rooms: Rooms = rooms_on(database)
    running: asyncio.Queue[float] = asyncio.Queue()

    async def handle(run: TaskRun) -> None:
        running.put_nowait(time.perf_counter())
        await rooms.complete(run)

    async def from_call() -> float:
        began = time.perf_counter()
        await rooms.register()
        return await running.get() - began

    async def from_commit() -> float:
        await rooms.register()
        began = time.perf_counter()
        return max(await running.get() - began, 0.0)

    async with rooms.working({"chat": handle}):
        yield from_call, from_commit


async def measure(server: EmbeddedServer, valkey: ValkeyServer, rounds: int, out: Console) -> None:
    """Every hop in every round."""
    async with AsyncExitStack() as stack:
        hops = await _opened(stack, server, valkey)
        seconds: dict[str, list[float]] = {name: [] for name in hops}
        for hop in hops.values():
            for _ in range(5):
                await hop()
        for _ in track(range(rounds), "hops", console=out, transient=True):
            for name, hop in hops.items():
                seconds[name].append(await hop())
                await asyncio.sleep(0.02)  # whatever a hop leaves to be done must not burden the next
    report({name: statistics.median(values) for name, values in seconds.items()}, rounds, out)


async def _opened(stack: AsyncExitStack, server: EmbeddedServer, valkey: ValkeyServer) -> dict[str, Hop]:
    database = await Database.connect(server.app_url)
    stack.push_async_callback(database.dispose)
    hops: dict[str, Hop] = {"call": call}
    for adapter in ("memory", "postgres", "redis"):
        opened = opener(adapter, server.app_url, valkey.url)
        here = await opened()
        there = here if adapter == "memory" else await opened()
        for bus in {here, there}:
            stack.push_async_callback(bus.aclose)
        hops[f"{adapter} bus"] = bus_hop(here, there)
    hops["NOTIFY"] = await stack.enter_async_context(bare_notify(server.app_url))
    hops["PUBLISH"] = await stack.enter_async_context(bare_publish(valkey.url))
    hops["job row"] = await stack.enter_async_context(bare_job(server.url("postgres")))
    from_call, from_commit = await stack.enter_async_context(queue_hops(database))
    return {**hops, "queue: registered to running": from_call, "queue: committed to running": from_commit}


def report(medians: dict[str, float], rounds: int, out: Console) -> None:
    """A table of medians, what each adds to a call, and the ratio to its floor."""
    table = Table(title=f"one hop · {rounds} rounds · medians", title_justify="left")
    for heading in ("hop", "ms", "added to a call, ms", "floor", "hop / floor"):
        table.add_column(heading, justify="left" if heading in ("hop", "floor") else "right")
    for name, median in medians.items():
        floor = _FLOORS.get(name)
        ratio = f"{median / medians[floor]:.1f}" if floor else ""
        added = f"{(median - medians['call']) * 1000:.3f}"
        table.add_row(name, f"{median * 1000:.3f}", added, floor or "", ratio)
    out.print(table)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    valkey = ValkeyServer()
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        server = start_embedded(Path(folder))
        try:
            upgrade(server.owner_url)
            valkey.start()
            asyncio.run(measure(server, valkey, arguments.rounds, Console()))
        finally:
            valkey.close()
            server.stop()


if __name__ == "__main__":
    main()
