"""Share the sessions of this process: opened by the first call, one for each owner, closed when nobody needs them."""

import asyncio
from collections.abc import Mapping
from typing import Any

import structlog
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED

from app.tools.mcp.session import Disconnected, Result, Session
from app.tools.mcp.spec import PinnedServer, ServerSpec
from app.tools.mcp.transport import Fault

log = structlog.get_logger(__name__)
_PAUSE_SECONDS = 30.0
"""A server that cannot be used is not asked again before."""
_MAX_ENDS = 2
"""Ends in a row, without a call that succeeded, until it is paused."""
_MAX_OWNERS = 32
"""Connections to one server, where they are not shared by all."""
_PASSING = frozenset({Fault.ENDED, Fault.UNREACHABLE, Fault.SLOW_START, Fault.CLOSED})
"""What another try may mend."""
_SESSION_GONE = "Session terminated"
"""How the protocol's library tells that an HTTP server forgot the session."""


class Connections:
    """Every server of this process. Made without I/O inside a running loop; `aclose` ends all that was started."""

    def __init__(self, servers: Mapping[str, ServerSpec], approved: Mapping[str, PinnedServer]):
        self._servers, self._approved = servers, approved
        self._lines: dict[tuple[str, str], _Line] = {}

    async def call(self, server: str, tool: str, arguments: dict[str, Any], seconds: float, owner: str = "") -> Result:
        """Call one tool of one approved server within `seconds`, waiting, starting and answering together.

        Calls of one `owner` share a connection; owners never do. Raises `TimeoutError` (also where all places are
        taken), `Disconnected`, `MCPError` when the server refuses, `ValidationError` when it answers with something
        else.
        """
        return await self._line(server, owner).call(tool, arguments, seconds)

    async def aclose(self) -> None:
        """Close every connection; no process of any server is left."""
        await asyncio.gather(*(line.aclose() for line in self._lines.values()))

    def _line(self, server: str, owner: str) -> "_Line":
        """The line of an owner, a new one where there is none. Raises `TimeoutError` when too many owners call."""
        if (line := self._lines.get((server, owner))) is not None:
            return line
        of_server = [key for key in self._lines if key[0] == server]
        if len(of_server) >= _MAX_OWNERS:
            unused = next((key for key in of_server if not self._lines[key].is_busy), None)
            if unused is None:
                raise TimeoutError
            self._lines.pop(unused).let_go()
        line = self._lines[server, owner] = _Line(self._servers[server], self._approved[server])
        return line


class _Line:
    """One server as one owner uses it: its places, its session, and what went wrong lately."""

    def __init__(self, spec: ServerSpec, approved: PinnedServer):
        self._spec, self._approved = spec, approved
        self._places = asyncio.Semaphore(spec.limits.max_concurrent)
        self._session: Session | None = None
        self._running = 0
        self._idle: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._ends = 0
        self._last_ended: Session | None = None
        self._paused_until = 0.0
        self._logged: Fault | None = None

    @property
    def is_busy(self) -> bool:
        """Whether calls run or wait."""
        return self._running > 0 or bool(self._closing)

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> Result:
        """Call one tool; see `Connections.call`."""
        limits = self._spec.limits
        self._running += 1
        try:
            async with asyncio.timeout(min(seconds, limits.call_seconds + limits.start_seconds)), self._places:
                return await self._asked(tool, arguments)
        finally:
            self._running -= 1
            self._close_when_idle()

    async def aclose(self) -> None:
        """Close the session and wait until it is."""
        if self._idle is not None:
            self._idle.cancel()
        self.let_go()
        await asyncio.gather(*self._closing)

    def let_go(self) -> None:
        """Close the session, if there is one, without waiting for it."""
        if self._session is None:
            return
        closing = asyncio.get_running_loop().create_task(self._session.aclose())
        self._session = None
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _asked(self, tool: str, arguments: dict[str, Any]) -> Result:
        session = self._opened()
        try:
            await session.opened()
            result = await session.call(tool, arguments)
        except Disconnected as ended:
            raise self._ended(session) from ended
        except MCPError as refusal:
            if refusal.code == CONNECTION_CLOSED or (self._spec.url and refusal.message == _SESSION_GONE):
                self.let_go()
                raise Disconnected(session.faults) from refusal
            raise
        self._ends, self._logged = 0, None
        return result

    def _opened(self) -> "Session":
        """The session, a new one where there is none that can be used. Raises `Disconnected` during a pause."""
        if self._session is not None and self._session.faults.first is not None:
            self.let_go()
        if self._session is None:
            if self._last_ended is not None and asyncio.get_running_loop().time() < self._paused_until:
                raise Disconnected(self._last_ended.faults, may_pass=False)
            self._session = Session(self._spec, self._approved)
        return self._session

    def _ended(self, session: "Session") -> Disconnected:
        """Count the end of a session once, however many calls it broke; log a fault once until a call succeeds."""
        faults = session.faults
        if session is not self._last_ended:
            self._last_ended = session
            self._ends += faults.fault is not Fault.CLOSED
            if self._session is session:
                self.let_go()
            if faults.fault not in (self._logged, Fault.CLOSED):
                self._logged, name = faults.fault, self._spec.name
                log.warning("mcp server cannot be used", tool=name, reason=faults.fault, count=faults.stderr_bytes)
        may_pass = faults.fault in _PASSING and self._ends < _MAX_ENDS
        if not may_pass:
            self._paused_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS
        return Disconnected(faults, may_pass=may_pass)

    def _close_when_idle(self) -> None:
        """Close the session later, if nobody calls until then."""
        if self._idle is not None:
            self._idle.cancel()
        loop = asyncio.get_running_loop()
        self._idle = loop.call_later(self._spec.limits.idle_seconds, lambda: None if self._running else self.let_go())
