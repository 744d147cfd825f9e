"""From text to rows that can be published: chunks, their vectors, their words. Asks the model only for what is new."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from app.domain.knowledge import ChunkDraft, DocumentDraft
from app.domain.principal import Principal
from app.domain.record import Record
from app.embedding import Embedder, Vectors
from app.ingestion.chunk import chunk
from app.ingestion.intake import demand_admin
from app.retrieval.ranking import Calibration, load_calibration
from app.retrieval.text import index_text
from app.storage import publishing
from app.storage.database import Database, Transaction
from app.storage.publishing import ChunkRow, ChunkText
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
        self._database, self.embedder, self._calibration = database, embedder, calibration
        self.space = calibration.space
        """Name of the space the vectors lie in."""

    def cut(self, draft: DocumentDraft, pages: Sequence[int] = ()) -> list[Passage]:
        """The passages of a text, in order; none for a text without words. Takes CPU time: call it on a thread."""
        pieces = chunk(draft.text, draft.title, count_tokens=self.embedder.count_tokens, pages=pages)
        return [as_passage(draft.title, draft.lang, piece) for piece in pieces]

    async def embed(
        self, principal: Principal, passages: Sequence[Passage], note: Note | None = None, told: Embedded | None = None
    ) -> tuple[Vectors, int]:
        """(one vector a passage, in the stored space; how many the model was asked for).

        Every batch is kept in the tenant's cache as soon as it is made. Raises `EmbeddingUnavailable`.
        """
        rows, computed, scope = list[Vectors](), 0, partial(self._database.principal_scope, principal, durable=False)
        for start in range(0, len(passages), BATCH):
            batch = passages[start : start + BATCH]
            async with scope() as tx:
                vectors = await publishing.cached_embeddings(tx, self.embedder.model, [one.hash for one in batch])
            missing = {one.hash: one.text for one in batch if one.hash not in vectors}
            made = await self.embedder.embed_passages(list(missing.values())) if missing else ()
            fresh = dict(zip(missing, made, strict=True))
            async with scope() as tx:
                if note is not None:
                    await note(tx, start + len(batch))
                if fresh:
                    await publishing.remember_embeddings(tx, self.embedder.model, fresh)
            if told is not None:
                await told(start + len(batch))
            vectors |= fresh
            found = np.stack([vectors[one.hash] for one in batch])
            rows.append(self._calibration.centre_passages(found, [one.language for one in batch]))
            computed += len(fresh)
        return np.concatenate(rows), computed

    async def forget(self, principal: Principal, passages: Sequence[Passage]) -> None:
        """Drop the kept vectors of a text that will not be published."""
        async with self._database.principal_scope(principal) as tx:
            await publishing.forget_embeddings(tx, [one.hash for one in passages])


def as_passage(title: str, language: str, piece: ChunkDraft) -> Passage:
    """A chunk of a document of that title, as it is found."""
    text = "\n".join(part for part in (title, piece.section, piece.text) if part)
    return Passage(piece, text, hashlib.sha256(normalise(text).encode()).hexdigest(), language)


def rows_of(passages: Sequence[Passage], vectors: Vectors) -> list[ChunkRow]:
    """What is stored of each passage. Takes CPU time."""
    return [
        ChunkRow(
            **one.chunk.model_dump(), words=index_text(one.text), folded_words=index_text(one.text, folded=True),
            passage_hash=one.hash, vector=vector,
        )
        for one, vector in zip(passages, vectors, strict=True)
    ]  # fmt: skip


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
        space, scope = self._passages.space, partial(self._database.principal_scope, principal)
        written = embedded = dropped = rounds = 0
        after = publishing.NO_CHUNK
        async with scope() as tx:
            old = await publishing.searched_space(tx)
        while True:
            async with scope(durable=False) as tx:
                batch = await publishing.chunks_without_vectors(tx, space, BATCH, after=after)
            if batch:
                vectors, asked = await self._passages.embed(principal, [_passage(one) for one in batch])
                async with scope() as tx:
                    await publishing.add_vectors(tx, space, [one.chunk_id for one in batch], vectors)
                written, embedded, after = written + len(batch), embedded + asked, batch[-1].chunk_id
                if on_progress:
                    on_progress(written)
                continue
            async with scope() as tx:
                is_searched = await publishing.switch_space(tx, space)
                if is_searched and drop_old and old not in (None, space):
                    dropped = await publishing.drop_space(tx, old)
            rounds += 1
            if is_searched or after == publishing.NO_CHUNK or rounds == _ROUNDS:
                return ReembedReport(written=written, embedded=embedded, is_searched=is_searched, dropped=dropped)
            after = publishing.NO_CHUNK


def _passage(one: ChunkText) -> Passage:
    piece = ChunkDraft(position=one.position, section=one.section, text=one.text, page=one.page)
    return as_passage(one.title, one.language, piece)
