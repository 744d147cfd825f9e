"""Bringing many documents in, several at a time: one that fails never stops the others."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol
from uuid import UUID

import aiohttp

from app.cli.documents.library import Library
from app.domain.documents import DocumentStatus, Progress
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import Entry, read_upload
from app.ingestion.stages import Published

_FOR_ALL = {
    ErrorCode.DATABASE_UNAVAILABLE, ErrorCode.LLM_UNAVAILABLE, ErrorCode.OVERLOADED, ErrorCode.PERMISSION_DENIED,
    ErrorCode.RATE_LIMITED, ErrorCode.UNAUTHENTICATED,
}  # fmt: skip
"""What has happened to every further document as well; it ends the run."""


class Outcome(Record):
    """What became of one file or document."""

    file: str
    outcome: Literal["published", "unchanged", "partial", "failed", "retired", "skipped"]
    code: str = ""
    detail: str = ""
    """What to do about it."""
    external_id: str = ""
    document_id: UUID | None = None
    version: int | None = None
    chunks: int = 0
    embedded: int = 0


class Watcher(Protocol):
    """Is told how it goes."""

    def begin(self, name: str) -> None:
        """Work on a document begins."""

    def tell(self, name: str, progress: Progress) -> None:
        """It is this far."""

    def end(self, outcome: Outcome) -> None:
        """Nothing more happens to it."""


async def bring_all(library: Library, entries: Sequence[Entry], watcher: Watcher) -> None:
    """Bring the entries in; the watcher learns each outcome. Raises `AppError` when something fails for all."""
    waiting = iter(entries)

    async def work() -> None:
        for entry in waiting:
            watcher.begin(entry.name)
            watcher.end(await _bring(library, entry, watcher))

    workers = [asyncio.create_task(work()) for _ in range(min(library.at_once, len(entries)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def retire_all(library: Library, retired: Mapping[str, UUID], prefix: str, watcher: Watcher) -> None:
    """Delete documents by external id; one that is gone already counts as retired."""
    for external_id, document_id in retired.items():
        name = external_id.removeprefix(prefix)
        try:
            await library.delete(document_id)
        except AppError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
        told = "Its file is gone; it is deleted with its chunks."
        watcher.end(
            Outcome(file=name, outcome="retired", detail=told, external_id=external_id, document_id=document_id)
        )


async def _bring(library: Library, entry: Entry, watcher: Watcher) -> Outcome:
    if entry.fault:
        return _failed(entry, ErrorCode.DOCUMENT_REJECTED.value, f"{entry.fault}.")

    async def tell(progress: Progress) -> None:
        watcher.tell(entry.name, progress)

    try:
        upload = await asyncio.to_thread(read_upload, entry, library.max_upload_bytes)
    except AppError as error:
        return _failed(entry, error.code.value, error.detail)
    except (OSError, ValueError) as error:
        return _failed(entry, ErrorCode.DOCUMENT_REJECTED.value, f"The file cannot be read ({error}).")
    try:
        return _ended(entry, await library.bring_in(upload, tell))
    except AppError as error:
        if error.code in _FOR_ALL:
            raise
        return _failed(entry, error.code.value, error.detail)
    except (aiohttp.ClientError, TimeoutError):  # the server stays away
        raise
    except Exception as error:  # whatever it is, the other documents can do nothing about it
        return _failed(entry, ErrorCode.INTERNAL.value, f"It failed unexpectedly ({type(error).__name__}).")


def _ended(entry: Entry, published: Published) -> Outcome:
    outcome: Literal["published", "unchanged", "partial", "failed"] = "published"
    if published.status is DocumentStatus.FAILED:
        outcome = "failed"
    elif published.code == "UNCHANGED":
        outcome = "unchanged"
    elif published.status is DocumentStatus.PARTIAL:
        outcome = "partial"
    return Outcome(
        file=entry.name,
        outcome=outcome,
        code="" if outcome == "unchanged" else published.code,
        detail=published.detail,
        external_id=entry.external_id,
        document_id=published.document_id,
        version=published.version,
        chunks=published.chunks,
        embedded=published.embedded,
    )


def _failed(entry: Entry, code: str, detail: str) -> Outcome:
    return Outcome(file=entry.name, outcome="failed", code=code, detail=detail, external_id=entry.external_id)
