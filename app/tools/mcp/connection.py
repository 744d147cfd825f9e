"""One connection to one server: opened in a task of its own, checked against the approved list, closed for certain."""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    ToolListChangedNotification,
)
from mcp.types import Tool as ListedTool
from pydantic import TypeAdapter, ValidationError

from app.text.language import clean
from app.tools.mcp.spec import PinnedServer, ServerRefused, ServerSpec, as_pinned
from app.tools.mcp.transport import Allowance, Fault, Faults, http_streams, stdio_streams

_MAX_PAGES = 50
_CLOSING_SECONDS = 3.0
_SETTLING_SECONDS = 0.2
"""For the end of a session to be noted by whoever holds it."""
_MAX_DETAIL_CHARS = 200
_WHO_WE_ARE = Implementation(name="conclave", version="1")
_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)

for _library in ("mcp", "client", "httpx2"):
    # They log what servers say word for word.
    logging.getLogger(_library).setLevel(logging.CRITICAL + 1)


class Disconnected(Exception):
    """The connection cannot be used, or no longer; `faults` say why."""

    def __init__(self, faults: Faults):
        super().__init__(faults.first or Fault.ENDED)
        self.faults = faults

    @property
    def fault(self) -> Fault:
        """What ended it."""
        return self.faults.first or Fault.ENDED


class Connection:
    """A session with one server, shared by calls side by side.

    Args:
        spec: The server.
        approved: The list it must offer; None = any (for approving it).
    """

    def __init__(self, spec: ServerSpec, approved: PinnedServer | None):
        self._spec, self._approved = spec, approved
        self._allowance = Allowance(
            spec.limits.max_list_bytes + spec.limits.max_result_bytes * spec.limits.max_concurrent
        )
        self._faults = Faults()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(), name=f"mcp {spec.name}")
        self._abandoned: set[asyncio.Task[CallToolResult | InputRequiredResult]] = set()
        self.offered: PinnedServer | None = None
        """The list it told, once it is open."""
        self._is_stale = False
        """It said that its tools changed."""
        self._checking = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether calls may be made, or may soon."""
        return self._faults.first is None

    @property
    def faults(self) -> Faults:
        """What is known of its end."""
        return self._faults

    async def opened(self) -> None:
        """Wait until it is open and its tools are checked, again when it said that they changed.

        Raises `Disconnected`.
        """
        client = await self._client()
        if not self._is_stale:
            return
        async with self._checking:
            if self._is_stale and self.is_open:
                self._is_stale = False
                await self._check_again(client)

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> CallToolResult | InputRequiredResult:
        """Call one tool.

        Raises `Disconnected`, `TimeoutError` after `seconds` (the server is told to stop), `MCPError` when the server
        refuses, and `ValidationError` when it answers with something else.
        """
        client = await self._client()
        self._allowance.grant(self._spec.limits.max_result_bytes)
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
        asked = asyncio.create_task(client.session.send_request(request, _RESULT))
        try:
            done, _ = await asyncio.wait({asked}, timeout=seconds)
            if not done:
                raise TimeoutError
            return asked.result()
        except (MCPError, RuntimeError) as error:
            if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
                await asyncio.wait({self._owner}, timeout=_SETTLING_SECONDS)
            if not self.is_open:
                raise Disconnected(self._faults) from error
            raise
        finally:
            self._abandon(asked)

    def _abandon(self, asked: "asyncio.Task[CallToolResult | InputRequiredResult]") -> None:
        """Have the server told that nobody waits any more, without waiting until it listens."""
        if not asked.done():
            asked.cancel()
            self._abandoned.add(asked)
            asked.add_done_callback(self._forget)

    def _forget(self, asked: "asyncio.Task[CallToolResult | InputRequiredResult]") -> None:
        self._abandoned.discard(asked)
        if not asked.cancelled():
            asked.exception()

    async def aclose(self) -> None:
        """Close it; its process has ended afterwards."""
        self._faults.note(Fault.CLOSED)
        done, _ = await asyncio.wait({self._owner}, timeout=_CLOSING_SECONDS)
        if not done:
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=_CLOSING_SECONDS)

    async def _client(self) -> Client:
        """The session, once it is checked."""
        try:
            return await asyncio.shield(self._ready)
        except asyncio.CancelledError:
            if self._ready.cancelled():
                raise Disconnected(self._faults) from None
            raise

    async def _own(self) -> None:
        """Open, check, hold and close the session; every way it ends is noted, none is raised."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._spec.limits.start_seconds):
                    client = await stack.enter_async_context(self._new_client())
                    self.offered = await self._listed(client)
                self._check(self.offered)
                self._ready.set_result(client)
                await self._faults.noted.wait()
        except Exception as error:
            self._faults.note(*_fault_of(error))
        finally:
            self._faults.note(Fault.ENDED)
            self._settle()

    def _settle(self) -> None:
        if not self._ready.done():
            self._ready.set_exception(Disconnected(self._faults))
            self._ready.exception()  # nobody may be waiting

    def _new_client(self) -> Client:
        limits = self._spec.limits
        self._allowance.grant(limits.max_list_bytes)
        streams = http_streams if self._spec.url else stdio_streams
        return Client(
            streams(self._spec, self._allowance, self._faults),
            client_info=_WHO_WE_ARE,
            message_handler=self._heard,
            cache=None,
        )

    async def _listed(self, client: Client) -> PinnedServer:
        """The whole list. Raises `ServerRefused` when there is too much of it."""
        tools: list[ListedTool] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            tools += page.tools
            if len(tools) > self._spec.limits.max_tools:
                raise ServerRefused(f"it offers more than {self._spec.limits.max_tools} tools")
            if (cursor := page.next_cursor) is None:
                return as_pinned(tools)
        raise ServerRefused(f"its tool list has more than {_MAX_PAGES} pages")

    async def _check_again(self, client: Client) -> None:
        """Ask for the list once more; a connection whose tools are others now is over."""
        self._allowance.grant(self._spec.limits.max_list_bytes)
        try:
            async with asyncio.timeout(self._spec.limits.start_seconds):
                self._check(await self._listed(client))
        except Exception as error:
            self._faults.note(*_fault_of(error))
            raise Disconnected(self._faults) from error

    def _check(self, offered: PinnedServer) -> None:
        if self._approved is not None and offered.sha256 != self._approved.sha256:
            self._faults.note(Fault.CHANGED)
            raise Disconnected(self._faults)

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._is_stale = True


def _fault_of(error: BaseException) -> tuple[Fault, str]:
    """What an exception of opening or holding a session means."""
    leaf = error
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    detail = clean(str(leaf))[:_MAX_DETAIL_CHARS]
    match leaf:
        case Disconnected():
            return leaf.fault, detail
        case TimeoutError():
            return Fault.SLOW_START, detail
        case ServerRefused():
            return Fault.UNUSABLE_LIST, detail
        case httpx2.TransportError() | OSError():
            return Fault.UNREACHABLE, detail
        case MCPError() | ValidationError() | RuntimeError():
            return Fault.NOT_MCP, detail
        case _:
            return Fault.ENDED, type(leaf).__name__
