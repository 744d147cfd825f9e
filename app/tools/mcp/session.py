"""Hold one session with one server in a task of its own; its list is the approved one, its end is certain."""

import asyncio
import logging
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
_WHO_WE_ARE = Implementation(name="conclave", version="1")
Result = CallToolResult | InputRequiredResult
_RESULT: TypeAdapter[Result] = TypeAdapter(Result)

for _library in ("mcp", "client", "httpx2"):
    # They log what servers say word for word.
    logging.getLogger(_library).setLevel(logging.CRITICAL + 1)


class Disconnected(Exception):
    """The connection cannot be used, or no longer; `faults` say why, `may_pass` whether another try may help."""

    def __init__(self, faults: Faults, *, may_pass: bool = True):
        super().__init__(faults.fault)
        self.faults = faults
        self.may_pass = may_pass


class Session:
    """A session with one server, held by a task of its own and shared by calls side by side.

    Args:
        spec: The server.
        approved: The list it must offer; None = any (for approving it).
    """

    def __init__(self, spec: ServerSpec, approved: PinnedServer | None):
        self._spec, self._approved = spec, approved
        most = spec.limits.max_list_bytes + spec.limits.max_result_bytes * spec.limits.max_concurrent
        self._allowance = Allowance(most)
        self._allowance.grant(spec.limits.max_list_bytes)
        self.faults = Faults()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(), name=f"mcp {spec.name}")
        self._abandoned: set[asyncio.Task[Result]] = set()
        self.offered: PinnedServer | None = None
        """The list it told, once it is open."""
        self._is_stale = False
        """It said that its tools changed."""
        self._checking = asyncio.Lock()

    async def opened(self) -> Client:
        """Wait until it is open and its tools are checked, again when it said that they changed.

        Raises `Disconnected`.
        """
        client = await asyncio.shield(self._ready)
        async with self._checking:
            if self._is_stale and self.faults.first is None:
                self._is_stale = False
                self._allowance.grant(self._spec.limits.max_list_bytes)
                try:
                    async with asyncio.timeout(self._spec.limits.start_seconds):
                        await self._list(client)
                except Exception as error:
                    self.faults.note(*_fault_of(error))
                    raise Disconnected(self.faults) from error
        return client

    async def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        """Call one tool; when time is up or the call is cancelled, the server is told. Raises as `Connections.call`."""
        client = await asyncio.shield(self._ready)
        self._allowance.grant(self._spec.limits.max_result_bytes)
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
        asked = asyncio.create_task(client.session.send_request(request, _RESULT))
        try:
            async with asyncio.timeout(self._spec.limits.call_seconds):
                await asyncio.wait({asked})
            return asked.result()
        except (MCPError, RuntimeError) as error:
            if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
                await asyncio.wait({self._owner}, timeout=_SETTLING_SECONDS)
            if self.faults.first is not None:
                raise Disconnected(self.faults) from error
            raise
        finally:
            if not asked.done():  # it tells the server so, and nobody waits until that listens
                asked.cancel()
                self._abandoned.add(asked)
                asked.add_done_callback(self._forget)

    def _forget(self, asked: "asyncio.Task[Result]") -> None:
        self._abandoned.discard(asked)
        if not asked.cancelled():
            asked.exception()

    async def aclose(self) -> None:
        """Close it; its process has ended afterwards."""
        self.faults.note(Fault.CLOSED)
        done, _ = await asyncio.wait({self._owner}, timeout=_CLOSING_SECONDS)
        if not done:
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=_CLOSING_SECONDS)

    async def _own(self) -> None:
        """Open, check, hold and close the session; every way it ends is noted, none is raised."""
        streams = http_streams if self._spec.url else stdio_streams
        opening = asyncio.timeout(self._spec.limits.start_seconds)
        try:
            async with (
                opening,
                Client(
                    streams(self._spec, self._allowance, self.faults),
                    client_info=_WHO_WE_ARE,
                    message_handler=self._heard,
                    cache=None,
                ) as client,
            ):
                self.offered = await self._list(client)
                opening.reschedule(None)
                self._ready.set_result(client)
                await self.faults.noted.wait()
        except Exception as error:
            self.faults.note(*_fault_of(error))
        finally:
            self.faults.note(Fault.ENDED)
            if not self._ready.done():
                self._ready.set_exception(Disconnected(self.faults))
                self._ready.exception()  # nobody may be waiting

    async def _list(self, client: Client) -> PinnedServer:
        """The whole list. Raises `ServerRefused` when it is too long, `Disconnected` when it is not the approved."""
        tools: list[ListedTool] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            tools += page.tools
            if len(tools) > self._spec.limits.max_tools:
                raise ServerRefused(f"it offers more than {self._spec.limits.max_tools} tools")
            if (cursor := page.next_cursor) is None:
                break
        else:
            raise ServerRefused(f"its tool list has more than {_MAX_PAGES} pages")
        offered = as_pinned(tools)
        if self._approved is not None and offered.sha256 != self._approved.sha256:
            self.faults.note(Fault.CHANGED)
            raise Disconnected(self.faults)
        return offered

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._is_stale = True


def _fault_of(error: BaseException) -> tuple[Fault, str]:
    """What an exception of opening or holding a session means, with a detail for operators."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    detail = clean(str(error))[:200]
    match error:
        case Disconnected():
            return error.faults.fault, detail
        case TimeoutError():
            return Fault.SLOW_START, detail
        case ServerRefused():
            return Fault.UNUSABLE_LIST, detail
        case httpx2.TransportError() | OSError():
            return Fault.UNREACHABLE, detail
        case MCPError() | ValidationError() | RuntimeError():
            return Fault.NOT_MCP, detail
        case _:
            return Fault.ENDED, type(error).__name__


async def offered_by(spec: ServerSpec) -> PinnedServer:
    """What a server offers now, approved or not; the connection is closed again.

    Raises `ServerRefused` with what the server said last, for the administrator.
    """
    session = Session(spec, None)
    try:
        await session.opened()
    except Disconnected as ended:
        faults = ended.faults
        told = "; ".join(filter(None, (faults.fault, faults.detail, faults.last_words[-500:])))
        raise ServerRefused(f"MCP server '{spec.name}' cannot be used: {told}") from ended
    finally:
        await session.aclose()
    assert session.offered is not None
    return session.offered
