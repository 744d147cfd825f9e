"""From text to rows that can be published: chunks, their vectors, their words. Asks the model only for what is new."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.knowledge import ChunkDraft, DocumentDraft
from app.domain.principal import Principal
from app.domain.record import Record
from app.embedding import Embedder, Vectors
from app.ingestion import planted
from app.ingestion.chunk import chunk
from app.ingestion.intake import demand_admin
from app.retrieval.calibration import Calibration, load_calibration
from app.retrieval.text import index_text
from app.storage.database import Database, Transaction
from app.storage.publishing import (
    NO_CHUNK,
    ChunkRow,
    ChunkText,
    add_vectors,
    cached_embeddings,
    chunks_without_vectors,
    drop_space,
    forget_embeddings,
    remember_embeddings,
    searched_space,
    switch_space,
)
from app.text.language import normalise

BATCH = 32
"""Passages embedded between two signs of life; what a killed process has to do again at most."""
Note = Callable[[Transaction, int], Awaitable[None]]
"""Notes after each batch how many passages have their vector, in the transaction that keeps them; may refuse that."""
Embedded = Callable[[int], Awaitable[None]]
"""Told the same after the commit."""


@dataclass(frozen=True)
class Passage:
    """A chunk with the text it is found by."""

    chunk: ChunkDraft
    text: str
    """Title, headings and text: a chunk alone rarely says what it is about."""
    hash: str
    language: str


class Passages:
    """Makes what is stored of a document's text. The principals are administrators."""

    def __init__(self, database: Database, embedder: Embedder, calibration: Calibration):
        self._database, self._embedder, self._calibration = database, embedder, calibration

    @property
    def space(self) -> str:
        """Name of the space the vectors lie in."""
        return self._calibration.space

    async def clean(self, text: str, pages: Sequence[int] = ()) -> planted.Cleaned:
        """See `planted.clean`."""
        return await planted.clean(text, pages, self._embedder)

    def cut(self, draft: DocumentDraft, pages: Sequence[int] = ()) -> list[Passage]:
        """The passages of a text, in order; none for a text without words. Takes CPU time: call it on a thread."""
        pieces = chunk(draft.text, draft.title, count_tokens=self._embedder.count_tokens, pages=pages)
        return [as_passage(draft.title, draft.lang, piece) for piece in pieces]

    async def embed(
        self, principal: Principal, passages: Sequence[Passage], note: Note | None = None, told: Embedded | None = None
    ) -> tuple[Vectors, int]:
        """(one vector a passage, in the stored space; how many the model was asked for).

        Every batch is kept in the tenant's cache as soon as it is made. Raises `EmbeddingUnavailable`.
        """
        rows: list[Vectors] = []
        computed = 0
        for start in range(0, len(passages), BATCH):
            batch = passages[start : start + BATCH]
            known, fresh = await self._embed_batch(principal, batch)
            async with self._database.principal_scope(principal, durable=False) as tx:
                if note is not None:
                    await note(tx, start + len(batch))
                if fresh:
                    await remember_embeddings(tx, self._embedder.model, fresh)
            if told is not None:
                await told(start + len(batch))
            known.update(fresh)
            vectors = np.stack([known[one.hash] for one in batch])
            rows.append(self._calibration.centre_passages(vectors, [one.language for one in batch]))
            computed += len(fresh)
        return np.concatenate(rows), computed

    async def _embed_batch(
        self, principal: Principal, batch: Sequence[Passage]
    ) -> tuple[dict[str, Vectors], dict[str, Vectors]]:
        """(vectors that were known, vectors that were made), by hash."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            known = await cached_embeddings(tx, self._embedder.model, [one.hash for one in batch])
        missing = {one.hash: one.text for one in batch if one.hash not in known}
        made = await self._embedder.embed_passages(list(missing.values())) if missing else ()
        return known, dict(zip(missing, made, strict=True))

    async def forget(self, principal: Principal, passages: Sequence[Passage]) -> None:
        """Drop the kept vectors of a text that will not be published."""
        async with self._database.principal_scope(principal) as tx:
            await forget_embeddings(tx, [one.hash for one in passages])

    async def rows(self, passages: Sequence[Passage], vectors: Vectors) -> list[ChunkRow]:
        """What is stored of each passage; the words are counted on a thread."""
        return await asyncio.to_thread(
            lambda: [_row(one, vector) for one, vector in zip(passages, vectors, strict=True)]
        )


def as_passage(title: str, language: str, piece: ChunkDraft) -> Passage:
    """A chunk of a document of that title, as it is found."""
    text = "\n".join(part for part in (title, piece.section, piece.text) if part)
    return Passage(piece, text, hashlib.sha256(normalise(text).encode()).hexdigest(), language)


def _row(passage: Passage, vector: Vectors) -> ChunkRow:
    piece = passage.chunk
    return ChunkRow(
        position=piece.position,
        section=piece.section,
        page=piece.page,
        text=piece.text,
        words=index_text(passage.text),
        folded_words=index_text(passage.text, folded=True),
        passage_hash=passage.hash,
        vector=vector,
    )


_ROUNDS = 10
"""How often chunks that were published meanwhile are looked for before giving up."""

VectorsDone = Callable[[int], None]
"""Told after each batch how many vectors were written."""


class ReembedReport(Record):
    """What was done."""

    written: int
    """Vectors written; those an earlier, interrupted run wrote do not count."""
    embedded: int
    """Passages the model had to be asked for; the others' vectors were known."""
    is_searched: bool
    """Whether the tenant is searched by the new vectors now. If not, chunks are left that the caller may not read, or
    documents go on arriving with vectors of the old model."""
    dropped: int
    """Vectors of the old space that were removed."""


class Reembedding:
    """Writes vectors of its embedder's space for every chunk, then lets the tenant be searched by them.

    Until then the old vectors answer, so nobody notices but by the processor's work. Safe to be stopped at any time:
    the next call goes on where this one was.
    """

    def __init__(self, database: Database, embedder: Embedder, *, calibration: Calibration | None = None):
        """`calibration` says in which space vectors are stored; unset = the one fitted for the embedder's model."""
        self._database = database
        self._passages = Passages(database, embedder, calibration or load_calibration(embedder.model))

    async def run(
        self, principal: Principal, on_progress: VectorsDone | None = None, *, drop_old: bool = True
    ) -> ReembedReport:
        """Bring the principal's tenant over. The principal administers it and should read all of it.

        Raises `AppError` PERMISSION_DENIED, `EmbeddingUnavailable`.
        """
        demand_admin(principal, "re-embeds documents")
        space = self._passages.space
        written = embedded = 0
        is_searched = False
        async with self._database.principal_scope(principal) as tx:
            old = await searched_space(tx)
        for _ in range(_ROUNDS):
            wrote, asked = await self._write(principal, written, on_progress)
            written, embedded = written + wrote, embedded + asked
            async with self._database.principal_scope(principal) as tx:
                is_searched = await switch_space(tx, space)
            if is_searched or not wrote:
                break
        dropped = 0
        if is_searched and drop_old and old not in (None, space):
            async with self._database.principal_scope(principal) as tx:
                dropped = await drop_space(tx, old)
        return ReembedReport(written=written, embedded=embedded, is_searched=is_searched, dropped=dropped)

    async def _write(self, principal: Principal, before: int, on_progress: VectorsDone | None) -> tuple[int, int]:
        """(vectors written, passages the model was asked for) in one pass over the chunks that have none."""
        written = embedded = 0
        after = NO_CHUNK
        while True:
            async with self._database.principal_scope(principal, durable=False) as tx:
                batch = await chunks_without_vectors(tx, self._passages.space, BATCH, after=after)
            if not batch:
                return written, embedded
            vectors, asked = await self._passages.embed(principal, [_passage(one) for one in batch])
            async with self._database.principal_scope(principal) as tx:
                await add_vectors(tx, self._passages.space, [one.chunk_id for one in batch], vectors)
            written, embedded, after = written + len(batch), embedded + asked, batch[-1].chunk_id
            if on_progress:
                on_progress(before + written)


def _passage(one: ChunkText) -> Passage:
    piece = ChunkDraft(position=one.position, section=one.section, text=one.text, page=one.page)
    return as_passage(one.title, one.language, piece)
