"""One tool of an MCP server as a tool of this house.

What the server is sent is the tool's name and its arguments, nothing else: no token, no id of a user or a tenant, no
document. Arguments come from the question by the approved schema and are checked by it; the result is a finding like
any other, and its text chooses nothing.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from mcp import MCPError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from app.domain.knowledge import Language
from app.errors import ToolFailed, ToolRetry
from app.reasoning import Arguments, Reasoner
from app.text.language import clean
from app.tools.base import ToolCall, ToolResult, outages_as_retry, side_by_side
from app.tools.finding import computed
from app.tools.mcp.connection import Disconnected
from app.tools.mcp.connections import Busy, Connections, Unusable
from app.tools.mcp.result import Reply, SchemaRefused, TooManySteps, WrongSchema, read_reply, text_of, wrong_places
from app.tools.mcp.spec import PinnedTool, ServerSpec
from app.tools.mcp.transport import Fault
from app.tools.typed import coerced, joined, missing, not_understood

_MAX_REASON_CHARS = 300
_MAX_URL_CHARS = 400
_LANGUAGE, _ZONE = "language", "zone"
"""A property of this name is filled with the asker's language, where the tool offers it."""

_Told = dict[Language, str]
_RETRY: _Told = {
    "vi": "Công cụ {tool} tạm thời không trả lời.",
    "en": "The tool {tool} does not answer at the moment.",
}
_FORBIDDEN: _Told = {
    "vi": "Bạn không được dùng công cụ {tool}.",
    "en": "You may not use the tool {tool}.",
}
_SAID: _Told = {
    "vi": "Công cụ {tool} báo: {reason}",
    "en": "The tool {tool} says: {reason}",
}
_ASKED: _Told = {
    "vi": "Công cụ {tool} đòi hỏi thêm thông tin (sampling, elicitation hoặc roots); điều đó bị từ chối.",
    "en": "The tool {tool} asked for more (sampling, elicitation or roots); that is refused.",
}
_WRONG_SCHEMA: _Told = {
    "vi": "Công cụ {tool} trả về kết quả sai cấu trúc (wrong schema).",
    "en": "The tool {tool} answered in a wrong schema.",
}
_UNUSABLE: dict[Fault, _Told] = {
    Fault.CHANGED: {
        "vi": "Danh sách công cụ của máy chủ {server} đã thay đổi; quản trị viên phải duyệt: conclave mcp pin {server}",
        "en": "{server}: tool list changed; an administrator must approve it: conclave mcp pin {server}",
    },
    Fault.TOO_MUCH: {
        "vi": "Máy chủ {server} gửi nhiều dữ liệu hơn mức cho phép.",
        "en": "The server {server} sent more than it may.",
    },
    Fault.NOT_MCP: {
        "vi": "Máy chủ {server} không nói đúng giao thức MCP.",
        "en": "The server {server} does not speak MCP.",
    },
    Fault.UNUSABLE_LIST: {
        "vi": "Máy chủ {server} có danh sách công cụ hoặc cấu hình không dùng được; xem: conclave mcp pin {server}",
        "en": "The tools or the configuration of {server} cannot be used; see: conclave mcp pin {server}",
    },
}
_ENDS: _Told = {
    "vi": "Máy chủ {server} không chạy ổn định hoặc không liên lạc được.",
    "en": "The server {server} keeps ending or cannot be reached.",
}


class MCPToolAdapter:
    """A tool of an MCP server."""

    def __init__(self, spec: ServerSpec, tool: PinnedTool, connections: Connections, reasoner: Reasoner | None):
        """`reasoner` fills arguments from questions; None = only `invoke` is used."""
        self.name = f"{spec.name}.{tool.name}"
        self.alternative: str | None = spec.alternative.get(tool.name)
        self.description = tool.told
        """What planners read."""
        self.__doc__ = tool.told
        self._spec, self._tool = spec, tool
        self._connections, self._reasoner = connections, reasoner

    @property
    def spec(self) -> ServerSpec:
        """The server it belongs to."""
        return self._spec

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The approved schema of its arguments."""
        return self._tool.input_schema

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Answer every query of the call, side by side. Raises `ToolRetry` and `ToolFailed` as `Tool` does."""
        if not self._spec.is_for(call.principal):
            raise self._failed(_FORBIDDEN, call.language)
        queries = call.queries or ((1, call.refined_query),)
        results = await side_by_side([self._answer(call, index, query) for index, query in queries])
        return results[0] if len(results) == 1 else joined(results)

    async def _answer(self, call: ToolCall, index: int, query: str) -> ToolResult:
        arguments = await self._arguments(call, query)
        owner = self._spec.owner(call.principal)
        reply = await self.invoke(arguments, call.seconds_left, call.language, owner)
        left_out = [f"{self.name}: {kind} was not fetched" for kind in reply.left_out]
        finding = computed(
            call, index, query, reply.text, source_type="mcp", url=self._url(arguments), scope=self._spec.scope,
            context=self.name,
        )  # fmt: skip
        return ToolResult(
            text=reply.text,
            findings=(finding,),
            value=reply.value,
            trace=(f"{self.name}({', '.join(arguments)})", *left_out),
        )

    async def invoke(self, arguments: dict[str, Any], seconds: float, language: Language, owner: str = "") -> Reply:
        """Call the server with checked arguments. Raises `ToolRetry` and `ToolFailed` with a sentence for the asker."""
        try:
            result = await self._connections.call(self._spec.name, self._tool.name, arguments, seconds, owner)
            return await self._read(result, language)
        except (Busy, TimeoutError, Disconnected) as passing:
            raise ToolRetry(self._told(_RETRY, language)) from passing
        except Unusable as unusable:
            raise self._failed(_UNUSABLE.get(unusable.faults.first or Fault.ENDED, _ENDS), language) from unusable
        except MCPError as refusal:
            raise self._failed(_SAID, language, refusal.message) from refusal
        except (WrongSchema, ValidationError, RuntimeError) as wrong:
            raise self._failed(_WRONG_SCHEMA, language) from wrong

    async def _read(self, result: CallToolResult | InputRequiredResult, language: Language) -> Reply:
        if isinstance(result, InputRequiredResult):
            raise self._failed(_ASKED, language)
        if result.is_error:
            raise self._failed(_SAID, language, text_of(result))
        return await asyncio.to_thread(read_reply, result, self._tool.output_schema)

    async def _arguments(self, call: ToolCall, query: str) -> dict[str, Any]:
        """What the question says, by the approved schema; only what fits is sent."""
        schema = self._tool.input_schema
        found = await self._chosen(call, query, schema)
        unfilled = tuple(name for name in schema.get("required", ()) if not found.values.get(name, "").strip())
        if unfilled:
            raise missing(found.missing or unfilled, call.language)
        values: dict[str, Any] = coerced(found.values, schema)
        if _LANGUAGE not in values and call.language in schema.get("properties", {}).get(_LANGUAGE, {}).get("enum", ()):
            values[_LANGUAGE] = call.language
        if _ZONE not in values and _ZONE in schema.get("properties", {}):
            values[_ZONE] = call.time_zone
        try:
            wrong = await asyncio.to_thread(wrong_places, values, schema)
        except (SchemaRefused, TooManySteps) as unknown:
            raise self._failed(_WRONG_SCHEMA, call.language) from unknown
        if wrong:
            raise not_understood(wrong, call.language)
        return values

    async def _chosen(self, call: ToolCall, query: str, schema: Mapping[str, Any]) -> Arguments:
        """What a mind has chosen already, or chooses now."""
        if call.given is not None:
            return Arguments(values=dict(call.given))
        assert self._reasoner is not None
        with outages_as_retry("The reasoner"):
            return await self._reasoner.arguments(self.name, query, call.findings, call.language, schema)

    def _url(self, arguments: Mapping[str, Any]) -> str:
        """``mcp:math/mcp_sum?a=2&b=4``."""
        told = urlencode({name: value for name, value in arguments.items() if name != _LANGUAGE})
        return f"mcp:{self._spec.name}/{self._tool.name}{f'?{told}' if told else ''}"[:_MAX_URL_CHARS]

    def _failed(self, told: _Told, language: Language, reason: str = "") -> ToolFailed:
        return ToolFailed(self._told(told, language, reason))

    def _told(self, told: _Told, language: Language, reason: str = "") -> str:
        cleaned = " ".join(clean(reason).split())[:_MAX_REASON_CHARS]
        return told[language].format(tool=self.name, server=self._spec.name, reason=cleaned)


def adapters(
    spec: ServerSpec, tools: tuple[PinnedTool, ...], connections: Connections, reasoner: Reasoner
) -> dict[str, MCPToolAdapter]:
    """The tools of a server that may be used, by name."""
    allowed = [tool for tool in tools if not spec.tools or tool.name in spec.tools]
    made = [MCPToolAdapter(spec, tool, connections, reasoner) for tool in allowed]
    return {adapter.name: adapter for adapter in made}
