"""The floor: cut, count words, COPY."""

from collections.abc import Sequence
from io import BytesIO
from typing import TypeAlias
from uuid import UUID, uuid5

import asyncpg
from pgvector import Vector

from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.embedding import Vectors
from app.ingestion.passages import Passage, Passages
from app.retrieval.ranking import Calibration
from app.retrieval.text import index_text
from bench.ingest.corpus import FreeEmbedder

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_TABLES = ("documents", "document_versions", "chunks", "chunk_vectors")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


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


def binary_jsonb(text: str) -> bytes:
    """COPY's binary form: a version number, then the text."""
    return b"\x01" + text.encode()
