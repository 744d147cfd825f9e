"""The connections of this process: made by the first call, shared, closed when nobody needs them."""

import asyncio
from collections.abc import Mapping
from typing import Any

import structlog
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult, InputRequiredResult

from app.tools.mcp.connection import Connection, Disconnected
from app.tools.mcp.spec import PinnedServer, ServerRefused, ServerSpec
from app.tools.mcp.transport import Fault, Faults

log = structlog.get_logger(__name__)
_PAUSE_SECONDS = 30.0
"""A server that cannot be used is not asked again before."""
_MAX_OWNERS = 32
"""Connections to one server, where they are not shared by all."""
_MAX_ENDS = 2
"""Ends in a row, without a call that succeeded, until it is paused."""
_PASSING = frozenset({Fault.ENDED, Fault.UNREACHABLE, Fault.SLOW_START, Fault.CLOSED})
"""What another try may mend."""
_SESSION_GONE = "Session terminated"
"""How the protocol's library tells that an HTTP server forgot the session."""


class Busy(Exception):
    """All places of a server are taken until the call's time is over."""


class Unusable(Exception):
    """A server that is not asked again for a while; `faults` say why."""

    def __init__(self, faults: Faults):
        super().__init__(faults.first)
        self.faults = faults


class Connections:
    """Every server of this process. Made without I/O inside a running loop; `aclose` ends all that was started."""

    def __init__(self, servers: Mapping[str, ServerSpec], approved: Mapping[str, PinnedServer]):
        self._servers, self._approved = servers, approved
        self._lines: dict[tuple[str, str], _Line] = {}

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], seconds: float, owner: str = ""
    ) -> CallToolResult | InputRequiredResult:
        """Call one tool of one approved server within `seconds`, waiting, starting and answering together.

        Calls of one `owner` share a connection; owners never do.

        Raises `Busy`, `TimeoutError`, `Disconnected` (another try may help), `Unusable` (it does not), `MCPError` when
        the server refuses, and pydantic's `ValidationError` when it answers with something else.
        """
        return await self._line(server, owner).call(tool, arguments, seconds)

    async def aclose(self) -> None:
        """Close every connection; no process of any server is left."""
        await asyncio.gather(*(line.aclose() for line in self._lines.values()))

    def _line(self, server: str, owner: str) -> "_Line":
        """The line of an owner, a new one where there is none. Raises `Busy` when too many owners call at once."""
        if (line := self._lines.get((server, owner))) is not None:
            return line
        of_server = [key for key in self._lines if key[0] == server]
        if len(of_server) >= _MAX_OWNERS:
            unused = next((key for key in of_server if not self._lines[key].is_busy), None)
            if unused is None:
                raise Busy
            self._lines.pop(unused).let_go()
        line = self._lines[server, owner] = _Line(self._servers[server], self._approved[server])
        return line


class _Line:
    """One server: its places, its connection, and what went wrong lately."""

    def __init__(self, spec: ServerSpec, approved: PinnedServer):
        self._spec, self._approved = spec, approved
        self._places = asyncio.Semaphore(spec.limits.max_concurrent)
        self._connection: Connection | None = None
        self._running = 0
        self._idle: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._ends = 0
        self._last_ended: Connection | None = None
        self._paused_until = 0.0
        self._logged: Fault | None = None

    @property
    def is_busy(self) -> bool:
        """Whether calls run or wait."""
        return self._running > 0 or bool(self._closing)

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> CallToolResult | InputRequiredResult:
        """Call one tool; see `Connections.call`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + min(seconds, self._spec.limits.call_seconds + self._spec.limits.start_seconds)
        self._running += 1
        try:
            await self._take_place(until - loop.time())
            try:
                return await self._asked(tool, arguments, until)
            finally:
                self._places.release()
        finally:
            self._running -= 1
            self._rest()

    async def aclose(self) -> None:
        """Close the connection and wait until it is."""
        if self._idle is not None:
            self._idle.cancel()
        self.let_go()
        await asyncio.gather(*self._closing)

    async def _take_place(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise Busy from None

    async def _asked(self, tool: str, arguments: dict[str, Any], until: float) -> CallToolResult | InputRequiredResult:
        loop = asyncio.get_running_loop()
        connection = self._connected()
        try:
            async with asyncio.timeout_at(until):
                await connection.opened()
            seconds = min(until - loop.time(), self._spec.limits.call_seconds)
            result = await connection.call(tool, arguments, seconds)
        except Disconnected as ended:
            raise self._ended(connection, ended.faults) from ended
        except MCPError as refusal:
            if refusal.code == CONNECTION_CLOSED or (self._spec.url and refusal.message == _SESSION_GONE):
                self.let_go()
                raise Disconnected(connection.faults) from refusal
            raise
        self._ends, self._logged = 0, None
        return result

    def _connected(self) -> Connection:
        """The connection, a new one where there is none that can be used. Raises `Unusable` during a pause."""
        if self._connection is not None and not self._connection.is_open:
            self.let_go()
        if self._connection is None:
            if self._last_ended is not None and asyncio.get_running_loop().time() < self._paused_until:
                raise Unusable(self._last_ended.faults)
            self._connection = Connection(self._spec, self._approved)
        return self._connection

    def _ended(self, connection: Connection, faults: Faults) -> Exception:
        """Count the end of a connection once, however many calls it broke; the exception they get."""
        fault = faults.first or Fault.ENDED
        if connection is not self._last_ended:
            self._last_ended = connection
            self._ends += fault is not Fault.CLOSED
            if self._connection is connection:
                self.let_go()
            self._log_once(fault, faults)
        is_passing = fault in _PASSING and self._ends < _MAX_ENDS
        if not is_passing:
            self._paused_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS
        return Disconnected(faults) if is_passing else Unusable(faults)

    def _log_once(self, fault: Fault, faults: Faults) -> None:
        """Log it, the same only once until a call succeeds."""
        if fault not in (self._logged, Fault.CLOSED):
            self._logged = fault
            log.warning(
                "mcp server cannot be used", tool=self._spec.name, reason=fault.value, count=faults.stderr_bytes
            )

    def _rest(self) -> None:
        """Close the connection later, if nobody calls until then."""
        if self._idle is not None:
            self._idle.cancel()
        loop = asyncio.get_running_loop()
        self._idle = loop.call_later(self._spec.limits.idle_seconds, self._close_idle)

    def _close_idle(self) -> None:
        if not self._running:
            self.let_go()

    def let_go(self) -> None:
        """Close the connection, if there is one, without waiting for it."""
        if self._connection is None:
            return
        closing = asyncio.get_running_loop().create_task(self._connection.aclose())
        self._connection = None
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


async def offered_by(spec: ServerSpec) -> PinnedServer:
    """What a server offers now, approved or not; the connection is closed again.

    Raises `ServerRefused` with what the server said last, for the administrator.
    """
    connection = Connection(spec, None)
    try:
        await connection.opened()
    except Disconnected as ended:
        faults = ended.faults
        told = "; ".join(filter(None, (faults.detail, faults.last_words[-500:])))
        raise ServerRefused(
            f"MCP server '{spec.name}' cannot be used ({ended.fault}){f': {told}' if told else ''}"
        ) from ended
    finally:
        await connection.aclose()
    assert connection.offered is not None
    return connection.offered
