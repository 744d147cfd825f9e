"""Bringing documents in: uploads one at a time through all stages, or many complete drafts at once."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, tzinfo
from itertools import islice
from uuid import UUID, uuid4

from app.domain.documents import DocumentStatus, Progress, Upload
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.domain.record import Record
from app.domain.zones import today_in
from app.embedding import Embedder
from app.errors import AppError, ErrorCode
from app.ingestion.intake import Intake, as_upload, content_hash, demand_admin, document_id_of, note_arrival, tidy
from app.ingestion.parsing import FileKind, Parser
from app.ingestion.passages import Passage, Passages
from app.ingestion.stages import Examine, Published, Stages, Tell
from app.retrieval.calibration import Calibration, load_calibration
from app.storage.arrivals import known_documents, take_up
from app.storage.database import Database, Transaction
from app.storage.publishing import ChunkRow, DocumentRow, Publication, changes_one_at_a_time, publish
from app.storage.tenants import own_day
from app.text.language import clean, guess_language

DocumentsDone = Callable[[int, int, str], None]
"""Told after each document: how many are done, of how many, and the title."""

_PUBLISHED_TOGETHER = 64
"""Passages of small documents that share their transactions."""
_GROUPS_AT_ONCE = 3
"""Enough that the embedder's threads never wait for the database."""


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
    content_hash: str
    passages: list[Passage] = field(default_factory=list)
    """Of those that will be published."""


@dataclass
class _Run:
    """One call of `ingest` on its way."""

    principal: Principal
    total: int
    on_progress: DocumentsDone | None
    done: int = 0
    chunks: int = 0
    embedded: int = 0

    def finished(self, title: str) -> None:
        self.done += 1
        if self.on_progress:
            self.on_progress(self.done, self.total, title)


async def _nothing_to_examine(_principal: Principal, _document_id: UUID) -> None:
    return


class Ingestion:
    """Brings documents in for a tenant. The principal must be one of its administrators."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        *,
        parser: Parser | None = None,
        calibration: Calibration | None = None,
        examine: Examine = _nothing_to_examine,
        today: Callable[[tzinfo], date] = today_in,
    ):
        """`calibration` says in which space vectors are stored; unset = the one fitted for the embedder's model."""
        self._database = database
        self._passages = Passages(database, embedder, calibration or load_calibration(embedder.model))
        self._today = today
        self.parser = parser or Parser()
        self.intake = Intake(self._passages.space)
        self._stages = Stages(database, self._passages, self.parser, examine, today)

    async def process(self, principal: Principal, document_id: UUID, task_id: UUID, tell: Tell) -> Published:
        """See `Stages.process`."""
        return await self._stages.process(principal, document_id, task_id, tell)

    async def bring_in(self, principal: Principal, upload: Upload, tell: Tell) -> Published:
        """Take an upload in and through all its stages, here and now. Raises `AppError` and `EmbeddingUnavailable`."""
        self.intake.check(principal, upload)
        task_id = uuid4()
        async with self._database.principal_scope(principal) as tx:
            arrival = await self.intake.take_in(tx, upload, task_id)
        if arrival.version is None:
            await tell(Progress(stage=DocumentStatus.READY))
        return await self.process(principal, arrival.document_id, task_id, tell)

    async def aclose(self) -> None:
        """Stop the processes that read files."""
        await self.parser.aclose()

    async def ingest(
        self, principal: Principal, drafts: Sequence[DocumentDraft], on_progress: DocumentsDone | None = None
    ) -> IngestReport:
        """Publish the drafts that are new or have changed. Nothing is written when one of them cannot be accepted.

        Raises `AppError`: `DOCUMENT_REJECTED` for a draft without text or an external id that comes twice,
        `PERMISSION_DENIED` for a caller who does not administer the tenant; and `EmbeddingUnavailable`. Documents
        published before such a failure stay, so the same call again does what is left.
        """
        started = time.perf_counter()
        self._check(principal, drafts)
        prepared = await asyncio.to_thread(lambda: [_read(draft) for draft in drafts])
        changed = await self._changed(principal, prepared)
        pending = await asyncio.to_thread(lambda: [self._cut(one) for one in changed])
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

    def _check(self, principal: Principal, drafts: Sequence[DocumentDraft]) -> None:
        twice = [name for name, times in Counter(draft.external_id for draft in drafts).items() if times > 1]
        if twice:
            raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The external_id {twice[0]!r} comes twice in one request.")
        demand_admin(principal, "brings documents in")

    def _cut(self, one: _Prepared) -> _Prepared:
        passages = self._passages.cut(one.draft)
        if not passages:
            raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The document {one.draft.external_id!r} has no text.")
        return replace(one, passages=passages)

    async def _changed(self, principal: Principal, prepared: Sequence[_Prepared]) -> list[_Prepared]:
        async with self._database.principal_scope(principal) as tx:
            names = [one.draft.external_id for one in prepared]
            stored = await known_documents(tx, names, self._passages.space)
        known = {name: one.content_hash for name, one in stored.items() if one.has_vectors and not one.failed_with}
        return [one for one in prepared if known.get(one.draft.external_id) != one.content_hash]

    async def _publish_all(self, run: _Run, pending: Sequence[_Prepared]) -> None:
        waiting = _groups(pending)

        async def work() -> None:
            for group in waiting:
                await self._publish(run, group)
                for one in group:
                    run.finished(one.draft.title)

        workers = [asyncio.create_task(work()) for _ in range(_GROUPS_AT_ONCE)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _publish(self, run: _Run, group: Sequence[_Prepared]) -> None:
        passages = [passage for one in group for passage in one.passages]
        vectors, fresh = await self._passages.embed(run.principal, passages)
        rows = iter(await self._passages.rows(passages, vectors))
        async with self._database.principal_scope(run.principal) as tx:
            await changes_one_at_a_time(tx)
            publications = [await _take_up(tx, one, list(islice(rows, len(one.passages)))) for one in group]
            await publish(tx, publications, embedding_model=self._passages.space, today=await own_day(tx, self._today))
        run.chunks += len(passages)
        run.embedded += fresh


async def _take_up(tx: Transaction, one: _Prepared, chunks: Sequence[ChunkRow]) -> Publication:
    draft, document_id = one.draft, document_id_of(tx.principal, one.draft.external_id)
    version = await take_up(tx, document_id, draft, content_hash=one.content_hash, kind=FileKind.MARKDOWN.value)
    await note_arrival(tx, document_id, version, draft)
    return Publication(DocumentRow(document_id, **draft.model_dump(exclude={"text"})), version, chunks)


def _read(draft: DocumentDraft) -> _Prepared:
    text = clean(draft.text)
    whole = tidy(draft.model_copy(update={"text": text, "lang": draft.lang or guess_language(text)}))
    return _Prepared(whole, content_hash(as_upload(draft), whole))


def _groups(pending: Sequence[_Prepared]) -> Iterator[list[_Prepared]]:
    """Neighbours together until they are enough for a transaction of their own."""
    group: list[_Prepared] = []
    for one in pending:
        group.append(one)
        if sum(len(each.passages) for each in group) >= _PUBLISHED_TOGETHER:
            yield group
            group = []
    if group:
        yield group
