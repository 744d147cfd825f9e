"""What bringing documents in costs beyond cutting, counting words and writing rows: chunks a second against a floor.

The embedder costs nothing here: it hands out vectors that are ready. The floor cuts the same documents and counts the
same words with the same code, in one process, and writes the same rows with bare asyncpg COPY, a transaction a
document, as the owner, into tables with the same columns and indexes but without row security, triggers and foreign
keys; it keeps no vectors for the next time, looks nothing up and tells nobody. ``--peer-python`` names the Python of an
environment with ``langchain-postgres``, which splits and stores the same texts in its own way, without word indexes,
versions or rights. All take turns; medians of the rounds are printed. At last the bundled documents come in once, with
the bundled model, and their claims are read: the share of the time is printed beside what it may be.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from app.domain.knowledge import DocumentDraft
from app.ingestion.passages import Passages
from app.ingestion.pipeline import Ingestion
from app.retrieval.ranking import load_calibration
from app.storage.database import Database, open_driver
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade
from bench.ingest.corpus import DIMENSIONS, FreeEmbedder, administrator, documents
from bench.ingest.extraction import extraction
from bench.ingest.floor import Connection, Floor, binary_jsonb


class Round(NamedTuple):
    """Seconds of one round."""

    chunks: int
    ours: float
    again: float
    floor: float
    peer: float | None
    """Chunks a second: it cuts in its own way."""


class Peer:
    """The framework, in a process of its own."""

    def __init__(self, process: Process, address: str):
        self._process, self._address = process, address

    @classmethod
    async def open(cls, python: str, address: str) -> "Peer":
        """Start it."""
        script = Path(__file__).with_name("peer.py")
        return cls(await asyncio.create_subprocess_exec(python, str(script), stdin=PIPE, stdout=PIPE), address)

    async def ingest(self, drafts: Sequence[DocumentDraft]) -> float:
        """Chunks a second."""
        assert self._process.stdin is not None and self._process.stdout is not None
        order = {"address": self._address, "dimensions": DIMENSIONS, "texts": [draft.text for draft in drafts]}
        self._process.stdin.write(f"{json.dumps(order)}\n".encode())
        await self._process.stdin.drain()
        done = json.loads(await self._process.stdout.readline())
        return float(done["chunks"] / done["seconds"])

    async def aclose(self) -> None:
        """End its input."""
        await self._process.communicate(b"")


class Bench:
    """The service's own way and the floor, on one server."""

    def __init__(self, database: Database, owner: Connection, drafts: Sequence[DocumentDraft], peer: Peer | None):
        self._drafts, self._owner, self._peer = drafts, owner, peer
        self._embedder = FreeEmbedder()
        calibration = load_calibration(self._embedder.model)
        self._ingestion = Ingestion(database, self._embedder, calibration=calibration)
        self.floor = Floor(owner, self._embedder, Passages(database, self._embedder, calibration), calibration)

    async def round(self, *, floor_first: bool) -> Round:
        """Both, each into empty tables."""
        await self._forget()
        floor = await self._floor() if floor_first else 0.0
        principal = administrator()
        first = await self._ingestion.ingest(principal, self._drafts)
        asked = self._embedder.passages
        again = await self._ingestion.ingest(principal, self._drafts)
        assert (first.published, again.unchanged) == (len(self._drafts), len(self._drafts))
        assert self._embedder.passages == asked
        peer = await self._peer.ingest(self._drafts) if self._peer else None
        return Round(first.chunks, first.seconds, again.seconds, floor or await self._floor(), peer)

    async def _floor(self) -> float:
        started = time.perf_counter()
        await self.floor.ingest(administrator(), self._drafts)
        return time.perf_counter() - started

    async def _forget(self) -> None:
        """Truncating asks no row policy, and leaves every index empty."""
        await self._owner.execute("truncate documents, embedding_cache, audit cascade")
        await self.floor.forget()


def report(rounds: Sequence[Round], count: int, out: Console) -> None:
    """Medians and their ratio."""
    table = Table(title=f"{count} documents · {rounds[0].chunks} chunks · {len(rounds)} rounds", title_justify="left")
    headings = ("chunks/s", "floor", "of the floor", "peer", "times the peer", "documents/s", "unchanged documents/s")
    for heading in headings:
        table.add_column(heading, justify="right")

    def middle(values: Iterable[float]) -> float:
        return statistics.median(values)

    peers = [(one.peer, one.chunks / one.ours / one.peer) for one in rounds if one.peer]
    table.add_row(
        f"{middle(one.chunks / one.ours for one in rounds):,.0f}",
        f"{middle(one.chunks / one.floor for one in rounds):,.0f}",
        f"{middle(one.floor / one.ours for one in rounds):.2f}",
        f"{middle(rate for rate, _ in peers):,.0f}" if peers else "–",
        f"{middle(times for _, times in peers):.1f}" if peers else "–",
        f"{middle(count / one.ours for one in rounds):,.0f}",
        f"{middle(count / one.again for one in rounds):,.0f}",
    )
    out.print(table)


async def measure(server: EmbeddedServer, arguments: argparse.Namespace, out: Console) -> None:
    """Open, warm up, measure."""
    await asyncio.to_thread(upgrade, server.owner_url)
    database = await Database.connect(server.app_url)
    owner = await open_driver(server.owner_url)
    try:
        await owner.set_type_codec("jsonb", encoder=binary_jsonb, decoder=bytes, format="binary", schema="pg_catalog")
        peer = await Peer.open(arguments.peer_python, server.owner_url) if arguments.peer_python else None
        bench = Bench(database, owner, documents(arguments.documents), peer)
        await bench.floor.make_tables()
        await bench.round(floor_first=True)
        rounds = [await bench.round(floor_first=number % 2 == 0) for number in range(arguments.rounds)]
        if peer is not None:
            await peer.aclose()
        claims = await extraction(database, arguments.seed, arguments.models)
    finally:
        await owner.close()
        await database.dispose()
    report(rounds, arguments.documents, out)
    out.print(str(claims), highlight=False, soft_wrap=True)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer-python", help="Python of an environment with langchain-postgres 0.0.19")
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--no-fsync", action="store_true", help="let PostgreSQL wait for no disk, on both sides")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        server = start_embedded(Path(folder), durable=not arguments.no_fsync)
        try:
            asyncio.run(measure(server, arguments, Console()))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
