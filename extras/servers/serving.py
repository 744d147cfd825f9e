"""How our servers speak MCP: a table of operations over standard input and output."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from app.domain.record import Record
from app.errors import ToolFailed

A = TypeVar("A", bound=Record)
R = TypeVar("R", bound=Record)
_READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


@dataclass(frozen=True)
class Operation(Generic[A, R]):
    """One tool of a server: what it takes, what it gives, and a pure function in between."""

    name: str
    title: str
    description: str
    arguments: type[A]
    result: type[R]
    run: Callable[[A], R]
    """Raises `ToolFailed` for arguments it can do nothing with; everything else is a bug."""
    tell: Callable[[A, R], str]
    """The result in a sentence."""

    @property
    def tool(self) -> Tool:
        """As it is listed."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_plain(self.arguments.model_json_schema()),
            output_schema=_plain(self.result.model_json_schema(mode="serialization")),
            annotations=_READ_ONLY,
        )

    def answer(self, arguments: Mapping[str, Any]) -> CallToolResult:
        """The result of one call, or the reason why there is none."""
        try:
            given = self.arguments.model_validate(arguments)
            result = self.run(given)
            text = self.tell(given, result)
        except ValidationError as invalid:
            return _refused(f"invalid arguments: {', '.join(_places(invalid))}")
        except ToolFailed as refusal:
            return _refused(str(refusal))
        value = result.model_dump(mode="json", exclude_defaults=True)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


def serve(name: str, operations: Sequence[Operation[Any, Any]]) -> None:
    """Serve `operations` to whoever started this process, until standard input ends."""
    asyncio.run(_serve(server_of(name, operations)))


def server_of(name: str, operations: Sequence[Operation[Any, Any]]) -> "Server[Any]":
    """The server of these operations."""
    by_name = {operation.name: operation for operation in operations}

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[operation.tool for operation in operations])

    async def call_tool(_: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        operation = by_name.get(params.name)
        return operation.answer(params.arguments or {}) if operation else _refused("there is no such tool")

    return Server(f"conclave-{name}", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def _serve(server: "Server[Any]") -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _refused(reason: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=reason)], is_error=True)


def _places(invalid: ValidationError) -> list[str]:
    """``start: Input should be …`` for each wrong argument, without what was sent."""
    errors = invalid.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in errors[:6]]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what only repeats the names: titles of the record and of its fields."""
    return {key: _untitled(value) for key, value in schema.items() if key not in ("title", "description")}


def _untitled(value: Any) -> Any:
    if isinstance(value, list):
        return [_untitled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _untitled(item) for key, item in value.items() if key != "title" or not isinstance(item, str)}
