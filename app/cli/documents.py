"""`conclave documents`: what is in the catalogue, in which state, and deleting it."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connecting import Server, Target, Tenant, Token, opened_storage
from app.cli.library import open_library, state_of
from app.cli.output import OK, AsJson, period, print_json, print_table, run_async, text
from app.domain.documents import DocumentStatus, DocumentView
from app.domain.health import HealthItem
from app.ingestion.catalogue import Catalogue

document_commands = typer.Typer(no_args_is_help=True, help="Documents of a tenant: look at them, delete them.")
_PAGE = 50
Name = Annotated[str, typer.Argument(metavar="DOC", help="Its id or external_id.")]


@document_commands.command("list")
@run_async
async def document_list(
    tenant: Tenant = "",
    department: Annotated[str, typer.Option()] = "",
    status: Annotated[DocumentStatus | None, typer.Option(help="Of the newest version.")] = None,
    limit: Annotated[int, typer.Option(min=1)] = 50,
    as_json: AsJson = False,
    server: Server = "",
    token: Token = "",
) -> int:
    """Documents, last changed first."""
    if server:
        target = Target(f"{tenant}/", server, token)
        async with open_library(target, Console(stderr=True), as_json=as_json) as library:
            found = [view async for view in library.listing(department or None, status, limit)][:limit]
    else:
        found = await _stored(tenant, department or None, status, limit)
    out = Console()
    if as_json:
        for view in found:
            print_json(out, view.model_dump(mode="json"))
        return OK
    columns = ("external_id", "title", "department", "scope", "in force", "status", "chunks")
    rows = (
        (one.external_id, one.title, one.department, one.scope, period(one.effective_from, one.effective_to),
         state_of(one), str(one.chunks_total))
        for one in found
    )  # fmt: skip
    print_table(out, columns, rows)
    if not found:
        out.print(text("no documents"))
    elif len(found) == limit:
        out.print(text("Only the last changed are shown; --limit shows more.", "dim"))
    return OK


async def _stored(tenant: str, department: str | None, status: DocumentStatus | None, limit: int) -> list[DocumentView]:
    """The same from the database, which is there sooner than a server's services."""
    async with opened_storage() as storage:
        operator = (await storage.directory.operator_of(await storage.tenant_named(tenant))).principal()
        stage = status.value if status else None
        found, _ = await Catalogue(storage.database).page(
            operator, department=department, status=stage, cursor=None, limit=limit
        )
    return list(found)


@document_commands.command("show")
@run_async
async def document_show(
    document: Name, tenant: Tenant = "", as_json: AsJson = False, server: Server = "", token: Token = ""
) -> int:
    """One document: its fields, how far its newest version is, and why it failed."""
    async with open_library(Target(f"{tenant}/", server, token), Console(stderr=True), as_json=as_json) as library:
        view = await library.find(document)
    if as_json:
        print_json(Console(), view.model_dump(mode="json"))
    else:
        print_table(Console(), ("", ""), _fields(view))
    return OK


@document_commands.command("delete")
@run_async
async def document_delete(
    document: Name,
    tenant: Tenant = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
    server: Server = "",
    token: Token = "",
) -> int:
    """Delete a document with its versions, chunks, vectors and original files."""
    async with open_library(Target(f"{tenant}/", server, token), Console(stderr=True), as_json=as_json) as library:
        view = await library.find(document)
        if not (yes or as_json):
            typer.confirm(f"Delete {view.title!r} ({view.external_id}) for ever?", abort=True, err=True)
        await library.delete(view.document_id)
    if as_json:
        print_json(Console(), {"deleted": True, "document_id": view.document_id, "external_id": view.external_id})
    else:
        Console().print(text(f"{view.external_id} is deleted"))
    return OK


@document_commands.command("health")
@run_async
async def document_health(
    tenant: Tenant = "",
    limit: Annotated[int, typer.Option(min=1)] = 50,
    as_json: AsJson = False,
    server: Server = "",
    token: Token = "",
) -> int:
    """What is wrong: contradictions, duplicates, failures, documents that are out of date; gravest first."""
    items: list[HealthItem] = []
    async with open_library(Target(f"{tenant}/", server, token), Console(stderr=True), as_json=as_json) as library:
        page = await library.health(min(limit, _PAGE), None)
        items += page.items
        while page.next_cursor and len(items) < limit:
            page = await library.health(min(limit - len(items), _PAGE), page.next_cursor)
            items += page.items
    out = Console()
    if as_json:
        for item in items:
            print_json(out, item.model_dump(mode="json"))
        print_json(out, {"counts": page.counts})
        return OK
    rows = (
        (item.kind.value, item.document.title, item.other.title if item.other else "", item.advice.en) for item in items
    )
    print_table(out, ("what", "document", "and", "what to do"), rows)
    told = ", ".join(f"{count} {kind.value}" for kind, count in page.counts.items())
    out.print(text(told or "nothing is wrong"))
    return OK


def _fields(view: DocumentView) -> Iterator[tuple[str, str]]:
    for name in ("document_id", "external_id", "title", "url", "department", "scope", "authority", "lang"):
        yield name, str(getattr(view, name))
    yield "created", f"{view.created_at:%Y-%m-%d %H:%M}"
    yield "in force", period(view.effective_from, view.effective_to)
    if view.supersedes:
        yield "supersedes", view.supersedes
    yield "status", state_of(view)
    if view.status_detail:
        yield "", view.status_detail
    for note in view.warnings:
        yield "note", f"{note.code} ({note.count}) {note.advice}"
        yield from (("", sentence) for sentence in note.sentences)
    yield "versions", f"{view.current_version} is found, {view.latest_version} is the newest"
    yield "file", f"{view.file_name or '–'} · {view.kind} · {view.byte_count} bytes"
    yield "chunks", f"{view.chunks_embedded} of {view.chunks_total} have their vector"
    yield "changed", f"{view.updated_at:%Y-%m-%d %H:%M}"
