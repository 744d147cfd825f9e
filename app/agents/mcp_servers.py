"""The MCP servers of this service: ours and the operator's, each with the tool list that was approved.

Read once at start; no server is started or asked for that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from app.agents.spec import FileRefused, problems, read_yaml
from app.domain.record import Record
from app.reasoning import Reasoner
from app.tools.mcp.spec import PinnedServer, ServerRefused, ServerSpec, read_lock, write_lock

if TYPE_CHECKING:
    from app.tools.mcp.adapter import MCPToolAdapter
    from app.tools.mcp.connections import Connections

OURS = Path(__file__).parents[1] / "tools" / "servers" / "servers.yaml"
LOCK_NAME = "mcp_servers.lock.json"


class _ServersFile(Record):
    servers: dict[str, dict[str, object]]


_FILE = TypeAdapter(_ServersFile)


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
        """Read our servers and those of `file`, with their lock files; blocks shortly. Raises `FileRefused` naming file
        and key."""
        servers: dict[str, McpServer] = {}
        for path in filter(None, (OURS, file)):
            for server in _servers(path):
                if server.spec.name in servers:
                    raise FileRefused(f"{path}: servers.{server.spec.name}: this name is already taken")
                servers[server.spec.name] = server
        return cls(servers)

    def connections(self) -> "Connections":
        """The connections of this process to all approved servers; needs a running loop, does no I/O."""
        # Only here, and below: the client's library takes most of a second to import, and most services name no server.
        from app.tools.mcp.connections import Connections  # noqa: PLC0415

        approved = {name: server.approved for name, server in self.by_name.items() if server.approved is not None}
        return Connections({name: server.spec for name, server in self.by_name.items()}, approved)

    def tools(self, connections: "Connections", reasoner: Reasoner) -> tuple["MCPToolAdapter", ...]:
        """Every approved tool that may be used, as a tool of ours."""
        from app.tools.mcp.adapter import adapters  # noqa: PLC0415

        return tuple(
            tool
            for server in self.by_name.values()
            if server.approved is not None
            for tool in adapters(server.spec, server.approved.tools, connections, reasoner).values()
        )

    def descriptions(self) -> dict[str, str]:
        """Name and description of every approved tool that may be used."""
        return {
            f"{server.spec.name}.{tool.name}": tool.told
            for server in self.by_name.values()
            if server.approved is not None
            for tool in server.approved.tools
            if not server.spec.tools or tool.name in server.spec.tools
        }

    def approve(self, name: str, offered: PinnedServer) -> None:
        """Write the approved list of one server; it counts from the next start on. Raises `ServerRefused`."""
        path = self.by_name[name].lock_path
        write_lock(path, read_lock(path) | {name: offered})


def _servers(path: Path) -> Iterator[McpServer]:
    try:
        written = _FILE.validate_python(read_yaml(path))
        specs = [ServerSpec.model_validate({"name": name, **entry}) for name, entry in written.servers.items()]
        lock_path = path.with_name(LOCK_NAME)
        lock = read_lock(lock_path)
    except ValidationError as error:
        raise FileRefused("\n".join(f"{path}: {problem}" for problem in problems(error))) from error
    except ServerRefused as error:
        raise FileRefused(str(error)) from error
    yield from (McpServer(spec, lock_path, lock.get(spec.name)) for spec in specs)
