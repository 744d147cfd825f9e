"""What `conclave ingest` will do, found out before anything is changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cli.documents.bringing import Outcome
from app.errors import AppError, ErrorCode
from app.ingestion.files import Entry, Source, entries_of
from app.ingestion.folder import Listing, Plan, plan, walk
from app.ingestion.manifest import MANIFEST, FolderRules


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

    def lines(self) -> Iterator[dict[str, Any]]:
        """One record a document, for showing: document, step, department, scope, dates, why."""
        known = set(self.plan.check)
        for entry in self.entries:
            step = "check" if entry.external_id in known else "bring in"
            said = entry.fields.model_dump(mode="json", include={"department", "scope", "effective_from"})
            yield {
                "document": entry.name, "step": "refuse" if entry.fault else step, **said,
                "external_id": entry.external_id, "detail": entry.fault,
            }  # fmt: skip
        for step, names in (("retire", self.plan.retire), ("withhold", self.plan.withheld)):
            for name in names:
                yield {"document": name.removeprefix(self.prefix), "step": step, "external_id": name, "detail": ""}
        for one in self.left_out:
            step = "refuse" if one.outcome == "failed" else "skip"
            yield {"document": one.file, "step": step, "external_id": "", "detail": one.detail}


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
    skipped = [Outcome(file=one.name, outcome="skipped", detail=one.reason) for one in listing.skipped]
    detail = "It cannot be read; what is known of it stays."
    failed = [
        Outcome(file=name, outcome="failed", code=ErrorCode.DOCUMENT_REJECTED.value, detail=detail)
        for name in listing.unreadable
    ]
    return [*skipped, *failed]
