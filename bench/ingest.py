"""What bringing documents in costs beyond cutting, counting words and writing rows: chunks a second against a floor.

The embedder costs nothing here: it hands out vectors that are ready. The floor cuts the same documents and counts the
same words with the same code, in one process, and writes the same rows with bare asyncpg COPY, a transaction a
document, as the owner, into tables with the same columns and indexes but without row security, triggers and foreign
keys; it keeps no vectors for the next time, looks nothing up and tells nobody. ``--peer-python`` names the Python of an
environment with ``langchain-postgres``, which splits and stores the same texts in its own way, without word indexes,
versions or rights. All take turns; medians of the rounds are printed.
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeAlias
from uuid import UUID, uuid4, uuid5

import asyncpg
import numpy as np
from pgvector import Vector
from rich.console import Console
from rich.table import Table

from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL, SCOPES, Principal
from app.embedding import Vectors
from app.ingestion.passages import Passage, Passages
from app.ingestion.pipeline import Ingestion
from app.retrieval.calibration import Calibration, load_calibration
from app.retrieval.text import index_text
from app.storage.database import Database, open_driver
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
DIMENSIONS, SEED, LANGUAGE = 384, 20261121, "vi"
_SECTIONS, _PARAGRAPHS, _SENTENCES = (9, 17), (2, 4), (2, 5)
_SYLLABLES = (
    ("b", "c", "ch", "d", "đ", "g", "h", "kh", "l", "m", "n", "ng", "nh", "ph", "r", "s", "t", "th", "tr", "v", "x"),
    ("a", "à", "á", "ạ", "ă", "â", "e", "ê", "i", "o", "ô", "ơ", "u", "ư", "ươ", "oa", "iê"),
    ("", "c", "m", "n", "ng", "t"),
)
_TABLES = ("documents", "document_versions", "chunks", "chunk_vectors")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class FreeEmbedder:
    """Hands out vectors that are ready."""

    model, dimensions = "free", DIMENSIONS

    def __init__(self) -> None:
        made = np.random.default_rng(SEED).standard_normal((4_096, DIMENSIONS), np.float32)
        self._ready: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
        self.passages = 0

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        return self._ready[: len(texts)]

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, and a note that it was asked for."""
        self.passages += len(texts)
        return self._ready[: len(texts)]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """About what a multilingual model makes of it."""
        return [1 + len(text) // 4 for text in texts]

    async def aclose(self) -> None:
        """Nothing to stop."""


def documents(count: int) -> list[DocumentDraft]:
    """Markdown policies with headings, lists and Zipf words; the same every time."""
    rng = random.Random(SEED)
    words = ["".join(letters) for letters in product(*_SYLLABLES)]
    rng.shuffle(words)
    weights = [1 / (place + 5) for place in range(len(words))]

    def sentence() -> str:
        return " ".join(rng.choices(words, weights, k=rng.randint(8, 24))).capitalize() + "."

    def section(number: int) -> str:
        paragraphs = (
            " ".join(sentence() for _ in range(rng.randint(*_SENTENCES))) for _ in range(rng.randint(*_PARAGRAPHS))
        )
        return "\n\n".join([f"## Điều {number}: {' '.join(rng.choices(words, k=4))}", *paragraphs])

    return [
        DocumentDraft(
            title=f"Quy định {number}",
            text="\n\n".join(section(one) for one in range(1, rng.randint(*_SECTIONS))),
            url=f"https://intra.example/{number}",
            department=rng.choice(("hr", "it", GENERAL)),
            scope=rng.choice(SCOPES),
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            external_id=f"rule-{number}",
            lang=LANGUAGE,
        )
        for number in range(count)
    ]


def administrator() -> Principal:
    """Of a tenant nobody used before."""
    return Principal(
        tenant_id=uuid4(),
        user_id=uuid4(),
        department=GENERAL,
        departments=frozenset({GENERAL, "hr", "it"}),
        scopes=frozenset(SCOPES),
        roles=frozenset({"admin"}),
    )


class Floor:
    """What no service could save: cut, count words, COPY."""

    def __init__(self, driver: Connection, embedder: FreeEmbedder, passages: Passages, calibration: Calibration):
        self._driver, self._embedder = driver, embedder
        self._passages, self._calibration = passages, calibration

    async def make_tables(self) -> None:
        """Columns, defaults, checks and indexes of the real ones."""
        for table in _TABLES:
            await self._driver.execute(f"create table floor_{table} (like {table} including all)")

    async def forget(self) -> None:
        """Empty the tables."""
        await self._driver.execute(f"truncate {', '.join(f'floor_{table}' for table in _TABLES)}")

    async def ingest(self, owner: Principal, drafts: Sequence[DocumentDraft]) -> int:
        """Write every draft; how many chunks that were."""
        written = 0
        for draft in drafts:
            passages = self._passages.cut(draft)
            raw = await self._embedder.embed_passages([one.text for one in passages])
            vectors = self._calibration.centre_passages(raw, [draft.lang] * len(passages))
            async with self._driver.transaction():
                await self._write(owner, draft, passages, vectors)
            written += len(passages)
        return written

    async def _write(
        self, owner: Principal, draft: DocumentDraft, passages: Sequence[Passage], vectors: Vectors
    ) -> None:
        document_id, tenant = uuid5(owner.tenant_id, draft.external_id), owner.tenant_id
        rights = {"department": draft.department, "scope": draft.scope}
        described = draft.model_dump(include={"title", "url", "lang", "created_at", "external_id"})
        document = {**described, "tenant_id": tenant, "document_id": document_id, "current_version": 1, **rights}
        await self._copy("documents", document, status="ready", latest_version=1)
        version = {"tenant_id": tenant, "document_id": document_id, "version": 1, "content_hash": "", **rights}
        hashes = [one.hash for one in passages]
        await self._copy(
            "document_versions", version, text=draft.text, draft=draft.model_dump_json(exclude={"text"}),
            created_by=owner.user_id, chunks_total=len(passages), passages=hashes, published_at=draft.created_at,
        )  # fmt: skip
        ids = [uuid5(document_id, f"1:{one.chunk.position}") for one in passages]
        await self._driver.copy_to_table(
            "floor_chunks",
            source=_lines(tenant, document_id, draft, passages, ids),
            columns=[
                "tenant_id", "chunk_id", "document_id", "version", "position", "section", "text", "tsv", "tsv_folded",
                "passage_hash", "department", "scope", "is_current",
            ],
        )  # fmt: skip
        records = [
            (tenant, chunk_id, document_id, draft.department, draft.scope, True, self._calibration.space, Vector(row))
            for chunk_id, row in zip(ids, vectors, strict=True)
        ]
        await self._driver.copy_records_to_table(
            "floor_chunk_vectors",
            records=records,
            columns=[
                "tenant_id", "chunk_id", "document_id", "department", "scope", "is_current", "embedding_model",
                "embedding",
            ],
        )  # fmt: skip

    async def _copy(self, table: str, row: dict[str, object], **more: object) -> None:
        whole = {**row, **more}
        await self._driver.copy_records_to_table(f"floor_{table}", records=[tuple(whole.values())], columns=[*whole])


def _lines(
    tenant: UUID, document_id: UUID, draft: DocumentDraft, passages: Sequence[Passage], ids: Sequence[UUID]
) -> BytesIO:
    """Chunks in COPY's text format: the driver has no binary form of a ``tsvector``."""
    lines = (
        f"{tenant}\t{chunk_id}\t{document_id}\t1\t{one.chunk.position}\t{one.chunk.section.translate(_ESCAPES)}\t"
        f"{one.chunk.text.translate(_ESCAPES)}\t{index_text(one.text)}\t{index_text(one.text, folded=True)}\t"
        f"{one.hash}\t{draft.department}\t{draft.scope}\tt\n"
        for one, chunk_id in zip(passages, ids, strict=True)
    )
    return BytesIO("".join(lines).encode())


def _binary_jsonb(text: str) -> bytes:
    """COPY's binary form: a version number, then the text."""
    return b"\x01" + text.encode()


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
        script = Path(__file__).with_name("ingest_peer.py")
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
        await owner.set_type_codec("jsonb", encoder=_binary_jsonb, decoder=bytes, format="binary", schema="pg_catalog")
        peer = await Peer.open(arguments.peer_python, server.owner_url) if arguments.peer_python else None
        bench = Bench(database, owner, documents(arguments.documents), peer)
        await bench.floor.make_tables()
        await bench.round(floor_first=True)
        rounds = [await bench.round(floor_first=number % 2 == 0) for number in range(arguments.rounds)]
        if peer is not None:
            await peer.aclose()
    finally:
        await owner.close()
        await database.dispose()
    report(rounds, arguments.documents, out)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer-python", help="Python of an environment with langchain-postgres 0.0.19")
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
