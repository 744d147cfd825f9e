"""`conclave ingest`: files, folders and JSON lines become documents of a tenant; a folder may be kept in step."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Console

from app.cli.bulk_ingest import Outcome, Said, Steps, bring_all, retire_all, steps_for, sync_steps
from app.cli.connecting import Server, Target, Tenant, Token
from app.cli.library import Library, open_library
from app.cli.output import FAILED, OK, DocumentBar, print_json, print_table, run_async, text
from app.domain.documents import DocumentFields
from app.domain.principal import GENERAL
from app.ingestion.folder import FolderRules, Manifest, read_manifest, sync_name
from app.text.language import clean

_FORMATS_TOLD = "Folders or files: PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, TXT, EML, and JSONL of documents."
_STYLES = {
    "published": "green", "unchanged": "dim", "partial": "yellow", "failed": "red", "retired": "magenta",
    "skipped": "dim",
}  # fmt: skip
_ROWS_SHOWN = 40
"""More documents than these: only what needs a person is listed, the rest is counted."""
Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"])]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a document; the last line is the result.")]


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    paths: Sequence[Path]
    said: Said
    is_sync: bool
    allow_retire_all: bool


@run_async
async def ingest(
    paths: Annotated[list[Path], typer.Argument(exists=True, help=_FORMATS_TOLD)],
    tenant: Tenant = "",
    department: Annotated[str, typer.Option(help="For files that do not say theirs.")] = GENERAL,
    scope: Annotated[str, typer.Option(help="public, internal or private; if the file is silent.")] = "internal",
    title: Annotated[str, typer.Option(help="Of a single file.")] = "",
    effective_from: Day = None,
    effective_to: Day = None,
    supersedes: Annotated[str, typer.Option(help="external_id of the document this one replaces.")] = "",
    authority: Annotated[str, typer.Option(help="Unset: notice for news and notices, else policy.")] = "",
    external_id: Annotated[str, typer.Option(help="Of a single file; the same one again is a new version.")] = "",
    watch_once: Annotated[bool, typer.Option("--watch-once", help="Bring one folder in step.")] = False,
    allow_retire_all: Annotated[
        bool, typer.Option("--allow-retire-all", help="Retire also when most of the folder is gone.")
    ] = False,
    as_json: AsJson = False,
    server: Server = "",
    token: Token = "",
) -> int:
    """Bring documents in; what has not changed is skipped. The same external_id again makes a new version."""
    base = {
        "department": department, "scope": scope, "effective_from": effective_from and effective_from.date(),
        "effective_to": effective_to and effective_to.date(), "supersedes": supersedes, "authority": authority,
    }  # fmt: skip
    said = Said(_set(base), _set({"title": title, "external_id": external_id}))
    DocumentFields.model_validate({**said.base, **said.only})
    wanted = Wanted(paths, said, watch_once, allow_retire_all)
    _check_usage(wanted)
    # A mistake in the manifest is told before anything is opened.
    manifest = read_manifest(wanted.paths[0]) if wanted.is_sync else Manifest()
    target, progress, out = Target(f"{tenant}/", server, token), Console(stderr=True), Console()
    async with open_library(target, progress, as_json=as_json, work=True) as library:
        steps, known = await prepare(library, wanted, manifest)
        return await carry_out(library, steps, known, out, progress, as_json)


def _set(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _check_usage(wanted: Wanted) -> None:
    is_one_folder = len(wanted.paths) == 1 and wanted.paths[0].is_dir()
    if wanted.is_sync and not is_one_folder:
        raise typer.BadParameter("--watch-once needs exactly one folder")
    if wanted.said.only and (is_one_folder or len(wanted.paths) > 1):
        raise typer.BadParameter("--title and --external-id are for a single file")
    if wanted.allow_retire_all and not wanted.is_sync:
        raise typer.BadParameter("--allow-retire-all goes with --watch-once")


async def prepare(library: Library, wanted: Wanted, manifest: Manifest) -> tuple[Steps, dict[str, UUID]]:
    """What is to be done, and what of the folder is in the catalogue already."""
    if not wanted.is_sync:
        return await asyncio.to_thread(steps_for, wanted.paths, wanted.said), {}
    folder = wanted.paths[0]
    rules = FolderRules(sync_name(folder, manifest), manifest, wanted.said.base, await library.departments())
    known = await library.known(rules.prefix)
    steps = await asyncio.to_thread(sync_steps, folder, rules, known.keys(), allow_retire_all=wanted.allow_retire_all)
    return steps, known


async def carry_out(
    library: Library, steps: Steps, known: Mapping[str, UUID], out: Console, progress: Console, as_json: bool
) -> int:
    """Do it, show it, and give the exit code. Raises `AppError` when something fails for every document."""
    report = Report(len(steps.entries), progress, out if as_json else None)
    try:
        with report:
            for outcome in steps.left_out:
                report.add(outcome)
            await bring_all(library, steps.entries, report.add)
            await retire_all(library, {one: known[one] for one in steps.plan.retire}, steps.prefix, report.add)
    finally:
        if not as_json:
            report.print(out)
    for note in steps.notes:
        progress.print(text(f"! {note}.", "yellow"))
    if as_json:
        print_json(out, {**report.summary(), "withheld": len(steps.plan.withheld), "notes": list(steps.notes)})
    return FAILED if report.has_failed or steps.plan.withheld else OK


class Report:
    """Collects the outcomes; a bar shows how far everything is, `print` tells the end."""

    def __init__(self, total: int, progress: Console, lines: Console | None):
        """`lines` = where each outcome is written at once as a JSON line; None = nowhere."""
        self.outcomes: list[Outcome] = []
        self._lines, self._started, self._total = lines, time.perf_counter(), total
        self._bar = DocumentBar(progress, "documents")

    def __enter__(self) -> "Report":
        self._bar(0, self._total, "")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def add(self, outcome: Outcome) -> None:
        """Count an outcome and print its JSON line."""
        self.outcomes.append(outcome)
        if self._lines is not None:
            print_json(self._lines, outcome.model_dump(mode="json"))
        done = sum(one.outcome not in ("skipped", "retired") for one in self.outcomes)
        self._bar(min(done, self._total), self._total, clean(outcome.file))

    @property
    def has_failed(self) -> bool:
        """Whether something is not as it should be."""
        return any(one.outcome == "failed" for one in self.outcomes)

    def summary(self) -> dict[str, Any]:
        """The counts, as the last JSON line tells them."""
        counts = Counter[str](one.outcome for one in self.outcomes)
        return {
            **{name: counts[name] for name in _STYLES},
            "chunks": sum(one.chunks for one in self.outcomes),
            "embedded": sum(one.embedded for one in self.outcomes),
            "planted": sum(one.planted for one in self.outcomes),
            "seconds": round(time.perf_counter() - self._started, 3),
        }

    def print(self, out: Console) -> None:
        """The table of what became of the documents, and the counts."""
        is_long = len(self.outcomes) > _ROWS_SHOWN
        rows = (
            (
                one.file,
                text(one.outcome, _STYLES[one.outcome]),
                str(one.chunks or ""),
                f"{one.code} {one.detail}".strip(),
            )
            for one in sorted(self.outcomes, key=lambda one: one.file)
            if not is_long or one.outcome in ("partial", "failed", "retired")
        )
        print_table(out, ("document", "outcome", "chunks", "what to know"), rows)
        summary = self.summary()
        counts = ", ".join(f"{summary[name]} {name}" for name in _STYLES if summary[name]) or "nothing to do"
        planted = f" · {summary['planted']} planted sentences left out" if summary["planted"] else ""
        out.print(text(f"{counts} · {summary['chunks']} chunks{planted} · {summary['seconds']:.1f} s"))
