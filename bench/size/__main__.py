"""``python -m bench.size``: retrieval at 20,000 and 200,000 chunks, large and small tenants, against floor and peer.

One run: all contenders take turns on the same rows and questions, several rounds; medians are printed, and ratios,
which travel while milliseconds belong to the machine. The floors send SQL on bare asyncpg connections as the superuser,
without row policies. ``--peer-python`` names the Python of an environment with ``langchain-postgres``; without it that
column is left out. Also printed: recall for each tenant, the plan of the tenth execution, and how well the time of a
small tenant's question tells whether a large neighbour writes about the same.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

from app.domain.principal import SCOPES
from app.storage.database import Database, open_driver
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.large_tenants import balance
from app.storage.migrate import upgrade
from app.storage.search import arguments, search_chunks, statement
from bench.size.contenders import TOP, Contender, Framework, Nearest, Round, SameStatement, Storage, Whole
from bench.size.corpus import DEPARTMENTS, TENANTS, Ask, Corpus, make_corpus, reader
from bench.size.loading import load
from tests.databases import create_database

LARGE, SMALL = range(3), range(8, TENANTS)
Asks = dict[str, list[Ask]]


def questions(corpus: Corpus, count: int) -> Asks:
    """`count` questions of people of large and of small tenants, with rights of all kinds."""
    rng = np.random.default_rng(11)
    rights = [SCOPES, ("public", "internal"), ("public",)]

    def one(tenants: Sequence[int]) -> Ask:
        tenant = int(rng.choice(tenants))
        return corpus.ask(tenant, reader(tenant, str(rng.choice(DEPARTMENTS)), rights[rng.integers(0, 3)]))

    return {kind: [one(tenants) for _ in range(count)] for kind, tenants in (("large", LARGE), ("small", SMALL))}


class Bench:
    """One size: rows in a database, contenders, figures."""

    def __init__(self, server: EmbeddedServer, corpus: Corpus, out: Console):
        self._server, self._corpus, self._out = server, corpus, out
        self._name = f"size_{corpus.size}"
        self._superuser = server.url("postgres", self._name)
        self._database: Database
        self._whole: Whole

    async def prepare(self, asks: Asks) -> None:
        """Make the database and give large tenants their indexes."""
        create_database(self._server, self._name)
        owner = self._server.url("conclave_owner", self._name)
        await asyncio.to_thread(upgrade, owner)
        superuser = await open_driver(self._superuser)
        if not await superuser.fetchval("select exists (select from chunks)"):
            started = time.perf_counter()
            await load(self._corpus, superuser)
            self._out.print(f"{self._corpus.size} chunks written in {time.perf_counter() - started:.0f} s")
        await superuser.close()
        started = time.perf_counter()
        promoted = await balance(owner, [reader(number).tenant_id for number in range(TENANTS)])
        self._out.print(f"{len(promoted)} tenants given their own indexes in {time.perf_counter() - started:.0f} s")
        self._database = await Database.connect(self._server.url("conclave_app", self._name), pool_size=8)
        every = [*asks["large"], *asks["small"]]
        every += [self._corpus.with_frequent_words(ask) for ask in every]
        self._whole = Whole(self._database, every)
        await self._whole.watch(every)

    async def compare(self, asks: Asks, rounds: int, seconds: float, peer_python: str | None) -> None:
        """All contenders in turn, and the tables."""
        queries = self._whole.queries
        by_vector = {text: query._replace(clauses=(), terms=()) for text, query in queries.items()}
        contenders: list[Contender] = [
            self._whole,
            Storage("storage, both legs", self._database, queries),
            Storage("storage, vectors only", self._database, by_vector),
            await SameStatement.open("floor, same statement", self._superuser, queries),
            await SameStatement.open("floor, same statement, vectors only", self._superuser, by_vector),
            await Nearest.open("floor, shortest vector search", self._superuser, queries),
        ]
        if peer_python:
            contenders += await Framework.open(peer_python, self._superuser, self._corpus.vectors.shape[1])
        else:
            self._out.print("langchain-postgres is left out: no --peer-python was given")
        turns: dict[tuple[str, str], list[Round]] = {}
        for _ in range(rounds):
            for contender in contenders:
                for kind in asks:
                    turns.setdefault((contender.name, kind), []).append(await contender.turn(asks[kind], seconds))
        frequent = await self._frequent_words(asks)
        for contender in contenders:
            await contender.aclose()
        self._out.print(_table(self._corpus.size, [one.name for one in contenders], turns, asks))
        self._out.print(frequent)

    async def _frequent_words(self, asks: Asks) -> str:
        """How much dearer two frequent words make a question; asked in turn."""
        storage = Storage("", self._database, self._whole.queries)
        ratios = []
        for kind in asks:
            plain: list[float] = []
            loaded: list[float] = []
            for _ in range(3):
                plain += (await storage.turn(asks[kind], 0)).times
                loaded += (await storage.turn([self._corpus.with_frequent_words(ask) for ask in asks[kind]], 0)).times
            ratios.append(f"{kind} {statistics.median(loaded) / statistics.median(plain):.2f}")
        return f"two frequent words more, time / time without: {', '.join(ratios)}"

    async def recall(self, each: int) -> None:
        """Recall at 10 of the vector leg and the number of passages, for each tenant and all kinds of rights."""
        table = Table("tenant", "chunks", "share", "way", "recall@10", "least", "short of min(50, visible)")
        rng = np.random.default_rng(3)
        sizes = self._corpus.tenant_sizes()
        for tenant in range(TENANTS):
            scopes = [SCOPES, ("public", "internal"), ("public",), ("private",)]
            asks = [
                self._corpus.ask(tenant, reader(tenant, str(rng.choice(DEPARTMENTS)), scopes[number % 4]))
                for number in range(each)
            ]
            whole = Whole(self._database, asks)
            await whole.watch(asks)
            by_vector = {text: query._replace(clauses=(), terms=()) for text, query in whole.queries.items()}
            turn = await Storage("", self._database, by_vector).turn(asks, 0)
            shares = _shares(turn, asks)
            short = sum(len(found) < min(40, ask.visible) for ask, found in zip(asks, turn.found, strict=True))
            ways = {query.vector_leg for query in whole.queries.values()}
            table.add_row(
                str(tenant), str(sizes[tenant]), f"{sizes[tenant] / self._corpus.size:.1%}", "+".join(sorted(ways)),
                f"{statistics.mean(shares):.3f}", f"{min(shares):.1f}", str(short),
            )  # fmt: skip
        self._out.print(table)

    async def plans(self, asks: Asks) -> None:
        """Assert how the tenth execution of each kind of question is done."""
        for kind in asks:
            ask = max(asks[kind], key=lambda one: one.visible)
            query = self._whole.queries[ask.text]
            async with self._database.principal_scope(ask.principal) as tx:
                for _ in range(10):
                    await search_chunks(tx, query)
                custom = await tx.driver.fetchval(
                    "select custom_plans >= 10 and generic_plans = 0 from pg_prepared_statements where statement = $1",
                    statement(query),
                )
                explained = await tx.driver.fetchval(
                    f"explain (analyze, format json) {statement(query)}", *arguments(tx, query)
                )
            scans = list(_scans(json.loads(explained)[0]["Plan"]))
            indexes = {str(scan["Index Name"]) for scan in scans if "Index Name" in scan}
            own = {name for name in indexes if name.startswith("own_")}
            assert custom
            assert not [scan for scan in scans if scan["Node Type"] == "Seq Scan"], scans
            assert bool(own) == (query.vector_leg == "ann"), (query.vector_leg, indexes)
            self._out.print(f"tenth execution, {kind}: {query.vector_leg}, through {', '.join(sorted(indexes))}")

    async def timing(self, pairs: int) -> None:
        """Whether the time of a small tenant's question tells that the largest tenant writes about the same topic."""
        asker = reader(TENANTS - 1)
        crowded = [self._corpus.ask(0, reader(0)) for _ in range(pairs)]
        empty = [self._corpus.ask(TENANTS - 1, asker) for _ in range(pairs)]
        base = next(iter(self._whole.queries.values()))
        queries = {
            ask.text: base._replace(vector=ask.vector, clauses=(), terms=(), vector_leg="exact", word_leg="lookup")
            for ask in (*crowded, *empty)
        }
        storage = Storage("", self._database, queries)
        times: dict[bool, list[float]] = {True: [], False: []}
        for near, far in zip(crowded, empty, strict=True):
            for is_near, ask in ((True, near), (False, far)):
                times[is_near] += (await storage.turn([ask._replace(principal=asker)], 0)).times
        wins = np.mean([[one > other for other in times[False]] for one in times[True]])
        self._out.print(f"a neighbour's topic told by time: AUC {max(wins, 1 - wins):.2f} over {pairs} pairs")

    async def aclose(self) -> None:
        """Close the pool."""
        await self._database.dispose()


def _scans(plan: dict[str, Any]) -> "list[dict[str, Any]]":
    own = [plan] if "Relation Name" in plan or "Index Name" in plan else []
    return own + [scan for part in plan.get("Plans", ()) for scan in _scans(part)]


def _table(size: int, names: Sequence[str], turns: dict[tuple[str, str], list[Round]], asks: Asks) -> Table:
    """`/ floor` compares questions a second with the floor of the same work, `mixed` is half of each kind in turn."""
    table = Table(title=f"{size} chunks · medians", title_justify="left")
    table.add_column("")
    for heading in (
        *(f"{kind} {what}" for kind in asks for what in ("p50 ms", "q/s", "/ floor", "recall")),
        "mixed q/s",
    ):
        table.add_column(heading, justify="right")
    for name in names:
        floor = "floor, same statement, vectors only" if "vectors only" in name else "floor, same statement"
        cells: list[str] = []
        rates: list[float] = []
        for kind in asks:
            mine = turns[name, kind]
            against = (one.rate / other.rate for one, other in zip(mine, turns[floor, kind], strict=True))
            middle = statistics.median(seconds for one in mine for seconds in one.times) * 1000
            rates.append(statistics.median(one.rate for one in mine))
            recall = _recall(name, mine[0], asks[kind])
            cells += [f"{middle:.2f}", f"{rates[-1]:.0f}", f"{statistics.median(against):.2f}", recall]
        table.add_row(name, *cells, f"{statistics.harmonic_mean(rates):.0f}")
    return table


def _recall(name: str, turn: Round, asks: Sequence[Ask]) -> str:
    """Of the nearest; nothing is said of an order that words decide, too."""
    if "vector" not in name and "langchain" not in name:
        return ""
    return f"{statistics.mean(_shares(turn, asks)):.3f}"


def _shares(turn: Round, asks: Sequence[Ask]) -> list[float]:
    """Of the ten nearest, how many were found; of each question somebody may see anything of."""
    pairs = zip(asks, turn.found, strict=True)
    return [len({*found[:TOP]} & {*ask.nearest}) / len(ask.nearest) for ask, found in pairs if ask.nearest]


async def run(given: argparse.Namespace, folder: Path) -> None:
    """All sizes."""
    out = Console(width=180)
    server = start_embedded(folder)
    try:
        for size in given.sizes:
            corpus = make_corpus(size)
            asks = questions(corpus, given.questions)
            bench = Bench(server, corpus, out)
            await bench.prepare(asks)
            await bench.plans(asks)
            await bench.compare(asks, given.rounds, given.seconds, given.peer_python)
            await bench.recall(given.recall)
            await bench.timing(given.pairs)
            await bench.aclose()
    finally:
        server.stop()


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m bench.size", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="how long eight clients ask in each turn")
    parser.add_argument("--questions", type=int, default=40, help="of large and of small tenants, each")
    parser.add_argument("--recall", type=int, default=16, help="questions for each tenant's recall")
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--peer-python", help="Python of an environment with langchain-postgres 0.0.19")
    parser.add_argument("--data-dir", type=Path, help="keep the databases here; default: a temporary folder")
    given = parser.parse_args()
    if given.data_dir is not None:
        uvloop.run(run(given, given.data_dir))
        return
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        uvloop.run(run(given, Path(folder)))


if __name__ == "__main__":
    main()
