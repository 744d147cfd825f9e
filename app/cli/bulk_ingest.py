"""What `conclave ingest` will do, found out before anything is changed; then done, several documents at a time."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import aiohttp

from app.cli.library import Library
from app.client.records import Ingested
from app.domain.documents import DocumentStatus, Upload
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import Entry, Source, entries_of, read_upload
from app.ingestion.folder import MANIFEST, FolderRules, Listing, Plan, plan, walk

_AT_ONCE = 4
_FOR_ALL = {
    ErrorCode.DATABASE_UNAVAILABLE, ErrorCode.LLM_UNAVAILABLE, ErrorCode.OVERLOADED, ErrorCode.PERMISSION_DENIED,
    ErrorCode.RATE_LIMITED, ErrorCode.UNAUTHENTICATED,
}  # fmt: skip
"""What has happened to every further document as well; it ends the run."""
_OUTCOMES = {DocumentStatus.FAILED: "failed", DocumentStatus.PARTIAL: "partial"}


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
    planted: int = 0
    """Sentences left out because they give orders to whatever answers."""


Ended = Callable[[Outcome], None]
"""Is told what became of a document."""


@dataclass(frozen=True)
class Said:
    """What the command line says of the documents."""

    base: Mapping[str, Any]
    """Fields of documents that do not say theirs."""
    only: Mapping[str, Any]
    """Fields that can belong to one document alone; they win."""

    def describe(self, entry: Entry, own: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an entry. A file of a folder is called by its department and its path in the folder."""
        fields = {**self.base, **own, **self.only}
        if entry.text is None and not (fields.get("external_id") or fields.get("url")):
            fields["external_id"] = f"{fields['department']}/{entry.name}"
        return fields


@dataclass(frozen=True)
class Steps:
    """What is to be done."""

    entries: Sequence[Entry]
    left_out: Sequence[Outcome]
    """Files nothing is done with, or nothing can be done with."""
    plan: Plan
    prefix: str = ""
    notes: Sequence[str] = ()
    """What an administrator should know beforehand."""


def steps_for(paths: Sequence[Path], said: Said) -> Steps:
    """The documents in files and folders, in order; nothing is retired. Reads the disk. Raises `AppError`."""
    listing = Listing()
    for path in paths:
        if not path.is_dir():
            listing.sources.append(Source(path.resolve(), path.name))
            continue
        if (path / MANIFEST).exists():
            detail = f"{path} holds {MANIFEST}, which counts only with --watch-once. Add it, or name the files."
            raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
        found = walk(path)
        listing.sources += found.sources
        listing.skipped += found.skipped
        listing.unreadable += found.unreadable
    entries = entries_of(listing.sources, said.describe)
    return Steps(entries, _left_out(listing), Plan(arrive=_ids(entries), check=(), retire=()))


def sync_steps(folder: Path, rules: FolderRules, known: Collection[str], *, allow_retire_all: bool) -> Steps:
    """What brings the catalogue in step with a folder. `known` are the ids its synchronisation owns.

    Reads the disk. Raises `AppError`.
    """
    listing = walk(folder, rules.is_ignored)
    entries = rules.resolve(entries_of(listing.sources, rules.describe))
    unreadable = {*listing.unreadable, *(entry.source.name for entry in entries if entry.fault)}
    planned = plan(_ids(entries), known, prefix=rules.prefix, unreadable=unreadable, allow_retire_all=allow_retire_all)
    notes = [f"{MANIFEST}: no file matches the rule {pattern!r}" for pattern in rules.unused]
    if planned.withheld:
        notes.append(
            f"{len(planned.withheld)} of {len(known)} documents of this folder have no file any more. None was retired,"
            " in case a disk is missing. If it is meant, run again with --allow-retire-all"
        )
    return Steps(entries, _left_out(listing), planned, rules.prefix, notes)


def _ids(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(entry.external_id for entry in entries if entry.external_id)


def _left_out(listing: Listing) -> list[Outcome]:
    skipped = [Outcome(file=name, outcome="skipped", detail=reason) for name, reason in listing.skipped]
    detail = "It cannot be read; what is known of it stays."
    failed = [
        Outcome(file=name, outcome="failed", code=ErrorCode.DOCUMENT_REJECTED.value, detail=detail)
        for name in listing.unreadable
    ]
    return [*skipped, *failed]


async def bring_all(library: Library, entries: Sequence[Entry], ended: Ended) -> None:
    """Bring the entries in, several at a time. Raises `AppError` when something fails for all."""
    waiting = iter(entries)

    async def work() -> None:
        for entry in waiting:
            ended(await _bring(library, entry))

    workers = [asyncio.create_task(work()) for _ in range(min(_AT_ONCE, len(entries)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def retire_all(library: Library, retired: Mapping[str, UUID], prefix: str, ended: Ended) -> None:
    """Delete documents by external id; one that is gone already counts as retired."""
    for external_id, document_id in retired.items():
        try:
            await library.delete(document_id)
        except AppError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
        detail = "Its file is gone; it is deleted with its chunks."
        name = external_id.removeprefix(prefix)
        ended(Outcome(file=name, outcome="retired", detail=detail, external_id=external_id, document_id=document_id))


async def _bring(library: Library, entry: Entry) -> Outcome:
    try:
        return _outcome_of(entry, await library.bring_in(await asyncio.to_thread(_read, entry)))
    except AppError as error:
        if error.code in _FOR_ALL:
            raise
        code, detail = error.code, error.detail
    except (aiohttp.ClientError, TimeoutError):  # the server stays away
        raise
    except Exception as error:  # whatever it is, the other documents can do nothing about it
        code, detail = ErrorCode.INTERNAL, f"It failed unexpectedly ({type(error).__name__})."
    return Outcome(file=entry.name, outcome="failed", code=code.value, detail=detail, external_id=entry.external_id)


def _read(entry: Entry) -> Upload:
    if entry.fault:
        raise AppError(ErrorCode.DOCUMENT_REJECTED, f"{entry.fault}.", status=422)
    try:
        return read_upload(entry)
    except (OSError, ValueError) as error:
        raise AppError(ErrorCode.DOCUMENT_REJECTED, f"The file cannot be read ({error}).", status=422) from error


def _outcome_of(entry: Entry, ended: Ingested) -> Outcome:
    told = ended.model_dump(exclude={"status"})
    outcome = _OUTCOMES.get(ended.status, "published")
    if outcome != "failed" and ended.code == "UNCHANGED":
        told, outcome = told | {"code": ""}, "unchanged"
    return Outcome.model_validate({**told, "file": entry.name, "outcome": outcome, "external_id": entry.external_id})
