"""One version through its stages: parsed, chunked, embedded, published. Every stage can be begun again.

What is done is kept: the text that was read stands in the version, each batch of vectors in the tenant's cache. A
process that dies loses at most one batch; nothing is seen of a version before all of it is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any
from uuid import UUID

import structlog

from app.domain.documents import DocumentStatus, Progress
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.domain.record import Record
from app.ingestion import effect, planted
from app.ingestion.intake import tidy
from app.ingestion.parsing import ParseFailed, ParseFailure, Parser, WarningCode
from app.ingestion.passages import Passage, Passages, rows_of
from app.storage import arrivals, documents
from app.storage.arrivals import ArrivedVersion
from app.storage.database import Database, Transaction
from app.storage.publishing import Publication, changes_one_at_a_time, publish
from app.storage.tenants import own_day
from app.text.language import guess_language

Tell = Callable[[Progress], Awaitable[None]]
"""Told at the beginning of every stage and after every batch of vectors."""
Examine = Callable[[Principal, UUID], Awaitable[object]]
"""Looks at a document that was just published (contradictions, duplicates)."""
_log = structlog.get_logger(__name__)


class Published(Record):
    """How one version ended."""

    document_id: UUID
    version: int | None
    """None = nothing had changed, or the document is gone."""
    status: DocumentStatus
    code: str = ""
    """Why it failed or is partial, or ``UNCHANGED``."""
    detail: str = ""
    """What to do about it."""
    chunks: int = 0
    embedded: int = 0
    """Passages the model had to be asked for."""
    planted: int = 0
    """Sentences left out because they give orders to whatever answers."""


class _Stopped(Exception):
    """The version must not go on: deleted, or a newer one arrived."""


SUPERSEDED = "SUPERSEDED"
"""Why a version failed that a newer one overtook, or whose document was deleted meanwhile."""


@dataclass(frozen=True)
class _Work:
    principal: Principal
    version: ArrivedVersion
    tell: Tell
    is_examined: bool


class Stages:
    """Takes arrived versions to their end. The principals are the administrators who brought them in."""

    def __init__(
        self, database: Database, passages: Passages, parser: Parser, examine: Examine, today: Callable[[tzinfo], date]
    ):
        self._database, self._passages, self.parser = database, passages, parser
        self._examine, self._today = examine, today

    async def process(
        self, principal: Principal, document_id: UUID, task_id: UUID, tell: Tell, *, examine: bool = True
    ) -> Published:
        """Take the version that arrived with `task_id` from where it stands to its end; safe to be called again.

        A file that cannot be read ends as ``failed`` with a code and advice. Raises `AppError` (503) and
        `EmbeddingUnavailable`: the same call goes on later.
        """
        async with self._database.principal_scope(principal) as tx:
            version = await arrivals.arrived(tx, document_id, task_id)
            view = None if version else await documents.find(tx, document_id)
        if version is None:  # the same came again: it stands as it stood, also when it could not be read
            status, code, detail = DocumentStatus.READY, "UNCHANGED", ""
            if view is not None and view.status is DocumentStatus.FAILED:
                status, code, detail = view.status, view.status_code, view.status_detail
            return Published(document_id=document_id, version=None, status=status, code=code, detail=detail)
        work = _Work(principal, version, tell, examine)
        try:
            return await (self._as_it_ended(work) if version.status.is_final else self._through(work))
        except ParseFailed as failure:
            return await self._failed(work, str(failure.code), failure.advice)
        except _Stopped:
            detail = "A newer version arrived, or the document was deleted, before this one was published."
            return await self._failed(work, SUPERSEDED, detail)

    async def _as_it_ended(self, work: _Work) -> Published:
        """An attempt before this one ended the version, but could not say so any more."""
        version = work.version
        if version.status is not DocumentStatus.FAILED:
            await self._look_at(work)
        code = "PARTIAL" if version.status is DocumentStatus.PARTIAL else version.status_code
        return _published(version, version.status, code, version.status_detail, chunks=version.chunks_total)

    async def _through(self, work: _Work) -> Published:
        version = await self._without_planted(work, await self._read(work))
        await self._stage(work, DocumentStatus.CHUNKING)
        passages = await asyncio.to_thread(self._passages.cut, version.draft, version.pages)
        if not passages:
            raise ParseFailed(ParseFailure.NO_TEXT)
        try:
            return await self._publish(work, version, passages)
        except _Stopped:
            await self._passages.forget(work.principal, passages)
            raise

    async def _read(self, work: _Work) -> ArrivedVersion:
        """The version with what it says, read from its file unless an earlier attempt did."""
        version = work.version
        draft = version.draft
        if version.is_parsed:
            return version._replace(draft=draft.model_copy(update={"lang": draft.lang or guess_language(draft.text)}))
        await self._stage(work, DocumentStatus.PARSING)
        async with self._database.principal_scope(work.principal) as tx:
            original = await arrivals.original_of(tx, version.document_id, version.version)
        if original is None:
            raise _Stopped
        parsed = await self.parser.parse(*original)
        title = draft.title or parsed.title or version.file_name.rpartition(".")[0] or version.file_name
        lang = draft.lang or guess_language(parsed.text)
        draft = tidy(draft.model_copy(update={"text": parsed.text, "title": title, "lang": lang}))
        said: dict[str, Any] = parsed.model_dump(include={"pages", "is_partial"}) | {"warnings": parsed.warnings}
        async with self._database.principal_scope(work.principal) as tx:
            await arrivals.save_parsed(tx, version, draft, kind=parsed.kind.value, **said)
        return version._replace(draft=draft, **said)

    async def _without_planted(self, work: _Work, version: ArrivedVersion) -> ArrivedVersion:
        """Take planted sentences out of what is searched and quoted, and note them for the administrators, with what
        the text says of the days it holds on and of the document it replaces."""
        draft, embedder = version.draft, self._passages.embedder
        title = await planted.clean(draft.title, (), embedder)
        body = await planted.clean(draft.text, version.pages, embedder)
        found = (*title.planted, *body.planted)
        named = title.text.strip() or draft.external_id
        draft = draft.model_copy(update={"title": named, "text": body.text})
        said = await asyncio.to_thread(effect.said_of, draft)
        if not found and not said:
            return version
        codes = (WarningCode.PLANTED_INSTRUCTIONS, WarningCode.SAYS_WHEN_IT_HOLDS)
        warnings = [one for one in version.warnings if one.code not in codes]
        async with self._database.principal_scope(work.principal) as tx:
            told = [value for field, value, _ in said if field == "supersedes"]
            warnings += effect.notes(said, await documents.named_in(tx, version.document_id, told), draft)
            warnings += [planted.note(found)] if found else []
            await arrivals.save_warnings(tx, version, named, warnings)
        return version._replace(draft=draft, pages=body.pages, warnings=tuple(warnings))

    async def _publish(self, work: _Work, version: ArrivedVersion, passages: Sequence[Passage]) -> Published:
        total = len(passages)
        await self._stage(work, DocumentStatus.EMBEDDING, passages=[one.hash for one in passages])

        async def note(tx: Transaction, embedded: int) -> None:
            await self._note(tx, work, DocumentStatus.EMBEDDING, chunks_embedded=embedded)

        async def report(embedded: int) -> None:
            await work.tell(Progress(stage=DocumentStatus.EMBEDDING, chunks_total=total, chunks_embedded=embedded))

        vectors, fresh = await self._passages.embed(work.principal, passages, note, report)
        rows = await asyncio.to_thread(rows_of, passages, vectors)
        status, code, detail = DocumentStatus.READY, "", ""
        if version.is_partial:
            status, code, detail = DocumentStatus.PARTIAL, "PARTIAL", " ".join(one.advice for one in version.warnings)
        async with self._database.principal_scope(work.principal) as tx:
            draft = await _as_amended(tx, version)
            publication = Publication(version.document_id, draft, version.version, rows, status, detail)
            await publish(tx, publication, embedding_model=self._passages.space, today=await own_day(tx, self._today))
        await work.tell(Progress(stage=status, chunks_total=total, chunks_embedded=total))
        await self._look_at(work)
        left_out = sum(one.count for one in version.warnings if one.code == WarningCode.PLANTED_INSTRUCTIONS)
        return _published(version, status, code, detail, chunks=total, embedded=fresh, planted=left_out)

    async def _look_at(self, work: _Work) -> None:
        document_id = work.version.document_id
        try:
            if work.is_examined:
                await self._examine(work.principal, document_id)
        except Exception as error:  # the document is published; what is missing is advice about it
            _log.warning("document_not_examined", document_id=document_id, error_class=type(error).__name__)

    async def _stage(self, work: _Work, stage: DocumentStatus, passages: Sequence[str] | None = None) -> None:
        async with self._database.principal_scope(work.principal, durable=False) as tx:
            await self._note(tx, work, stage, passages=passages, chunks_embedded=None if passages is None else 0)
        await work.tell(Progress(stage=stage, chunks_total=len(passages or ())))

    async def _note(self, tx: Transaction, work: _Work, stage: DocumentStatus, **progress: Any) -> None:
        """Note how far the version is. Raises `_Stopped` when it must not go on."""
        if not await arrivals.set_stage(tx, work.version.document_id, work.version.version, stage, **progress):
            raise _Stopped

    async def _failed(self, work: _Work, code: str, detail: str) -> Published:
        version, status = work.version, DocumentStatus.FAILED
        async with self._database.principal_scope(work.principal) as tx:
            await arrivals.set_stage(tx, version.document_id, version.version, status, code=code, detail=detail)
        return _published(version, status, code, detail)


def _published(version: ArrivedVersion, status: DocumentStatus, code: str, detail: str, **counts: int) -> Published:
    ids = {"document_id": version.document_id, "version": version.version}
    return Published(**ids, status=status, code=code, detail=detail, **counts)


async def _as_amended(tx: Transaction, version: ArrivedVersion) -> DocumentDraft:
    """The document as it will stand, with what an administrator changed meanwhile. Raises `_Stopped`."""
    await changes_one_at_a_time(tx)
    amended = await arrivals.amendments(tx, version.document_id, version.version)
    if amended is None:
        raise _Stopped
    return DocumentDraft.model_validate({**version.draft.model_dump(), **amended})
