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
from mcp.types import INVALID_PARAMS, CallToolResult, InputRequiredResult
from pydantic import JsonValue, ValidationError

from app.domain.knowledge import Language
from app.errors import ToolFailed, ToolRetry
from app.reasoning import Reasoner
from app.text.language import clean
from app.tools.base import ToolCall, ToolResult, computed, sentence
from app.tools.mcp.connections import Connections
from app.tools.mcp.result import Reply, SchemaRefused, read_reply, text_of, wrong_places
from app.tools.mcp.session import Disconnected
from app.tools.mcp.spec import PinnedTool, ServerSpec
from app.tools.mcp.transport import Fault
from app.tools.typed import ArgumentsRefused, ArgumentTool, not_understood

_MAX_REASON_CHARS = 300
_MAX_URL_CHARS = 400
_LANGUAGE, _ZONE = "language", "zone"
"""Properties of these names are filled with the asker's language and time zone, where the tool offers them."""
_SENTENCES: dict[Fault, str] = {
    fault: fault.value for fault in (Fault.CHANGED, Fault.TOO_MUCH, Fault.NOT_MCP, Fault.UNUSABLE_LIST)
}
"""What is said of a server that cannot be used; of all other faults, that it ended."""


class MCPToolAdapter(ArgumentTool[dict[str, Any]]):
    """A tool of an MCP server."""

    def __init__(self, spec: ServerSpec, tool: PinnedTool, connections: Connections, reasoner: Reasoner):
        super().__init__(reasoner)
        self.name = f"{spec.name}.{tool.name}"
        self._spec, self._tool = spec, tool
        self._connections = connections

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The approved schema of its arguments."""
        return self._tool.input_schema

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Answer every query, for who may use the server. Raises `ToolRetry` and `ToolFailed` as `Tool` does."""
        if not self._spec.is_for(call.principal):
            raise self._failed("forbidden", call.language)
        return await super().__call__(call)

    async def run(self, call: ToolCall, index: int, query: str, arguments: dict[str, Any]) -> ToolResult:
        """Have the server answer one query."""
        reply = await self.invoke(arguments, call.seconds_left, call.language, self._spec.owner(call.principal))
        left_out = [f"{self.name}: {kind} was not fetched" for kind in reply.left_out]
        finding = computed(
            call, index, query, reply.text, source_type="mcp", url=self._url(arguments), scope=self._spec.scope,
            context=self.name,
        )  # fmt: skip
        trace = (f"{self.name}({', '.join(arguments)})", *left_out)
        return ToolResult(text=reply.text, findings=(finding,), value=reply.value, trace=trace)

    async def invoke(self, arguments: dict[str, Any], seconds: float, language: Language, owner: str = "") -> Reply:
        """Call the server with checked arguments. Raises `ToolRetry` and `ToolFailed` with a sentence for the asker."""
        try:
            result = await self._connections.call(self._spec.name, self._tool.name, arguments, seconds, owner)
            return await self._read(result, language)
        except TimeoutError as late:
            raise ToolRetry(self._sentence("no_answer", language)) from late
        except Disconnected as ended:
            if ended.may_pass:
                raise ToolRetry(self._sentence("no_answer", language)) from ended
            raise self._failed(_SENTENCES.get(ended.faults.fault, "ended"), language) from ended
        except MCPError as refusal:
            kind = ArgumentsRefused if refusal.code == INVALID_PARAMS else ToolFailed
            raise self._failed("refused", language, refusal.message, kind) from refusal
        except (SchemaRefused, ValidationError, RuntimeError) as wrong:
            raise self._failed("wrong_schema", language) from wrong

    async def _read(self, result: CallToolResult | InputRequiredResult, language: Language) -> Reply:
        if isinstance(result, InputRequiredResult):
            raise self._failed("asked_for_more", language)
        if result.is_error:
            raise self._failed("refused", language, text_of(result), ArgumentsRefused)
        return await asyncio.to_thread(read_reply, result, self._tool.output_schema)

    async def check(self, values: dict[str, JsonValue], call: ToolCall) -> dict[str, Any]:
        """The values with language and zone, where the approved schema has them; only what fits is sent."""
        schema = self._tool.input_schema
        if _LANGUAGE not in values and call.language in schema.get("properties", {}).get(_LANGUAGE, {}).get("enum", ()):
            values[_LANGUAGE] = call.language
        if _ZONE not in values and _ZONE in schema.get("properties", {}):
            values[_ZONE] = call.time_zone
        try:
            wrong = await asyncio.to_thread(wrong_places, values, schema)
        except SchemaRefused as unknown:
            raise self._failed("wrong_schema", call.language) from unknown
        if wrong:
            raise not_understood(wrong, call.language)
        return values

    def _url(self, arguments: Mapping[str, Any]) -> str:
        """``mcp:math/mcp_sum?a=2&b=4``."""
        told = urlencode({name: value for name, value in arguments.items() if name != _LANGUAGE})
        return f"mcp:{self._spec.name}/{self._tool.name}{f'?{told}' if told else ''}"[:_MAX_URL_CHARS]

    def _failed(
        self, name: str, language: Language, reason: str = "", kind: type[ToolFailed] = ToolFailed
    ) -> ToolFailed:  # fmt: skip
        return kind(self._sentence(name, language, reason))

    def _sentence(self, name: str, language: Language, reason: str = "") -> str:
        cleaned = " ".join(clean(reason).split())[:_MAX_REASON_CHARS]
        return sentence("mcp", name, language, tool=self.name, server=self._spec.name, reason=cleaned)
