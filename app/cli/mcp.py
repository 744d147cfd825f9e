"""`conclave mcp`: approving the tools of MCP servers."""

from typing import Annotated

import typer
from rich.console import Console

from app.agents.mcp_servers import McpServers
from app.agents.spec import FileRefused
from app.cli.output import FAILED, OK, run_async
from app.settings import Settings
from app.tools.mcp.result import SchemaRefused, check_schema
from app.tools.mcp.session import offered_by
from app.tools.mcp.spec import PinnedServer, ServerRefused, changes

mcp_commands = typer.Typer(no_args_is_help=True, help="MCP servers and their approved tools.")
_MAX_DIFF_LINES = 400


@mcp_commands.command("pin")
@run_async
async def pin(
    name: Annotated[str, typer.Argument(help="The server.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Every configured server.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Approve without asking.")] = False,
) -> int:
    """Connect, show what changed since the last approval, ask, and write the approved tools."""
    servers = _load()
    if every == bool(name) or (name and name not in servers.by_name):
        raise typer.BadParameter(f"name one of {', '.join(servers.by_name)}, or say --all")
    out, code = Console(highlight=False), OK
    for one in list(servers.by_name) if every else [name]:
        try:
            offered = await offered_by(servers.by_name[one].spec)
            _check(offered)
        except ServerRefused as refusal:
            out.print(f"{one}: {refusal}", style="red", markup=False, soft_wrap=True)
            code = FAILED
            continue
        if _agreed(out, one, servers.by_name[one].approved, offered, yes):
            servers.approve(one, offered)
            out.print(f"{one}: {len(offered.tools)} tools approved ({offered.sha256[:12]})")
    return code


def _agreed(out: Console, name: str, approved: PinnedServer | None, offered: PinnedServer, yes: bool) -> bool:
    """Show the difference and ask."""
    lines = list(changes(approved, offered))
    if not lines and approved is not None:
        out.print(f"{name}: nothing changed")
        return False
    for line in lines[:_MAX_DIFF_LINES]:
        out.print(line, markup=False, style="green" if line[0] == "+" else "red" if line[0] == "-" else "dim")
    if len(lines) > _MAX_DIFF_LINES:
        out.print(f"… and {len(lines) - _MAX_DIFF_LINES} lines more")
    return yes or typer.confirm(f"Approve these tools of '{name}'?")


def _check(offered: PinnedServer) -> None:
    """Raises `ServerRefused` when a schema of the list cannot be used."""
    for tool in offered.tools:
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            try:
                check_schema(schema)
            except SchemaRefused as refusal:
                raise ServerRefused(f"{tool.name}: {refusal}") from refusal


def _load() -> McpServers:
    try:
        return McpServers.load(Settings().mcp_servers)
    except FileRefused as refusal:
        raise typer.BadParameter(str(refusal)) from refusal
