"""Bringing documents in: each through all its stages, one upload or many complete drafts."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, tzinfo
from uuid import UUID, uuid4

from app.domain.documents import DocumentStatus, Progress, Upload
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.domain.record import Record
from app.domain.zones import today_in
from app.embedding import Embedder
from app.errors import AppError, ErrorCode
from app.ingestion.intake import Intake, as_upload, demand_admin, external_id_of
from app.ingestion.parsing import Parser
from app.ingestion.passages import Passages
from app.ingestion.stages import SUPERSEDED, Examine, Published, Stages, Tell
from app.retrieval.calibration import Calibration, load_calibration
from app.storage.database import Database

DocumentsDone = Callable[[int, int, str], None]
"""Told after each document: how many are done, of how many, and the title."""
_AT_ONCE = 3
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
    planted: int
    """Sentences left out because they give orders to whatever answers; the documents name them."""
    seconds: float


async def _examine_later(_principal: Principal, _document_id: UUID) -> None:
    """Many documents are compared when somebody looks at their health."""


async def _tell_nobody(_progress: Progress) -> None:
    """Nobody follows the stages."""


class Ingestion:
    """Brings documents in for a tenant. The principal must be one of its administrators."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        *,
        parser: Parser | None = None,
        calibration: Calibration | None = None,
        examine: Examine = _examine_later,
        today: Callable[[tzinfo], date] = today_in,
    ):
        """`calibration` says in which space vectors are stored; unset = the one fitted for the embedder's model."""
        passages = Passages(database, embedder, calibration or load_calibration(embedder.model))
        self._database = database
        self.parser = parser or Parser()
        self.intake = Intake(passages.space)
        self._stages = Stages(database, passages, self.parser, examine, today)
        self._many = Stages(database, passages, self.parser, _examine_later, today)

    async def process(self, principal: Principal, document_id: UUID, task_id: UUID, tell: Tell) -> Published:
        """See `Stages.process`."""
        return await self._stages.process(principal, document_id, task_id, tell)

    async def bring_in(self, principal: Principal, upload: Upload, tell: Tell) -> Published:
        """Take an upload in and through all its stages, here and now. Raises `AppError` and `EmbeddingUnavailable`."""
        self.intake.check(principal, upload)
        return await self._through(self._stages, principal, upload, tell)

    async def aclose(self) -> None:
        """Stop the processes that read files."""
        await self.parser.aclose()

    async def ingest(
        self, principal: Principal, drafts: Sequence[DocumentDraft], on_progress: DocumentsDone | None = None
    ) -> IngestReport:
        """Publish the drafts that are new or have changed. Nothing is written when one of them cannot be accepted.

        Raises `AppError`: `DOCUMENT_REJECTED` for a draft that cannot be published or an external id that comes twice,
        `PERMISSION_DENIED` for a caller who does not administer the tenant; and `EmbeddingUnavailable`. Documents
        published before such a failure stay, so the same call again does what is left.
        """
        started = time.perf_counter()
        uploads = _checked(principal, drafts)
        async with self._database.principal_scope(principal) as tx:
            changed = await self.intake.changed(tx, uploads)
        known = [upload for upload in uploads if external_id_of(upload) not in changed]
        waiting = iter([upload for upload in uploads if external_id_of(upload) in changed])
        done: list[Published] = []

        def tell(upload: Upload, finished: int) -> None:
            if on_progress:
                on_progress(finished, len(uploads), upload.fields.title or "")

        async def work() -> None:
            for upload in waiting:
                ended = await self._through(self._many, principal, upload, _tell_nobody)
                if ended.status is DocumentStatus.FAILED and ended.code != SUPERSEDED:
                    detail = f"The document {external_id_of(upload)!r} cannot be published: {ended.detail}"
                    raise AppError(ErrorCode.DOCUMENT_REJECTED, detail)
                done.append(ended)
                tell(upload, len(known) + len(done))

        for number, upload in enumerate(known, 1):
            tell(upload, number)
        workers = [asyncio.create_task(work()) for _ in range(_AT_ONCE)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        # A version that a newer one overtook meanwhile, or that somebody else brought in too, is none of ours.
        published = [one for one in done if one.version is not None and one.status is not DocumentStatus.FAILED]
        return IngestReport(
            published=len(published),
            unchanged=len(uploads) - len(published),
            chunks=sum(one.chunks for one in published),
            embedded=sum(one.embedded for one in published),
            planted=sum(one.planted for one in published),
            seconds=time.perf_counter() - started,
        )

    async def _through(self, stages: Stages, principal: Principal, upload: Upload, tell: Tell) -> Published:
        task_id = uuid4()
        async with self._database.principal_scope(principal) as tx:
            arrival = await self.intake.take_in(tx, upload, task_id)
        if arrival.version is None:
            await tell(Progress(stage=DocumentStatus.READY))
        return await stages.process(principal, arrival.document_id, task_id, tell)


def _checked(principal: Principal, drafts: Sequence[DocumentDraft]) -> list[Upload]:
    """The drafts as uploads, if all of them may be brought in together. Raises `AppError`."""
    demand_admin(principal, "brings documents in")
    for name, times in Counter(draft.external_id for draft in drafts).items():
        if times > 1:
            raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The external_id {name!r} comes twice in one request.")
    for draft in drafts:
        if not any(map(str.isalnum, draft.text)):
            raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The document {draft.external_id!r} has no text.")
    return [as_upload(draft) for draft in drafts]
