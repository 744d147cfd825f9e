"""`conclave documents`: what is in the catalogue, in which state, and deleting it."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connecting import Server, Target, Tenant, Token, opened_storage
from app.cli.library import open_library, state_of
from app.cli.output import OK, AsJson, period, print_json, print_table, run_async, text
from app.domain.documents import DocumentStatus, DocumentView
from app.ingestion.catalogue import Catalogue

document_commands = typer.Typer(no_args_is_help=True, help="Documents of a tenant: look at them, delete them.")
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
        operator = (await storage.operator_of(await storage.tenant_named(tenant))).principal()
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


def _fields(view: DocumentView) -> Iterator[tuple[str, str]]:
    for name, value in view.model_dump(mode="json", exclude={"warnings"}).items():
        if value not in (None, ""):
            yield name, str(value)
    for note in view.warnings:
        yield from ((note.code, told) for told in (note.advice, *note.sentences, *map(str, note.proposes.items())))
