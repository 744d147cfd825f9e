"""`conclave connector`: where documents come from by themselves, through the server that runs here or another one."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
import yaml
from rich.console import Console

from app.cli.connecting import Server, Target, Tenant, Token, connected
from app.cli.output import FAILED, OK, AsJson, print_json, print_rows, run_async, text
from app.client.connection import Connection
from app.errors import AppError, ErrorCode

connector_commands = typer.Typer(no_args_is_help=True, help="Connectors: documents from other systems.")
Name = Annotated[str, typer.Argument(help="As `conclave connector list` shows it.")]
_SHOWN = ("name", "kind", "documents", "waiting", "failed", "succeeded_at", "due_at", "last_error")
_LOOK_SECONDS, _PATIENCE_SECONDS = 0.5, 180.0


@connector_commands.command("add")
@run_async
async def connector_add(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="YAML that says from where, and for whom.")],
    tenant: Tenant = "", as_json: AsJson = False, server: Server = "", token: Token = "",
) -> int:  # fmt: skip
    """Add a connector and synchronise it for the first time."""
    try:
        body = yaml.safe_load(file.read_text("utf-8"))
    except (ValueError, yaml.YAMLError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"{file.name} is not YAML.", status=422) from error
    if not isinstance(body, dict):
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"{file.name} does not describe a connector.", status=422)
    async with _reached(tenant, server, token, as_json, work=True) as connection:
        return await _synchronised(connection, await connection.send("POST", "/connectors", body=body), as_json)


@connector_commands.command("list")
@run_async
async def connector_list(tenant: Tenant = "", as_json: AsJson = False, server: Server = "", token: Token = "") -> int:
    """The connectors of a tenant and how their last synchronisations went."""
    async with _reached(tenant, server, token, as_json) as connection:
        found = (await connection.send("GET", "/connectors"))["connectors"]
    print_rows([_row(one) for one in found], as_json)
    return OK


@connector_commands.command("sync")
@run_async
async def connector_sync(
    name: Name, tenant: Tenant = "",
    withdraw_all: Annotated[bool, typer.Option("--withdraw-all", help="Also when most is gone there.")] = False,
    as_json: AsJson = False, server: Server = "", token: Token = "",
) -> int:  # fmt: skip
    """Synchronise now, and wait until every document has been read."""
    async with _reached(tenant, server, token, as_json, work=True) as connection:
        path = f"/connectors/{(await _named(connection, name))['connector_id']}/sync"
        return await _synchronised(
            connection, await connection.send("POST", path, body={"withdraw_all": withdraw_all}), as_json
        )


@connector_commands.command("remove")
@run_async
async def connector_remove(
    name: Name, documents: Annotated[Literal["keep", "delete"], typer.Option(help="What becomes of its documents.")],
    tenant: Tenant = "", server: Server = "", token: Token = "",
) -> int:  # fmt: skip
    """Forget a connector."""
    async with _reached(tenant, server, token, True) as connection:
        path = f"/connectors/{(await _named(connection, name))['connector_id']}"
        await connection.send("DELETE", path, params={"documents": documents})
    return OK


def _reached(tenant: str, server: str, token: str, as_json: bool, *, work: bool = False) -> Any:
    return connected(Target(f"{tenant}/", server, token), Console(stderr=True), as_json=as_json, work=work)


async def _named(connection: Connection, name: str) -> dict[str, Any]:
    for one in (await connection.send("GET", "/connectors"))["connectors"]:
        if one["definition"]["name"] == name:
            return dict(one)
    raise AppError(ErrorCode.NOT_FOUND, f"There is no connector {name[:64]!r}.", status=404)


async def _synchronised(connection: Connection, asked: dict[str, Any], as_json: bool) -> int:
    """Wait for the synchronisation that was asked for, and show how it went."""
    found, path, quiet = asked, f"/connectors/{asked['connector_id']}", 0.0
    while found["finished_at"] == asked["finished_at"] or found["is_running"] or found["waiting"]:
        await asyncio.sleep(_LOOK_SECONDS)
        before, found = found, await connection.send("GET", path)
        quiet = quiet + _LOOK_SECONDS if before == found and not found["is_running"] else 0.0
        if quiet > _PATIENCE_SECONDS:
            detail = "Nothing has happened for minutes: does a worker run that serves ingest? `conclave connector list`"
            raise AppError(ErrorCode.OVERLOADED, f"{detail} shows how far it is.", status=503)
    if as_json:
        print_json(Console(), found)
    else:
        print_rows([_row(found)], False)
        for note in found["report"].get("notes", ()):
            Console().print(text(f"! {note}", "yellow"))
    return FAILED if found["last_error"] or found["failed"] else OK


def _row(found: dict[str, Any]) -> dict[str, Any]:
    told = {**found, **found["definition"]}
    return {name: told[name] for name in _SHOWN}
