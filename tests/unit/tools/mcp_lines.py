"""Connections to the hostile server, and how long the event loop was held up meanwhile."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.reasoning import Arguments
from app.tools.mcp.adapter import MCPToolAdapter
from app.tools.mcp.connections import Connections
from app.tools.mcp.session import offered_by
from app.tools.mcp.spec import PinnedServer, ServerLimits, ServerSpec
from tests.unit.tools.recording import RecordingReasoner

ROOT = Path(__file__).parents[3]
LIMITS = ServerLimits(start_seconds=4, call_seconds=1.5, max_result_bytes=65_536, max_list_bytes=262_144)
PLAIN: list[PinnedServer] = []


def spec_of(mode: str, **changes: Any) -> ServerSpec:
    """The hostile server over standard input and output."""
    told = {"name": "hostile", "command": ("python", "-m", "tests.fakes.mcp_server", mode), "limits": LIMITS}
    return ServerSpec.model_validate(told | changes)


async def plain_list() -> PinnedServer:
    """What the hostile server offers while it behaves."""
    if not PLAIN:
        PLAIN.append(await offered_by(spec_of("plain")))
    return PLAIN[0]


@asynccontextmanager
async def lines_of(spec: ServerSpec, approved: PinnedServer | None = None) -> AsyncIterator[Connections]:
    """The connection to one server, approved as the plain list unless said otherwise."""
    connections = Connections({spec.name: spec}, {spec.name: approved or await plain_list()})
    try:
        yield connections
    finally:
        await connections.aclose()


async def adapter_over(lines: Connections, spec: ServerSpec) -> MCPToolAdapter:
    """The tool ``echo``, whose argument a mind read as ``hello``."""
    echo = next(tool for tool in (await plain_list()).tools if tool.name == "echo")
    return MCPToolAdapter(spec, echo, lines, RecordingReasoner(arguments=Arguments(values={"text": "hello"})))


@asynccontextmanager
async def adapter_of(spec: ServerSpec) -> AsyncIterator[MCPToolAdapter]:
    async with lines_of(spec) as lines:
        yield await adapter_over(lines, spec)


@asynccontextmanager
async def http_server(mode: str, elsewhere: str = "") -> AsyncIterator[str]:
    """The address of the hostile server over HTTP, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.mcp_server", mode, "http", elsewhere,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.stdin.close()
        await process.wait()


def http_spec(url: str, **changes: Any) -> ServerSpec:
    return ServerSpec.model_validate({"name": "hostile", "url": url, "limits": LIMITS} | changes)
