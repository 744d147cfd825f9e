"""The tools of one process, with what they stand on."""

from contextlib import AsyncExitStack

from app.agents.mcp_servers import McpServers
from app.reasoning import Reasoner
from app.retrieval.search import Retriever
from app.settings import Settings
from app.storage.database import Database
from app.tools.base import Toolbox
from app.tools.catalogue import ToolPorts, build_toolbox
from app.tools.sandbox import Sandbox


async def open_tools(
    settings: Settings, stack: AsyncExitStack, retriever: Retriever, reasoner: Reasoner, database: Database
) -> Toolbox:
    """Every tool that is turned on. Starts no process and reaches no host: they do so when they are first called.

    What they stand on is closed with `stack`.
    """
    sandbox = Sandbox()
    stack.push_async_callback(sandbox.aclose)
    servers = McpServers.load(settings.mcp_servers)
    connections = servers.connections()
    stack.push_async_callback(connections.aclose)
    ports = ToolPorts(retriever, reasoner, database, settings.min_relevance_score, sandbox)
    return build_toolbox(ports, further=servers.tools(connections, reasoner))
