"""The tools of one process, with what they stand on."""

from contextlib import AsyncExitStack

from app.agents.mcp_servers import McpServers
from app.confinement.processes import Isolated, ProcessLimits
from app.embedding import Embedder
from app.errors import AppError, ErrorCode
from app.reasoning import Reasoner
from app.reasoning.local.concepts import concepts_in
from app.retrieval.search import Retriever
from app.settings import Settings
from app.storage.database import Database
from app.tools.base import Tool, Toolbox
from app.tools.catalogue import ToolPorts, WebPorts, build_toolbox
from app.tools.files import FileReader
from app.tools.reading import Reading
from app.tools.sandbox import Sandbox
from app.tools.web_access import WebAccess, available_web_tools


async def open_tools(
    settings: Settings,
    stack: AsyncExitStack,
    retriever: Retriever,
    reasoner: Reasoner,
    database: Database,
    embedder: Embedder,
    files: FileReader,
) -> Toolbox:
    """Every tool that is turned on. Starts no process and reaches no host: they do so when they are first called.

    What they stand on is closed with `stack`. Raises `AppError` for hosts that are none, `FileRefused` for a file of
    MCP servers that cannot be used.
    """
    sandbox = Sandbox()
    stack.push_async_callback(sandbox.aclose)
    tables = Isolated(
        "app.tables.engine:execute", ProcessLimits(wall_seconds=8.0, cpu_seconds=6, memory_bytes=384 * 1024 * 1024)
    )
    stack.push_async_callback(tables.aclose)
    servers = McpServers.load(settings.mcp_servers)
    further: tuple[Tool, ...] = ()
    if servers.by_name:
        connections = servers.connections()
        stack.push_async_callback(connections.aclose)
        further = servers.tools(connections, reasoner)
    web = _web(settings, Reading(reasoner, embedder, settings.min_relevance_score))
    ports = ToolPorts(
        retriever, reasoner, database, settings.min_relevance_score, sandbox, files, tables, web, concepts_in
    )
    return build_toolbox(ports, further=further)


def _web(settings: Settings, reading: Reading) -> WebPorts | None:
    """What the web tools need; None where no host is named."""
    access = WebAccess(
        allowed_hosts=settings.web_allowed_hosts,
        private_hosts=settings.web_private_hosts,
        wikipedia_base_url=settings.wikipedia_base_url,
    )
    try:
        available = available_web_tools(access)
        return WebPorts(available, access.fetcher(), reading, access.wikipedia_base_url) if available else None
    except ValueError as wrong:
        detail = f"CONCLAVE_WEB_ALLOWED_HOSTS or CONCLAVE_WEB_PRIVATE_HOSTS cannot be used: {wrong}"
        raise AppError(ErrorCode.VALIDATION_FAILED, detail) from wrong
