"""One specification for every server: ours, one of other people's from PyPI as it is, and one over HTTP.

List, approve, call, side by side, cancel, stop a process and call again.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp.types import CallToolResult

from app.agents.mcp_servers import McpServers
from app.tools.mcp.connections import Connections
from app.tools.mcp.result import check_schema, wrong_places
from app.tools.mcp.session import Disconnected, offered_by
from app.tools.mcp.spec import PinnedServer, ServerSpec, changes
from tests.unit.tools.mcp_lines import http_server

SECONDS = 30.0


@dataclass(frozen=True)
class Case:
    """A server, the tools it must offer, one call, and what must be in its answer."""

    name: str
    tools: frozenset[str]
    tool: str
    arguments: dict[str, Any]
    answers: Callable[[Any], bool]


CASES = {
    "math": Case(
        "math",
        frozenset(
            {"mcp_sum", "mcp_subtract", "mcp_multiply", "mcp_divide", "mcp_power", "mcp_percent", "mcp_evaluate"}
        ),
        "mcp_sum",
        {"a": "2", "b": "4"},
        lambda value: bool(value == {"result": "6"}),
    ),
    "date": Case(
        "date",
        frozenset({"today", "difference", "working_days", "add_working_days", "add", "weekday", "parse"}),
        "working_days",
        {"start": "3/2", "end": "30/4/2026"},
        lambda value: bool(value["result"] == 56),
    ),
    "time": Case(
        "time",
        frozenset({"get_current_time", "convert_time"}),
        "convert_time",
        {"source_timezone": "Asia/Ho_Chi_Minh", "time": "16:30", "target_timezone": "UTC"},
        lambda value: "09:30" in str(value),
    ),
    "http": Case(
        "http", frozenset({"echo", "seen"}), "echo", {"text": "xin chào"}, lambda value: "xin chào" in str(value)
    ),
}


@dataclass(frozen=True)
class Running:
    """A server that can be called."""

    case: Case
    spec: ServerSpec
    offered: PinnedServer
    lines: Connections

    async def call(self) -> CallToolResult:
        result = await self.lines.call(self.spec.name, self.case.tool, self.case.arguments, SECONDS)
        assert isinstance(result, CallToolResult)
        return result


@pytest_asyncio.fixture(scope="module", params=sorted(CASES))
async def running(request: pytest.FixtureRequest) -> AsyncIterator[Running]:
    case = CASES[request.param]
    if case.name == "time" and find_spec("mcp_server_time") is None:
        pytest.skip("mcp-server-time is not installed")
    async with http_server("plain") if case.name == "http" else nullcontext("") as url:
        spec = spec_of(case.name, url)
        offered = await offered_by(spec)
        lines = Connections({spec.name: spec}, {spec.name: offered})
        yield Running(case, spec, offered, lines)
        await lines.aclose()


def spec_of(name: str, url: str) -> ServerSpec:
    if name == "http":
        return ServerSpec(name="http", url=url)
    if name == "time":
        return ServerSpec(
            name="time", command=("python", "-m", "mcp_server_time", "--local-timezone", "Asia/Ho_Chi_Minh")
        )
    return McpServers.load(None).by_name[name].spec


def children() -> set[int]:
    """Processes this one started and that still run."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            if state[0] != "Z" and int(state[1]) == os.getpid():
                found.add(int(entry.name))
    return found


class TestEveryServer:
    async def test_lists_its_tools(self, running: Running) -> None:
        assert {tool.name for tool in running.offered.tools} == running.case.tools
        assert all(tool.told for tool in running.offered.tools)
        for tool in running.offered.tools:
            check_schema(tool.input_schema)

    async def test_ours_offer_the_approved_list(self, running: Running) -> None:
        """When this fails, run ``conclave mcp pin --all``."""
        ours = McpServers.load(None).by_name
        assert {"math", "date"} <= ours.keys() & CASES.keys()
        if running.case.name in ours:
            assert list(changes(ours[running.case.name].approved, running.offered)) == []

    async def test_tells_the_same_list_again(self, running: Running) -> None:
        again = await offered_by(running.spec)
        assert again.sha256 == running.offered.sha256
        assert list(changes(running.offered, again)) == []

    async def test_answers_a_call(self, running: Running) -> None:
        result = await running.call()
        assert not result.is_error
        assert running.case.answers(result.structured_content)

    async def test_its_arguments_and_results_fit_the_approved_schemas(self, running: Running) -> None:
        tool = next(tool for tool in running.offered.tools if tool.name == running.case.tool)
        result = await running.call()
        assert wrong_places(running.case.arguments, tool.input_schema) == ()
        if tool.output_schema is not None:
            assert wrong_places(result.structured_content, tool.output_schema) == ()

    async def test_answers_calls_side_by_side(self, running: Running) -> None:
        results = await asyncio.gather(*(running.call() for _ in range(12)))
        assert all(running.case.answers(result.structured_content) for result in results)

    async def test_a_cancelled_call_leaves_it_usable(self, running: Running) -> None:
        for _ in range(8):
            call = asyncio.create_task(running.call())
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait({call})
        assert running.case.answers((await running.call()).structured_content)

    async def test_a_stopped_process_is_started_again(self, running: Running) -> None:
        if running.spec.url:
            pytest.skip("its process is not ours")
        before = children()
        lines = Connections({running.spec.name: running.spec}, {running.spec.name: running.offered})
        fresh = Running(running.case, running.spec, running.offered, lines)
        await fresh.call()
        (server,) = children() - before
        os.kill(server, signal.SIGKILL)
        try:
            result = await fresh.call()
        except Disconnected:
            result = await fresh.call()
        assert running.case.answers(result.structured_content)
        assert server not in children()
        await lines.aclose()
        assert children() <= before
