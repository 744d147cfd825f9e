"""From drafts to searchable documents: chunk, embed what is new, publish each document in one transaction."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import uuid5

import numpy as np

from app.domain.knowledge import ChunkDraft, DocumentDraft
from app.domain.language import clean, guess_language, normalise
from app.domain.principal import Principal
from app.domain.record import Record
from app.embedding import Embedder, Vectors
from app.errors import AppError, ErrorCode
from app.ingestion.chunk import chunk
from app.retrieval.calibration import Calibration, load_calibration
from app.retrieval.text import index_text
from app.storage.database import Database
from app.storage.documents import (
    ChunkRow,
    DocumentRow,
    cached_embeddings,
    publish_document,
    remember_embeddings,
    stored_documents,
)

Progress = Callable[[int, int, str], None]
"""Told after each document: how many are done, of how many, and the title."""

_DOCUMENTS_AT_ONCE = 3
"""Enough that the embedder's threads never wait for the database."""
_REVISION = 1
"""Raise it when the same text would be cut or indexed differently: every document is then published anew."""


class IngestReport(Record):
    """What was done."""

    published: int
    """Documents that are new or have changed."""
    unchanged: int
    chunks: int
    """Chunks written."""
    embedded: int
    """Passages the model had to be asked for; the others' vectors were known."""
    seconds: float


@dataclass(frozen=True)
class _Prepared:
    """A draft after everything that needs neither model nor database."""

    draft: DocumentDraft
    chunks: tuple[ChunkDraft, ...]
    content_hash: str


@dataclass
class _Run:
    """One call of `ingest` on its way."""

    principal: Principal
    total: int
    on_progress: Progress | None
    done: int = 0
    chunks: int = 0
    embedded: int = 0

    def finished(self, title: str) -> None:
        self.done += 1
        if self.on_progress:
            self.on_progress(self.done, self.total, title)


class Ingestion:
    """Brings documents in for a tenant. The principal must be one of its administrators."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        *,
        calibration: Calibration | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ):
        """`calibration` says in which space vectors are stored; unset = the one fitted for the embedder's model."""
        self._database = database
        self._embedder = embedder
        self._calibration = calibration or load_calibration(embedder.model)
        self._today = today

    async def ingest(
        self, principal: Principal, drafts: Sequence[DocumentDraft], on_progress: Progress | None = None
    ) -> IngestReport:
        """Publish the drafts that are new or have changed. Nothing is written when one of them cannot be accepted.

        Raises `AppError`: `DOCUMENT_REJECTED` for a draft without text or an external id that comes twice,
        `PERMISSION_DENIED` for a caller who does not administer the tenant; and `EmbeddingUnavailable`. Documents
        published before such a failure stay, so the same call again does what is left.
        """
        if not principal.is_admin:
            raise AppError(ErrorCode.PERMISSION_DENIED, "Only an administrator brings documents in.", status=403)
        started = time.perf_counter()
        prepared = await asyncio.to_thread(_prepare, drafts)
        pending = await self._changed(principal, prepared)
        run = _Run(principal, len(prepared), on_progress)
        waiting = {one.draft.external_id for one in pending}
        for one in prepared:
            if one.draft.external_id not in waiting:
                run.finished(one.draft.title)
        await self._publish_all(run, pending)
        return IngestReport(
            published=len(pending),
            unchanged=len(prepared) - len(pending),
            chunks=run.chunks,
            embedded=run.embedded,
            seconds=time.perf_counter() - started,
        )

    async def _changed(self, principal: Principal, prepared: Sequence[_Prepared]) -> list[_Prepared]:
        async with self._database.principal_scope(principal) as tx:
            names = [one.draft.external_id for one in prepared]
            stored = await stored_documents(tx, names, self._calibration.space)
        known = {name: one.content_hash for name, one in stored.items() if one.has_vectors}
        return [one for one in prepared if known.get(one.draft.external_id) != one.content_hash]

    async def _publish_all(self, run: _Run, pending: Sequence[_Prepared]) -> None:
        waiting = iter(pending)

        async def work() -> None:
            for one in waiting:
                await self._publish(run, one)
                run.finished(one.draft.title)

        workers = [asyncio.create_task(work()) for _ in range(min(_DOCUMENTS_AT_ONCE, len(pending)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _publish(self, run: _Run, one: _Prepared) -> None:
        draft = one.draft
        passages = [_passage(draft, piece) for piece in one.chunks]
        vectors = await self._vectors(run, draft.lang, passages)
        document_id = uuid5(run.principal.tenant_id, f"document:{draft.external_id}")
        rows = [
            _row(piece, passage, vector) for piece, passage, vector in zip(one.chunks, passages, vectors, strict=True)
        ]
        document = DocumentRow(document_id, **draft.model_dump(exclude={"text"}))
        async with self._database.principal_scope(run.principal) as tx:
            await publish_document(
                tx,
                document,
                content_hash=one.content_hash,
                text=draft.text,
                embedding_model=self._calibration.space,
                chunks=rows,
                today=self._today(),
            )
        run.chunks += len(rows)

    async def _vectors(self, run: _Run, language: str, passages: Sequence[str]) -> Vectors:
        """Vectors of the passages as they are stored; the model is asked only for text it has not seen before."""
        hashes = [hashlib.sha256(normalise(passage).encode()).hexdigest() for passage in passages]
        model = self._embedder.model
        async with self._database.principal_scope(run.principal) as tx:
            known = await cached_embeddings(tx, model, hashes)
        missing = {name: passage for name, passage in zip(hashes, passages, strict=True) if name not in known}
        if missing:
            computed = await self._embedder.embed_passages(list(missing.values()))
            fresh = dict(zip(missing, computed, strict=True))
            async with self._database.principal_scope(run.principal, durable=False) as tx:
                await remember_embeddings(tx, model, fresh)
            known.update(fresh)
            run.embedded += len(fresh)
        raw = np.stack([known[name] for name in hashes])
        return self._calibration.centre_passages(raw, [language] * len(passages))


def _prepare(drafts: Sequence[DocumentDraft]) -> list[_Prepared]:
    twice = [name for name, times in Counter(draft.external_id for draft in drafts).items() if times > 1]
    if twice:
        raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The external_id {twice[0]!r} comes twice in one request.")
    return [_prepare_one(draft) for draft in drafts]


def _prepare_one(draft: DocumentDraft) -> _Prepared:
    text, title = clean(draft.text), " ".join(clean(draft.title).split())
    pieces = chunk(text, title)
    if not pieces:
        raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The document {draft.external_id!r} has no text.")
    tidy = draft.model_copy(update={"text": text, "title": title, "lang": draft.lang or guess_language(text)})
    content = f"{_REVISION} {tidy.model_dump_json()}"
    return _Prepared(tidy, pieces, hashlib.sha256(content.encode()).hexdigest())


def _passage(draft: DocumentDraft, piece: ChunkDraft) -> str:
    """What a chunk is found by: a chunk alone rarely says what it is about."""
    return "\n".join(part for part in (draft.title, piece.section, piece.text) if part)


def _row(piece: ChunkDraft, passage: str, vector: Vectors) -> ChunkRow:
    return ChunkRow(
        position=piece.position,
        section=piece.section,
        text=piece.text,
        words=index_text(passage),
        folded_words=index_text(passage, folded=True),
        vector=vector,
    )
