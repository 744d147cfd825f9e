"""Bringing documents in: each through all its stages, one upload or many complete drafts."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, tzinfo
from uuid import uuid4

from app.domain.documents import DocumentStatus, Progress, Upload
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.domain.record import Record
from app.embedding import Embedder
from app.errors import AppError, ErrorCode
from app.ingestion.intake import Intake, as_upload, demand_admin, external_id_of
from app.ingestion.parsing import Parser
from app.ingestion.passages import Passages
from app.ingestion.stages import SUPERSEDED, Examine, Published, Stages, Tell
from app.retrieval.ranking import Calibration, load_calibration
from app.storage.database import Database
from app.text.dates import today_in

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


async def _nothing(*_: object) -> None:
    """Nobody looks at the document, or follows its stages."""


class Ingestion(Stages):
    """Brings documents in for a tenant. The principal must be one of its administrators."""

    def __init__(
        self, database: Database, embedder: Embedder, *, parser: Parser | None = None,
        calibration: Calibration | None = None, examine: Examine = _nothing,
        today: Callable[[tzinfo], date] = today_in,
    ):  # fmt: skip
        """`calibration` says in which space vectors are stored; unset = the one fitted for the embedder's model."""
        passages = Passages(database, embedder, calibration or load_calibration(embedder.model))
        super().__init__(database, passages, parser or Parser(), examine, today)
        self.intake = Intake(passages.space)

    async def bring_in(
        self, principal: Principal, upload: Upload, tell: Tell = _nothing, *, examine: bool = True
    ) -> Published:
        """Take an upload in and through all its stages, here and now. Raises `AppError` and `EmbeddingUnavailable`."""
        self.intake.check(principal, upload)
        task_id = uuid4()
        async with self._database.principal_scope(principal) as tx:
            arrival = await self.intake.take_in(tx, upload, task_id)
        if arrival.version is None:
            await tell(Progress(stage=DocumentStatus.READY))
        return await self.process(principal, arrival.document_id, task_id, tell, examine=examine)

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
        demand_admin(principal, "brings documents in")
        for name, times in Counter(draft.external_id for draft in drafts).items():
            if times > 1:
                raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The external_id {name!r} comes twice in one request.")
        uploads, done = [as_upload(draft) for draft in drafts], list[Published]()
        for upload in uploads:
            self.intake.check(principal, upload)
        waiting = iter(uploads)

        async def work() -> None:
            for upload in waiting:
                # Many documents are compared when somebody looks at their health.
                ended = await self.bring_in(principal, upload, examine=False)
                if ended.status is DocumentStatus.FAILED and ended.code != SUPERSEDED:
                    detail = f"The document {external_id_of(upload)!r} cannot be published: {ended.detail}"
                    raise AppError(ErrorCode.DOCUMENT_REJECTED, detail)
                done.append(ended)
                if on_progress:
                    on_progress(len(done), len(uploads), upload.fields.title or "")

        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(_AT_ONCE):
                    workers.create_task(work())
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        # A version that a newer one overtook meanwhile, or that somebody else brought in too, is none of ours.
        published = [one for one in done if one.version is not None and one.status is not DocumentStatus.FAILED]
        counts = {name: sum(getattr(one, name) for one in published) for name in ("chunks", "embedded", "planted")}
        unchanged, seconds = len(uploads) - len(published), time.perf_counter() - started
        return IngestReport(published=len(published), unchanged=unchanged, seconds=seconds, **counts)
