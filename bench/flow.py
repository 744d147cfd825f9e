"""`make bench`: what the flow costs beyond embedding and SQL, against a floor of the same embeddings and SQL.

One run asks the seed's question through the whole house (registered, queued, run, journalled, answered). The floor
embeds the same texts with the same model and sends the very same statements over one bare asyncpg connection. Both
are interleaved in one process; medians of the rounds are printed, and ratios. "Cold" runs forget the cached question
vectors and search results first; "warm" ones keep them. How often the asker's transactions waited for the database is
counted as well, also for small talk and a simple question: exit code 1 where it was more than `MOST_TRIPS` says.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.domain.principal import Principal
from app.embedding import Embedder, Vectors
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.events import AgentTask, FinalReport
from app.main import Services
from app.main import services as composition
from app.settings import Settings
from app.storage.database import open_driver
from bench.recording import Recorder, record_connections, replay

QUESTION = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
ASKER = "acme/lan"
MOST_TRIPS = {"xin chào": 10, "Công ty có những giá trị cốt lõi nào?": 21, QUESTION: 39}
"""Wanted are 5 for small talk and 12 for a simple question."""


class CountingEmbedder:
    """Passes through; remembers which questions were embedded."""

    def __init__(self, inner: Embedder):
        self._inner = inner
        self.batches: list[list[str]] = []

    @property
    def model(self) -> str:
        """The inner model."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """The inner dimensions."""
        return self._inner.dimensions

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed and remember."""
        self.batches.append(list(texts))
        return await self._inner.embed_queries(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Pass through."""
        return await self._inner.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Pass through."""
        return self._inner.count_tokens(texts)

    async def aclose(self) -> None:
        """Pass through."""
        await self._inner.aclose()


class Forgetful:
    """The service's own cache of question vectors, over the counting embedder; can be emptied."""

    def __init__(self, counting: CountingEmbedder):
        self._counting = counting
        self.cache = CachedEmbedder(counting)

    def forget(self) -> None:
        """Start with an empty cache."""
        self.cache = CachedEmbedder(self._counting)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cache, name)


@dataclass(frozen=True)
class Round:
    """Seconds of one round."""

    total: float
    """From the question to its terminal event."""
    embedding: float
    """The floor's first part: the same texts embedded, bare."""
    sql: float
    """The floor's second part: the same statements sent one after the other, bare."""
    steps: int
    trips: int
    """How often the asker's transactions waited for the database."""

    @property
    def floor(self) -> float:
        """What no service could save."""
        return self.embedding + self.sql

    @property
    def own(self) -> float:
        """Everything but embedding and SQL: queue, graph, reasoner, journal, waiting. Below zero where steps that
        run side by side save more than that."""
        return self.total - self.floor


class Bench:
    """The opened service and the two things measured."""

    def __init__(
        self,
        services: Services,
        embedder: CountingEmbedder,
        cache: Forgetful,
        recorder: Recorder,
        principal: Principal,
    ):
        self._services = services
        self._embedder = embedder
        self._cache = cache
        self._recorder = recorder
        self._principal = principal

    async def round(self, *, cold: bool, question: str = QUESTION) -> Round:
        """One question, then its floor."""
        if cold:
            self._cache.forget()
        self._embedder.batches = []
        self._recorder.start()
        clock = time.perf_counter()
        run = await start_run(self._services.rooms, self._principal, ChatBody(query=question), None)
        ids: set[UUID] = {run.task_id, run.session_id}
        steps = 0
        async for entry in self._services.rooms.journal.follow(self._principal, run.task_id):
            if isinstance(entry.event, AgentTask):
                ids.add(entry.event.task_id)
                steps += 1
        total = time.perf_counter() - clock
        self._recorder.stop()
        assert isinstance(entry.event, FinalReport), entry.event
        trips = self._recorder.trips_of(self._principal.user_id)
        return Round(total, *await self._floor(ids), steps, trips)

    async def _floor(self, ids: set[UUID]) -> tuple[float, float]:
        batches, transactions = list(self._embedder.batches), self._recorder.transactions
        if not transactions:
            raise RuntimeError("no statement was recorded: the floor would be nothing")
        connection = await open_driver(self._services.storage.addresses.app)
        try:
            clock = time.perf_counter()
            for batch in batches:
                await self._embedder.embed_queries(batch)
            embedding = time.perf_counter() - clock
            await connection.prepare_openings()
            await replay(connection, transactions, ids)  # the service's connections know their statements, too
            return embedding, await replay(connection, transactions, ids)
        finally:
            await connection.close()


def report(title: str, rounds: Sequence[Round], out: Console) -> None:
    """A table of medians in milliseconds, and the ratios."""
    table = Table(title=f"{title} · {len(rounds)} rounds · medians", title_justify="left")
    for heading in (
        "total ms",
        "embedding ms",
        "SQL ms",
        "floor ms",
        "own ms",
        "own ms / step",
        "total / floor",
        "trips",
    ):
        table.add_column(heading, justify="right")
    middle = {
        name: statistics.median(getattr(one, name) for one in rounds) * 1000
        for name in ("total", "embedding", "sql", "floor", "own")
    }
    ratio = statistics.median(one.total / one.floor for one in rounds)
    per_step = statistics.median(one.own / max(one.steps, 1) for one in rounds) * 1000
    table.add_row(
        *(f"{value:.1f}" for value in middle.values()), f"{per_step:.2f}", f"{ratio:.2f}", f"{trips_of(rounds)}"
    )
    out.print(table)


def trips_of(rounds: Sequence[Round]) -> int:
    """The median."""
    return statistics.median_low(one.trips for one in rounds)


async def measure(rounds: int, data_dir: Path, seed_dir: Path, out: Console) -> bool:
    """Open the service over the seed data, warm up, measure; whether the database was asked too often."""
    recorder = Recorder()
    record_connections(recorder)
    embedder = CountingEmbedder(OnnxEmbedder.open(data_dir / "models", threads=2))
    cache = Forgetful(embedder)

    async def opened(*_: object) -> Any:
        return cache

    # The seam of the bench: the service's own embedder, watched, with a cache that is emptied for cold rounds.
    vars(composition)["open_embedder"] = opened
    with out.status("opening the service and its seed data (about a minute the first time)"):
        services = await Services.open(Settings(data_dir=data_dir, seed_dir=seed_dir, enable_caching=False))
    try:
        principal = (await services.claims_of(ASKER)).principal()
        bench = Bench(services, embedder, cache, recorder, principal)
        for _ in range(3):
            await bench.round(cold=True)
        for title, cold in (("question seen for the first time", True), ("question vectors cached", False)):
            report(title, [await bench.round(cold=cold) for _ in range(rounds)], out)
        too_many = False
        for question, most in MOST_TRIPS.items():
            trips = trips_of([await bench.round(cold=False, question=question) for _ in range(3)])
            out.print(f"{trips} round trips to the database (at most {most}): {question}")
            too_many |= trips > most
        return too_many
    finally:
        await services.aclose()


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--data-dir", type=Path, help="keep the database here; default: a temporary folder")
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    arguments = parser.parse_args()
    out = Console()
    if arguments.data_dir is not None:
        raise SystemExit(asyncio.run(measure(arguments.rounds, arguments.data_dir, arguments.seed, out)))
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        raise SystemExit(asyncio.run(measure(arguments.rounds, Path(folder), arguments.seed, out)))


if __name__ == "__main__":
    main()
