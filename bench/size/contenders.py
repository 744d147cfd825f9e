"""What is measured: the service's own ways, bare SQL on the same rows, and a framework's vector store."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import asyncpg
import numpy as np

from app.domain.principal import GENERAL
from app.embedding import Vectors
from app.retrieval import search as retrieval_search
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from app.storage.database import Database, Transaction, open_driver
from app.storage.search import ChunkQuery, Hit, arguments, search_chunks, statement
from app.storage.search.statements import indexed_vector, visible
from bench.size.corpus import MODEL, Ask

CLIENTS, TOP = 8, 10
_PEER = Path(__file__).with_name("peer.py")
_PEER_LINE_BYTES = 2**26


class Round(NamedTuple):
    """One turn of one contender."""

    times: list[float]
    """Seconds a question, asked one after the other."""
    found: list[list[UUID]]
    """The nearest chunks of each question, nearest first."""
    rate: float
    """Questions a second with eight clients."""


class Contender(Protocol):
    """Answers questions in one way."""

    name: str

    async def turn(self, asks: Sequence[Ask], seconds: float) -> Round:
        """Every question once, then as many as eight clients get answered in `seconds`."""

    async def aclose(self) -> None:
        """Close its connections."""


Search = Callable[[Ask], Awaitable[list[UUID]]]


async def _turn(clients: Sequence[Search], asks: Sequence[Ask], seconds: float) -> Round:
    times: list[float] = []
    found: list[list[UUID]] = []
    for ask in asks:
        started = time.perf_counter()
        found.append(await clients[0](ask))
        times.append(time.perf_counter() - started)
    count, until = 0, time.perf_counter() + seconds

    async def ask_on(search: Search, at: int) -> None:
        nonlocal count
        while time.perf_counter() < until:
            await search(asks[at % len(asks)])
            at, count = at + 13, count + 1

    started = time.perf_counter()
    await asyncio.gather(*(ask_on(search, 7 * number) for number, search in enumerate(clients)))
    return Round(times, found, count / (time.perf_counter() - started))


class FreeEmbedder:
    """Knows the vector of every question that will be asked."""

    model = MODEL

    def __init__(self, asks: Sequence[Ask]):
        self._vectors = {ask.text: ask.vector for ask in asks}
        self.dimensions = len(asks[0].vector)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Look them up."""
        return np.stack([self._vectors[text] for text in texts])

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Nobody asks."""
        raise NotImplementedError

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Words."""
        return [len(text.split()) for text in texts]

    async def aclose(self) -> None:
        """Nothing to close."""


class Whole:
    """`Retriever.search`, as the service calls it; remembers what it asked the database."""

    name = "Retriever.search"

    def __init__(self, database: Database, asks: Sequence[Ask]):
        self._retriever = Retriever(database, FreeEmbedder(asks), load_calibration(MODEL), caching=False)
        self.queries: dict[str, ChunkQuery] = {}

    async def watch(self, asks: Sequence[Ask]) -> None:
        """Ask everything once and keep the queries that go to the database; also warms up."""

        async def watched(tx: Transaction, query: ChunkQuery) -> list[Hit]:
            self.queries[asked] = query
            return await search_chunks(tx, query)

        vars(retrieval_search)["search_chunks"] = watched
        for ask in asks:
            asked = ask.text
            await self._search(ask)
        vars(retrieval_search)["search_chunks"] = search_chunks

    async def turn(self, asks: Sequence[Ask], seconds: float) -> Round:
        """See `Contender`."""
        return await _turn([self._search] * CLIENTS, asks, seconds)

    async def _search(self, ask: Ask) -> list[UUID]:
        found = await self._retriever.search(ask.principal, ask.text, departments=ask.departments, limit=TOP)
        return [passage.chunk_id for passage in found.passages]

    async def aclose(self) -> None:
        """The pool belongs to somebody else."""


class Storage:
    """The search statement in a transaction of the asker, under row policies."""

    def __init__(self, name: str, database: Database, queries: dict[str, ChunkQuery]):
        self.name = name
        self._database, self._queries = database, queries

    async def turn(self, asks: Sequence[Ask], seconds: float) -> Round:
        """See `Contender`."""
        return await _turn([self._search] * CLIENTS, asks, seconds)

    async def _search(self, ask: Ask) -> list[UUID]:
        async with self._database.principal_scope(ask.principal, durable=False) as tx:
            hits = await search_chunks(tx, self._queries[ask.text])
        return [hit.chunk_id for hit in sorted(hits, key=lambda hit: -hit.similarity)]

    async def aclose(self) -> None:
        """The pool belongs to somebody else."""


class _Bare:
    """Statements on bare asyncpg connections as the superuser: no row policies, no transaction, no settings a query."""

    def __init__(self, name: str, connections: "list[asyncpg.Connection[asyncpg.Record]]"):
        self.name = name
        self._connections = connections

    @classmethod
    async def _connect(cls, address: str) -> "list[asyncpg.Connection[asyncpg.Record]]":
        connections: list[asyncpg.Connection[asyncpg.Record]] = [await open_driver(address) for _ in range(CLIENTS)]
        for connection in connections:
            await connection.execute(
                "set hnsw.ef_search = 200; set hnsw.iterative_scan = relaxed_order; set hnsw.max_scan_tuples = 6000;"
                " set plan_cache_mode = force_custom_plan; set jit = off"
            )
        return connections

    async def turn(self, asks: Sequence[Ask], seconds: float) -> Round:
        """See `Contender`."""
        return await _turn([self._client(connection) for connection in self._connections], asks, seconds)

    def _client(self, connection: "asyncpg.Connection[asyncpg.Record]") -> Search:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            await connection.close()


class SameStatement(_Bare):
    """The service's own statements, bare."""

    def __init__(
        self, name: str, connections: "list[asyncpg.Connection[asyncpg.Record]]", queries: dict[str, ChunkQuery]
    ):
        super().__init__(name, connections)
        self._queries = queries

    @classmethod
    async def open(cls, name: str, address: str, queries: dict[str, ChunkQuery]) -> "SameStatement":
        """Connect."""
        return cls(name, await cls._connect(address), queries)

    def _client(self, connection: "asyncpg.Connection[asyncpg.Record]") -> Search:
        async def search(ask: Ask) -> list[UUID]:
            query = self._queries[ask.text]
            # `arguments` needs of a transaction only who asks.
            asked = arguments(Transaction(connection, ask.principal), query)
            return [row["chunk_id"] for row in await connection.fetch(statement(query), *asked)]

        return search


class Nearest(_Bare):
    """The shortest SQL that finds the ten nearest passages: WHERE and ORDER BY, text of the ten read by key."""

    @classmethod
    async def open(cls, name: str, address: str, queries: dict[str, ChunkQuery]) -> "Nearest":
        """Connect."""
        bare = cls(name, await cls._connect(address))
        bare._queries = queries
        return bare

    _queries: dict[str, ChunkQuery]

    def _client(self, connection: "asyncpg.Connection[asyncpg.Record]") -> Search:
        async def search(ask: Ask) -> list[UUID]:
            query = self._queries[ask.text]
            rows = await connection.fetch(
                _nearest(query.vector_leg, len(query.vector)), ask.principal.tenant_id, sorted(ask.principal.scopes),
                sorted(ask.principal.departments), ask.departments, query.on, False, MODEL, query.vector,
            )  # fmt: skip
            return [row["chunk_id"] for row in rows]

        return search


def _nearest(leg: str, dimensions: int) -> str:
    vector, asked = "v.embedding", "$8::vector"
    if leg == "ann":
        vector, asked = indexed_vector(vector, dimensions), indexed_vector(asked, dimensions)
    return f"""
with near as (
    select v.chunk_id, {vector} <#> {asked} as distance from chunk_vectors v
    where {visible("v")} and v.embedding_model = $7 order by distance limit {TOP}
)
select near.chunk_id, near.distance, c.text
from near join chunks c on c.tenant_id = $1 and c.chunk_id = near.chunk_id order by near.distance"""


class Framework:
    """``langchain-postgres`` in a process and an environment of its own."""

    def __init__(self, variant: str, process: asyncio.subprocess.Process):
        self.name = f"langchain-postgres, {variant}"
        self._variant, self._process = variant, process

    @classmethod
    async def open(cls, python: str, address: str, dimensions: int) -> "list[Framework]":
        """Start it and let it copy the rows; both variants share the process."""
        process = await asyncio.create_subprocess_exec(
            python, str(_PEER), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, limit=_PEER_LINE_BYTES,
        )  # fmt: skip
        stores = [cls(variant, process) for variant in ("btree", "hnsw")]
        for store in stores:
            done = await store._order({"do": "setup", "address": address, "dimensions": dimensions})
            sys.stdout.write(f"{store.name}: rows copied and indexed in {done['seconds']:.0f} s\n")
        return stores

    async def turn(self, asks: Sequence[Ask], seconds: float) -> Round:
        """See `Contender`."""
        orders = [{"vector": ask.vector.tolist(), "filter": _filter(ask)} for ask in asks]
        done = await self._order({"do": "round", "asks": orders, "seconds": seconds})
        return Round(done["times"], [[UUID(key) for key in keys] for keys in done["found"]], done["rate"])

    async def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order | {"variant": self._variant}).encode() + b"\n")
        await self._process.stdin.drain()
        answer: dict[str, Any] = json.loads(await self._process.stdout.readline())
        return answer

    async def aclose(self) -> None:
        """Let the process end."""
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.close()
            await self._process.wait()


def _filter(ask: Ask) -> dict[str, Any]:
    """The permission rule in the framework's words."""
    who = ask.principal
    own = [{"scope": "private"}, {"department": {"$in": sorted({*who.departments, GENERAL})}}]
    by_scope: list[dict[str, Any]] = (
        [{"scope": {"$in": sorted(who.scopes - {"private"})}}] if who.scopes - {"private"} else []
    )
    by_scope += [{"$and": own}] if "private" in who.scopes else []
    narrowed = [{"department": {"$in": sorted(ask.departments)}}] if ask.departments is not None else []
    return {"$and": [{"tenant_id": str(who.tenant_id)}, {"$or": by_scope}, *narrowed]}
