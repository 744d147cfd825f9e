"""The MCP servers of this service: ours and the operator's, each with the tool list that was approved.

Read once at start; no server is started or asked for that.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from app.agents.spec import FileRefused, problems, read_yaml
from app.domain.record import Record
from app.plugins import SERVERS, load_plugins
from app.reasoning import Reasoner
from app.tools.base import ToolCall, ToolResult
from app.tools.mcp.spec import PinnedServer, PinnedTool, ServerRefused, ServerSpec, read_lock, write_lock

if TYPE_CHECKING:
    from app.tools.mcp.adapter import MCPToolAdapter
    from app.tools.mcp.connections import Connections

LOCK_NAME = "mcp_servers.lock.json"


class _ServersFile(Record):
    servers: dict[str, dict[str, object]]


@dataclass(frozen=True)
class McpServer:
    """A configured server, where its approval is kept, and the list that was approved."""

    spec: ServerSpec
    lock_path: Path
    approved: PinnedServer | None
    """None = nobody approved it yet: its tools are not offered."""


class McpServers:
    """Every configured server by name."""

    def __init__(self, servers: dict[str, McpServer]):
        self.by_name = servers

    @classmethod
    def load(cls, file: Path | None) -> "McpServers":
        """Read the servers of plug-ins (ours: `extras/servers`) and those of `file`, with their lock files; blocks
        shortly. Raises `FileRefused` naming file and key."""
        servers: dict[str, McpServer] = {}
        for path in (*load_plugins(SERVERS, {}, Path).found.values(), *([file] if file else ())):
            for server in _servers(path):
                if server.spec.name in servers:
                    raise FileRefused(f"{path}: servers.{server.spec.name}: this name is already taken")
                servers[server.spec.name] = server
        return cls(servers)

    def connections(self) -> "Connections":
        """The connections of this process to all approved servers; needs a running loop, does no I/O."""
        # Only here, and in `McpTools`: the client's library takes most of a second to import.
        from app.tools.mcp.connections import Connections  # noqa: PLC0415

        approved = {name: server.approved for name, server in self.by_name.items() if server.approved is not None}
        return Connections({name: server.spec for name, server in self.by_name.items()}, approved)

    def offered(self) -> Iterator[tuple[ServerSpec, PinnedTool]]:
        """Every approved tool that may be used, with its server."""
        for server in self.by_name.values():
            if server.approved is not None:
                allowed = server.spec.tools or tuple(tool.name for tool in server.approved.tools)
                yield from ((server.spec, tool) for tool in server.approved.tools if tool.name in allowed)

    def descriptions(self) -> dict[str, str]:
        """Name and description of every approved tool that may be used."""
        return {f"{spec.name}.{tool.name}": tool.told for spec, tool in self.offered()}

    def approve(self, name: str, offered: PinnedServer) -> None:
        """Write the approved list of one server; it counts from the next start on. Raises `ServerRefused`."""
        path = self.by_name[name].lock_path
        write_lock(path, read_lock(path) | {name: offered})


class McpTools:
    """Every approved tool that may be used, as a tool of ours. The first call of one makes this process's connections,
    and imports the library they need."""

    def __init__(self, servers: McpServers, reasoner: Reasoner):
        self._servers, self._reasoner = servers, reasoner
        self._opening = asyncio.Lock()
        self._connections: Connections | None = None
        self.all = tuple(_McpTool(spec, tool, self) for spec, tool in servers.offered())

    async def adapter(self, spec: ServerSpec, tool: PinnedTool) -> "MCPToolAdapter":
        """The tool itself."""
        async with self._opening:
            # Aside, so that no other question waits for the import.
            module = await asyncio.to_thread(import_module, "app.tools.mcp.adapter")
            self._connections = self._connections or self._servers.connections()
        made: MCPToolAdapter = module.MCPToolAdapter(spec, tool, self._connections, self._reasoner)
        return made

    async def aclose(self) -> None:
        """Close the connections that were made."""
        if self._connections is not None:
            await self._connections.aclose()


class _McpTool:
    """A tool as it was approved; implements `Tool`."""

    def __init__(self, spec: ServerSpec, tool: PinnedTool, tools: McpTools):
        self.name, self.description = f"{spec.name}.{tool.name}", tool.told
        self.alternative: str | None = spec.alternative.get(tool.name)
        self.input_schema: Mapping[str, Any] = tool.input_schema
        self._spec, self._tool, self._tools = spec, tool, tools

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Do it. Raises `ToolRetry` and `ToolFailed` as `Tool` does."""
        return await (await self._tools.adapter(self._spec, self._tool))(call)


def _servers(path: Path) -> Iterator[McpServer]:
    try:
        written = _ServersFile.model_validate(read_yaml(path))
        specs = [ServerSpec.model_validate({"name": name, **entry}) for name, entry in written.servers.items()]
        lock_path = path.with_name(LOCK_NAME)
        lock = read_lock(lock_path)
    except ValidationError as error:
        raise FileRefused("\n".join(f"{path}: {problem}" for problem in problems(error))) from error
    except ServerRefused as error:
        raise FileRefused(str(error)) from error
    yield from (McpServer(spec, lock_path, lock.get(spec.name)) for spec in specs)
