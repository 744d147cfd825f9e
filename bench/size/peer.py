"""The framework's vector store on the same rows; run by the bench with the Python of an environment of its own.

That environment holds ``langchain-postgres`` (which needs an older pgvector than the service), ``asyncpg`` and
``uvloop``, and nothing of ours. One JSON object a line comes in, one goes out.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uvloop
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_postgres import Column, PGEngine, PGVectorStore  # type: ignore[import-not-found]
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions  # type: ignore[import-not-found]

CLIENTS, TOP = 8, 10
_COLUMNS = ("chunk", "tenant_id", "department", "scope")
_FILL = """
insert into {table} (langchain_id, content, embedding, chunk, tenant_id, department, scope, langchain_metadata)
select gen_random_uuid(), c.text, v.embedding, c.chunk_id::text, c.tenant_id::text, c.department, c.scope, '{{}}'
from chunks c join chunk_vectors v using (tenant_id, chunk_id)
"""


class Store:
    """One table of the framework's, with the index it is given."""

    def __init__(self, address: str, variant: str):
        self._address, self._variant = address, variant
        self._table = f"peer_{variant}"
        self._engine: Any = None
        self._store: Any = None

    async def setup(self, dimensions: int) -> float:
        """Make and fill the table, then build its index; seconds taken."""
        started = time.perf_counter()
        await self._sql(f"drop table if exists {self._table}")
        engine = self._open_engine()
        columns = [Column(name, "TEXT") for name in _COLUMNS]
        await engine.ainit_vectorstore_table(self._table, dimensions, metadata_columns=columns)
        await self._sql(_FILL.format(table=self._table))
        await self._open(dimensions)
        if self._variant == "btree":
            await self._sql(f"create index on {self._table} (tenant_id, department, scope)")
        else:
            await self._sql("alter system set maintenance_work_mem = '1GB'", "select pg_reload_conf()")
            await self._store.aapply_vector_index(HNSWIndex())
        await self._sql(f"vacuum analyze {self._table}")
        return time.perf_counter() - started

    async def round(self, asks: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
        """Every question once, then as many as 8 clients get answered."""
        times: list[float] = []
        found: list[list[str]] = []
        for ask in asks:
            started = time.perf_counter()
            found.append(await self._search(ask))
            times.append(time.perf_counter() - started)
        return {"times": times, "found": found, "rate": await rate(self._search, asks, seconds)}

    async def _search(self, ask: dict[str, Any]) -> list[str]:
        found = await self._store.asimilarity_search_by_vector(ask["vector"], k=TOP, filter=ask["filter"])
        return [document.metadata["chunk"] for document in found]

    async def _open(self, dimensions: int) -> None:
        self._store = await PGVectorStore.create(
            self._open_engine(),
            embedding_service=DeterministicFakeEmbedding(size=dimensions),
            table_name=self._table,
            metadata_columns=list(_COLUMNS),
            index_query_options=HNSWQueryOptions(ef_search=40) if self._variant == "hnsw" else None,
        )

    def _open_engine(self) -> Any:
        if self._engine is None:
            address = self._address.replace("postgresql://", "postgresql+asyncpg://")
            self._engine = PGEngine.from_connection_string(address, pool_size=CLIENTS)
        return self._engine

    async def _sql(self, *statements: str) -> None:
        connection = await asyncpg.connect(self._address)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()


async def rate(
    search: Callable[[dict[str, Any]], Awaitable[object]], asks: list[dict[str, Any]], seconds: float
) -> float:
    """Questions a second with eight clients."""
    count, until = 0, time.perf_counter() + seconds

    async def client(at: int) -> None:
        nonlocal count
        while time.perf_counter() < until:
            await search(asks[at % len(asks)])
            at, count = at + 13, count + 1

    started = time.perf_counter()
    await asyncio.gather(*(client(7 * number) for number in range(CLIENTS)))
    return count / (time.perf_counter() - started)


async def main() -> None:
    """Answer until the input ends."""
    stores: dict[str, Store] = {}
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        variant = order["variant"]
        if order["do"] == "setup":
            stores[variant] = Store(order["address"], variant)
            answer: dict[str, Any] = {"seconds": await stores[variant].setup(order["dimensions"])}
        else:
            answer = await stores[variant].round(order["asks"], order["seconds"])
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(main())
