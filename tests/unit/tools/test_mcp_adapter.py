"""Arguments of a server's tool: by the approved schema, from the question, checked before anything is sent."""

from pathlib import Path
from typing import Any

import pytest

from app.agents.mcp_servers import McpServer, McpServers, McpTools
from app.errors import ToolFailed, ToolRetry
from app.reasoning import Arguments
from app.tools.base import Tool
from app.tools.mcp.adapter import MCPToolAdapter
from app.tools.mcp.connections import Connections
from app.tools.mcp.spec import PinnedServer, PinnedTool, ServerSpec
from tests.unit.tools.mcp_lines import LIMITS, adapter_of, lines_of, plain_list, spec_of
from tests.unit.tools.recording import RecordingReasoner, call

TOOL = PinnedTool(
    name="seats",
    description="Books seats.\nSecond line.",
    input_schema={
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1},
            "window": {"type": "boolean"},
            "language": {"enum": ["vi", "en"]},
            "zone": {"type": "string"},
        },
        "required": ["count"],
        "additionalProperties": False,
    },
)
SPEC = ServerSpec(name="train", command=("python", "-c", "raise SystemExit"), alternative={"seats": "rag_tool"})


class Recording(Connections):
    """Connections that only remember what would be sent."""

    def __init__(self) -> None:
        super().__init__({}, {})
        self.sent: list[tuple[str, str, dict[str, Any]]] = []

    async def call(self, server: str, tool: str, arguments: dict[str, Any], seconds: float, owner: str = "") -> Any:
        self.sent.append((server, tool, arguments))
        raise TimeoutError


def tool(lines: Connections, spec: ServerSpec = SPEC, **values: Any) -> MCPToolAdapter:
    return MCPToolAdapter(spec, TOOL, lines, RecordingReasoner(arguments=Arguments(values=values)))


class TestArguments:
    async def test_are_converted_and_the_language_is_filled_in(self) -> None:
        lines = Recording()
        with pytest.raises(ToolRetry, match=r"train\.seats"):
            await tool(lines, count="3", window="có", unknown="x")(call("Đặt 3 chỗ"))
        assert lines.sent == [
            ("train", "seats", {"count": 3, "window": True, "language": "vi", "zone": "Asia/Ho_Chi_Minh"})
        ]

    @pytest.mark.parametrize("values", [{"count": "many"}, {"count": "0"}, {"count": "1", "window": "perhaps"}])
    async def test_that_do_not_fit_are_never_sent(self, values: dict[str, Any]) -> None:
        lines = Recording()
        with pytest.raises(ToolFailed, match=r"(count|window)"):
            await tool(lines, **values)(call("Book", language="en"))
        assert lines.sent == []

    async def test_that_nobody_stated_are_asked_for(self) -> None:
        lines = Recording()
        with pytest.raises(ToolFailed, match="count"):
            await tool(lines)(call("Đặt chỗ"))
        assert lines.sent == []


class TestAdapter:
    def test_is_a_tool_under_its_servers_name(self) -> None:
        made: Tool = tool(Recording())
        assert made.name == "train.seats"

    async def test_only_allowed_tools_are_offered_and_under_their_servers_name(self) -> None:
        pinned = PinnedServer(sha256="", tools=(TOOL, TOOL.model_copy(update={"name": "rag_tool"})))
        for allowed, names in ((), ["train.rag_tool", "train.seats"]), (("seats",), ["train.seats"]):
            server = McpServer(SPEC.model_copy(update={"tools": allowed}), Path(), pinned)
            tools = McpTools(McpServers({"train": server}), RecordingReasoner()).all
            assert sorted(tool.name for tool in tools) == names
            assert tools[0].description == "Books seats. Second line."
            assert tools[0].input_schema == TOOL.input_schema
            assert {tool.name: tool.alternative for tool in tools}["train.seats"] == "rag_tool"

    async def test_those_who_may_not_use_the_server_cannot(self) -> None:
        lines = Recording()
        with pytest.raises(ToolFailed, match="may not"):
            await tool(lines, SPEC.model_copy(update={"departments": ("it",)}), count="1")(call("Book", language="en"))
        assert lines.sent == []

    async def test_answers_every_query(self) -> None:
        async with adapter_of(spec_of("plain")) as echo:
            result = await echo(call("một", "hai"))
        assert [finding.index for finding in result.findings] == [1, 2]
        assert result.value == [{"text": "hello"}, {"text": "hello"}]
        assert result.trace == ("hostile.echo(text)", "hostile.echo(text)")

    async def test_evidence_has_the_strictest_scope_of_the_server(self) -> None:
        spec = spec_of("plain", scopes=("internal",), limits=LIMITS)
        async with lines_of(spec) as lines:
            echo = next(one for one in (await plain_list()).tools if one.name == "echo")
            made = MCPToolAdapter(spec, echo, lines, RecordingReasoner(arguments=Arguments(values={"text": "x"})))
            result = await made(call("x"))
        assert [evidence.scope for evidence in result.evidence] == ["internal"]
