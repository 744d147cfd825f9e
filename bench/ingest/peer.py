"""The framework's way of bringing documents in; run by the bench with the Python of an environment of its own.

That environment holds ``langchain-postgres`` and ``langchain-text-splitters``, and nothing of ours. One JSON object a
line comes in (``address``, ``dimensions``, ``texts``), one goes out (``chunks``, ``seconds``).
"""

import asyncio
import json
import random
import sys
import time
from typing import Any

import asyncpg
from langchain_core.embeddings import Embeddings
from langchain_postgres import Column, PGEngine, PGVectorStore  # type: ignore[import-not-found]
from langchain_text_splitters import (  # type: ignore[import-not-found]
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
)

_TABLE, _TOGETHER = "peer_documents", 50
_RIGHTS = {"tenant_id": "t", "department": "hr", "scope": "public"}


class FreeEmbeddings(Embeddings):
    """Hands out vectors that are ready."""

    def __init__(self, dimensions: int):
        rng = random.Random(1)
        self._ready = [[rng.gauss(0, 1) for _ in range(dimensions)] for _ in range(1_000)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return [self._ready[place % len(self._ready)] for place in range(len(texts))]

    def embed_query(self, text: str) -> list[float]:
        """Any vector."""
        return self._ready[0]


async def ingest(address: str, dimensions: int, texts: list[str]) -> dict[str, Any]:
    """Split and store everything in a fresh table with an index for its filter."""
    connection = await asyncpg.connect(address)
    await connection.execute(f"drop table if exists {_TABLE}")
    engine = PGEngine.from_connection_string(address.replace("postgresql://", "postgresql+asyncpg://"))
    columns = [Column(name, "TEXT") for name in _RIGHTS]
    await engine.ainit_vectorstore_table(_TABLE, dimensions, metadata_columns=columns)
    await connection.execute(f"create index on {_TABLE} (tenant_id, department, scope)")
    store = await PGVectorStore.create(
        engine, embedding_service=FreeEmbeddings(dimensions), table_name=_TABLE, metadata_columns=list(_RIGHTS)
    )
    headings = MarkdownHeaderTextSplitter([("#", "title"), ("##", "section")])
    sizes = RecursiveCharacterTextSplitter(chunk_size=800, chunk_overlap=0)
    started, chunks = time.perf_counter(), 0
    for start in range(0, len(texts), _TOGETHER):
        pieces = [
            piece
            for text in texts[start : start + _TOGETHER]
            for piece in sizes.split_documents(headings.split_text(text))
        ]
        for piece in pieces:
            piece.metadata |= _RIGHTS
        await store.aadd_documents(pieces)
        chunks += len(pieces)
    seconds = time.perf_counter() - started
    await engine.close()
    await connection.close()
    return {"chunks": chunks, "seconds": seconds}


async def main() -> None:
    """Answer until the input ends."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        sys.stdout.write(f"{json.dumps(await ingest(**json.loads(line)))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
