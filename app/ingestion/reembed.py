"""Moving a tenant to the vectors of another model while it is searched by the old ones."""

from collections.abc import Callable

from app.domain.knowledge import ChunkDraft
from app.domain.principal import Principal
from app.domain.record import Record
from app.embedding import Embedder
from app.errors import AppError, ErrorCode
from app.ingestion.passages import BATCH, Passage, Passages, as_passage
from app.retrieval.calibration import Calibration, load_calibration
from app.storage.database import Database
from app.storage.publishing import (
    NO_CHUNK,
    ChunkText,
    add_vectors,
    chunks_without_vectors,
    drop_space,
    searched_space,
    switch_space,
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
        if not principal.is_admin:
            raise AppError(ErrorCode.PERMISSION_DENIED, "Only an administrator re-embeds documents.", status=403)
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
