"""The server: one process with the test, one port of the loopback interface, every call on record."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from http.client import parse_headers
from io import BytesIO
from socket import AF_INET, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket

from tests.fakes.model_server.asked import Asked
from tests.fakes.model_server.faults import Fault
from tests.fakes.model_server.plain import plain
from tests.fakes.model_server.refusing import ELSEWHERE, error_body
from tests.fakes.model_server.reply import Reply
from tests.fakes.model_server.script import script, touches
from tests.fakes.model_server.steps import Line, Step, whole

Mind = Callable[[Asked], Reply]
"""What answers a call. It is asked at once, before any wait of its reply."""


@dataclass(eq=False)
class OpenCall:
    """A call being answered."""

    asked: Asked
    reply: Reply
    line: Line


@dataclass(frozen=True)
class ClosedEarly:
    """A call whose client went away before the answer was whole."""

    asked: Asked
    at: float
    """`time.monotonic()` when it was noticed."""
    sent_bytes: int

    @property
    def after_seconds(self) -> float:
        """How long the client had stayed."""
        return self.at - self.asked.arrived_at


@dataclass(eq=False)
class _Plan:
    fault: Fault
    seconds: float | None
    times: int | None
    after: int
    when: Callable[[Asked], bool] | None

    def strikes(self, asked: Asked) -> bool:
        """Whether this call is hit; counts it."""
        if not touches(self.fault, asked) or (self.when and not self.when(asked)):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


class _Connection(asyncio.StreamReaderProtocol):
    """A connection that says at once when its client has gone."""

    def __init__(self, reader: asyncio.StreamReader, serve: Callable[["_Connection"], None]):
        super().__init__(reader)
        self.reader = reader
        self.gone = asyncio.Event()
        self._serve = serve

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        self.writer = asyncio.StreamWriter(transport, self, self.reader, asyncio.get_running_loop())
        self._serve(self)

    def eof_received(self) -> bool:
        self.gone.set()
        return bool(super().eof_received())

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


class ModelServer:
    """Answers ``POST /v1/chat/completions`` and ``GET /v1/models`` as its mind says and its planned faults allow."""

    def __init__(self, respond: Mind, model: str):
        self.respond = respond
        """May be exchanged between calls."""
        self.model = model
        self.requests: list[Asked] = []
        """Every completion call in order of arrival, those that failed included."""
        self.strayed: list[Asked] = []
        """Calls that followed a redirect away from here."""
        self.open_calls: list[OpenCall] = []
        self.closed_early: list[ClosedEarly] = []
        self.base_url = ""
        self._plans: list[_Plan] = []
        self._address = ("127.0.0.1", 0)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: set[_Connection] = set()
        self._changed = asyncio.Event()

    # -- what tests say

    def fail(
        self,
        fault: Fault,
        *,
        times: int | None = None,
        after: int = 0,
        when: Callable[[Asked], bool] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Answer calls with `fault`: those for which `when` holds, `after` that many answered well, at most `times`.

        Only calls the fault can touch are counted. Of several planned faults the first that strikes is played.
        ``CONNECTION_REFUSED`` without `when` and `after` begins at once, else with the call it strikes, which is
        reset; it lasts until `mend`.
        """
        if fault is Fault.CONNECTION_REFUSED and when is None and after == 0:
            self.stop_listening()
        else:
            self._plans.append(_Plan(fault, seconds, times, after, when))

    async def mend(self) -> None:
        """Forget planned faults, and listen again."""
        self._plans.clear()
        await self.listen()

    def forget(self) -> None:
        """Forget recorded calls."""
        self.requests.clear()
        self.strayed.clear()
        self.closed_early.clear()

    async def settled(self, timeout_seconds: float = 5.0) -> None:
        """Return when no call is being answered; TimeoutError if that takes longer."""
        async with asyncio.timeout(timeout_seconds):
            while self.open_calls:
                self._changed.clear()
                await self._changed.wait()

    # -- listening

    async def listen(self) -> None:
        """Listen, on the same port as before."""
        if self._server is not None:
            return
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(asyncio.StreamReader(limit=1 << 20), self._welcome),
            *self._address,
            reuse_address=True,
        )
        self._address = self._server.sockets[0].getsockname()
        self.base_url = f"http://{self._address[0]}:{self._address[1]}/v1"

    def stop_listening(self) -> None:
        """Refuse new connections and drop those on which nothing is being answered."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in self._idle:
            connection.writer.close()

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        self.stop_listening()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- answering

    def _welcome(self, connection: _Connection) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: _Connection) -> None:
        try:
            while self._server is not None and not connection.writer.is_closing():
                self._idle.add(connection)
                asked = await _read(connection.reader)
                self._idle.discard(connection)
                if asked is None or not await self._answer(asked, connection):
                    break
        finally:
            self._idle.discard(connection)
            connection.writer.close()
            with suppress(ConnectionError):
                await connection.writer.wait_closed()

    async def _answer(self, asked: Asked, connection: _Connection) -> bool:
        """Answer one call; False when the client has gone."""
        line = Line(connection.writer)
        reply, steps = self._decided(asked)
        call = OpenCall(asked, reply, line)
        self.open_calls.append(call)
        playing = asyncio.create_task(line.play(steps))
        leaving = asyncio.create_task(connection.gone.wait())
        try:
            await asyncio.wait((playing, leaving), return_when=asyncio.FIRST_COMPLETED)
            stayed = playing.done() and not isinstance(playing.exception(), ConnectionError)
            if not stayed:
                self.closed_early.append(ClosedEarly(asked, time.monotonic(), line.sent_bytes))
                line.close(reset=True)
            elif failure := playing.exception():
                raise failure
            return stayed
        finally:
            playing.cancel()
            leaving.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)
            self.open_calls.remove(call)
            self._changed.set()

    def _decided(self, asked: Asked) -> tuple[Reply, list[Step]]:
        if asked.path == "/v1/models":
            listed = {
                "object": "list",
                "data": [{"id": self.model, "object": "model", "created": 0, "owned_by": "test"}],
            }
            return Reply(), whole(200, {}, json.dumps(listed).encode())
        if asked.path == ELSEWHERE:
            self.strayed.append(asked)
            return Reply(), whole(418, {}, error_body("this is elsewhere"))
        if asked.path != "/v1/chat/completions" or "messages" not in asked.body:
            return Reply(), whole(404, {}, error_body("no such path, or no messages", "invalid_request_error"))
        self.requests.append(asked)
        reply = self._failing(asked, self.respond(asked))
        return reply, script(asked, reply)

    def _failing(self, asked: Asked, reply: Reply) -> Reply:
        plan = next((plan for plan in self._plans if plan.strikes(asked)), None)
        if plan is None:
            return reply
        if plan.fault is Fault.CONNECTION_REFUSED:
            self.stop_listening()
        return replace(reply, fault=plan.fault, fault_seconds=plan.seconds)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    """The next call of a connection; None when there is none to come."""
    try:
        opening = await reader.readuntil(b"\r\n\r\n")
        request_line, rest = opening.split(b"\r\n", 1)
        headers = {name.lower(): value for name, value in parse_headers(BytesIO(rest)).items()}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Asked(json.loads(data or b"{}"), headers, time.monotonic(), request_line.split()[1].decode())


@asynccontextmanager
async def scripted_model_server(respond: Mind = plain, *, model: str = "scripted-1") -> AsyncIterator[ModelServer]:
    """A listening server, gone at the end with all its connections."""
    server = ModelServer(respond, model)
    await server.listen()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def nobody_listening() -> AsyncIterator[str]:
    """The base URL of a port that refuses every connection for as long as this lasts."""
    with socket(AF_INET, SOCK_STREAM) as held:
        held.setsockopt(SOL_SOCKET, SO_REUSEADDR, 0)
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"
