"""`conclave mcp`: the MCP servers of this service, their approval, and calls for operators."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from app.agents.mcp_servers import McpServer, McpServers
from app.agents.spec import FileRefused
from app.cli.output import FAILED, OK, USAGE, finish, print_json
from app.errors import ToolFailed, ToolRetry
from app.settings import Settings
from app.tools.mcp.adapter import MCPToolAdapter
from app.tools.mcp.result import SchemaRefused, check_schema, wrong_places
from app.tools.mcp.session import offered_by
from app.tools.mcp.spec import PinnedServer, ServerRefused, changes

mcp_commands = typer.Typer(no_args_is_help=True, help="MCP servers and their approved tools.")
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
_MAX_DIFF_LINES = 400


@mcp_commands.command("list")
def list_servers(as_json: AsJson = False) -> None:
    """Every configured server with its approved tools; starts none."""
    out, servers = Console(), _load()
    if as_json:
        for name, server in servers.by_name.items():
            print_json(out, _told(name, server))
        raise typer.Exit(OK)
    table = Table("server", "reached by", "tools", "approved")
    for name, server in servers.by_name.items():
        told = _told(name, server)
        table.add_row(name, told["reached_by"], ", ".join(told["tools"]), told["sha256"][:12] or "no: conclave mcp pin")
    out.print(table)


@mcp_commands.command("pin")
def pin(
    name: Annotated[str, typer.Argument(help="The server.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Every configured server.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Approve without asking.")] = False,
) -> None:
    """Connect, show what changed since the last approval, ask, and write the approved tools."""
    servers = _load()
    if every == bool(name) or (name and name not in servers.by_name):
        _refuse(f"Name one of {', '.join(servers.by_name)}, or say --all.", USAGE)
    finish(_pin(servers, list(servers.by_name) if every else [name], yes))


async def _pin(servers: McpServers, names: list[str], yes: bool) -> int:
    out, code = Console(highlight=False), OK
    for name in names:
        try:
            offered = await offered_by(servers.by_name[name].spec)
            _check(offered)
        except ServerRefused as refusal:
            out.print(f"{name}: {refusal}", style="red", markup=False, soft_wrap=True)
            code = FAILED
            continue
        if _agreed(out, name, servers.by_name[name].approved, offered, yes):
            servers.approve(name, offered)
            out.print(f"{name}: {len(offered.tools)} tools approved ({offered.sha256[:12]})")
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


@mcp_commands.command("call")
def call(
    name: Annotated[str, typer.Argument(help="The server.")],
    tool: Annotated[str, typer.Argument(help="Its tool.")],
    arguments: Annotated[str, typer.Argument(help="A JSON object.")] = "{}",
    as_json: AsJson = False,
) -> None:
    """Call one approved tool with arguments of your own and print what it answers."""
    servers = _load()
    known = [one.name for one in _approved(servers.by_name.get(name))]
    if tool not in known:
        _refuse(f"There is no approved tool '{tool}' of '{name}'; there are: {', '.join(known) or 'none'}.", USAGE)
    finish(_call(servers, name, tool, _object(arguments), as_json))


async def _call(servers: McpServers, name: str, tool: str, arguments: dict[str, Any], as_json: bool) -> int:
    server, connections = servers.by_name[name], servers.connections()
    pinned = next(one for one in _approved(server) if one.name == tool)
    if wrong := wrong_places(arguments, pinned.input_schema):
        _refuse(f"These arguments do not fit: {', '.join(wrong)}.", USAGE)
    adapter = MCPToolAdapter(server.spec, pinned, connections, None)
    limits = server.spec.limits
    try:
        reply = await adapter.invoke(arguments, limits.start_seconds + limits.call_seconds, "en")
    except (ToolFailed, ToolRetry) as failure:
        Console(stderr=True).print(str(failure), style="red", markup=False, soft_wrap=True)
        return FAILED
    finally:
        await connections.aclose()
    if as_json:
        print_json(Console(), {"text": reply.text, "value": reply.value, "left_out": reply.left_out})
    else:
        Console().print(reply.text, markup=False, highlight=False, soft_wrap=True)
    return OK


def _load() -> McpServers:
    try:
        return McpServers.load(Settings().mcp_servers)
    except FileRefused as refusal:
        _refuse(str(refusal), USAGE)
        raise


def _approved(server: McpServer | None) -> Iterator[Any]:
    if server is not None and server.approved is not None:
        yield from server.approved.tools


def _told(name: str, server: McpServer) -> dict[str, Any]:
    return {
        "server": name,
        "reached_by": server.spec.url or " ".join(server.spec.command),
        "tools": [tool.name for tool in _approved(server) if not server.spec.tools or tool.name in server.spec.tools],
        "sha256": server.approved.sha256 if server.approved else "",
    }


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        _refuse("The arguments are one JSON object.", USAGE)
    return dict(value or {})


def _refuse(told: str, code: int) -> None:
    Console(stderr=True).print(told, style="red", markup=False, soft_wrap=True)
    raise typer.Exit(code)
