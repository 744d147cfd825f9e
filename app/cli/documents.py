"""`conclave ingest`: Markdown and JSON-lines files become searchable documents of a tenant."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from app.cli.output import OK, DocumentBar, finish, opened, print_json
from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL, SCOPES, Principal, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.ingestion.seed import read_document
from app.settings import Settings

_SUFFIXES = (".md", ".txt", ".jsonl")


@dataclass(frozen=True)
class Defaults:
    """What a file does not say itself."""

    department: str
    scope: str
    effective_from: date | None
    supersedes: str | None
    authority: str

    def fields(self) -> dict[str, Any]:
        """The fields that are set."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


def ingest(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files or folders: .md, .txt, .jsonl")],
    tenant: Annotated[str, typer.Option()],
    department: Annotated[str, typer.Option(help="For files that do not say theirs.")] = GENERAL,
    scope: Annotated[str, typer.Option(help="public, internal or private; if the file is silent.")] = "internal",
    effective_from: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"])] = None,
    supersedes: Annotated[str | None, typer.Option(help="external_id of the document this one replaces.")] = None,
    authority: Annotated[str, typer.Option()] = "policy",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Bring documents in; what has not changed is skipped. The same external_id again makes a new version."""
    since = None if effective_from is None else effective_from.date()
    drafts = list(read_drafts(paths, Defaults(department, scope, since, supersedes, authority)))
    finish(_ingest(tenant, drafts, as_json))


async def _ingest(tenant: str, drafts: list[DocumentDraft], as_json: bool) -> int:
    console, operator = Console(stderr=True), operator_of(tenant)
    async with opened(Settings(), console) as services:
        if not await services.directory.is_known(operator):
            raise AppError(ErrorCode.NOT_FOUND, f"There is no tenant {tenant[:100]!r}.", status=404)
        bar = DocumentBar(console, "ingesting")
        try:
            report = await services.ingestion.ingest(operator, drafts, bar)
        finally:
            bar.stop()
    if as_json:
        print_json(Console(), report.model_dump())
    else:
        Console().print(
            f"{report.published} documents brought in, {report.unchanged} unchanged, {report.chunks} chunks"
        )
    return OK


def operator_of(tenant: str) -> Principal:
    """Whoever sits at the machine, as an administrator of a tenant."""
    tenant_id = tenant_id_of(tenant)
    return Principal(
        tenant_id=tenant_id,
        user_id=user_id_of(tenant_id, "operator"),
        department=GENERAL,
        departments=frozenset({GENERAL}),
        scopes=frozenset(SCOPES),
        roles=frozenset({"admin"}),
        name="operator",
    )


def read_drafts(paths: list[Path], defaults: Defaults) -> Iterator[DocumentDraft]:
    """The documents in files and folders, in order. Raises `AppError` or ``ValidationError`` for a bad one."""
    for path in _files(paths):
        if path.suffix == ".jsonl":
            yield from _lines(path, defaults)
        elif path.read_text("utf-8").startswith("---\n"):
            yield read_document(path, defaults.department)
        else:
            yield _plain(path, defaults)


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(found for found in path.rglob("*") if found.suffix in _SUFFIXES)
        elif path.suffix in _SUFFIXES:
            yield path
        else:
            raise AppError(ErrorCode.DOCUMENT_REJECTED, f"{path}: only {', '.join(_SUFFIXES)} files can be read.")


def _lines(path: Path, defaults: Defaults) -> Iterator[DocumentDraft]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            written = json.loads(line)
        except json.JSONDecodeError as error:
            detail = f"{path}: line {number} is not JSON."
            raise AppError(ErrorCode.DOCUMENT_REJECTED, detail) from error
        yield DocumentDraft.model_validate({**defaults.fields(), **written})


def _plain(path: Path, defaults: Defaults) -> DocumentDraft:
    """A file without front matter: its first heading (or name) is the title, its path the address and identity."""
    text = path.read_text("utf-8")
    heading = next((line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")), path.stem)
    return DocumentDraft.model_validate(
        {
            **defaults.fields(),
            "title": heading,
            "text": text,
            "url": path.resolve().as_uri(),
            "created_at": datetime.fromtimestamp(path.stat().st_mtime, UTC),
            "external_id": str(path),
        }
    )
