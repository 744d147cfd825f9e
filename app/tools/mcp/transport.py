"""Speak to a server, counting its bytes: over HTTP, or to a process with its own environment and a certain end."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from enum import StrEnum
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import count
from pathlib import Path

import anyio
import httpx2
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from app.text.language import clean
from app.tools.mcp.spec import ServerSpec


class Fault(StrEnum):
    """What a server did, or what was done to it."""

    ENDED = "ended"
    """The process is gone, or the connection."""
    UNREACHABLE = "unreachable"
    TOO_MUCH = "too_much"
    NOT_MCP = "not_mcp"
    SLOW_START = "slow_start"
    CHANGED = "changed"
    """Its tool list is not the approved one."""
    UNUSABLE_LIST = "unusable_list"
    """Too many tools, a name twice, a page without end."""
    CLOSED = "closed"
    """By us: idle, or the service stops."""


class Faults:
    """What is known of the end of one connection."""

    def __init__(self) -> None:
        self.first: Fault | None = None
        self.noted = asyncio.Event()
        self.detail = ""
        """For operators; may quote the server, cleaned and cut."""
        self.last_words = ""
        """The end of what its process wrote to standard error, cleaned; for operators."""
        self.stderr_bytes = 0

    @property
    def fault(self) -> Fault:
        """What ended it."""
        return self.first or Fault.ENDED

    def note(self, fault: Fault, detail: str = "") -> None:
        """Keep the first fault; those that follow come from it."""
        if self.first is None:
            self.first, self.detail = fault, detail
            self.noted.set()


class TooMuch(Exception):
    """A server sent more than it was asked for."""


class Allowance:
    """An account of bytes; what is not used is not saved up beyond `most`."""

    def __init__(self, most: int):
        self._most = most
        self._left = 0

    def grant(self, size: int) -> None:
        """Let the server send `size` bytes more."""
        self._left = min(self._left + size, self._most)

    def take(self, size: int) -> None:
        """Count bytes that arrived. Raises `TooMuch` when they were not granted."""
        self._left -= size
        if self._left < 0:
            raise TooMuch


_CONNECT_SECONDS = 5.0
_MAX_LISTENING = 2
"""Times the server may keep a line open to speak unasked; then it is heard only when it is asked."""


class _Counted(httpx2.AsyncByteStream):
    """A body that is counted while it is read."""

    def __init__(self, body: httpx2.AsyncByteStream, allowance: Allowance, faults: Faults):
        self._body, self._allowance, self._faults = body, allowance, faults

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            try:
                self._allowance.take(len(chunk))
            except TooMuch as overrun:
                self._faults.note(Fault.TOO_MUCH)
                raise httpx2.ReadError("the server sent too much") from overrun
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


@asynccontextmanager
async def http_streams(spec: ServerSpec, allowance: Allowance, faults: Faults) -> AsyncIterator[TransportStreams]:
    """Speak to the server's endpoint until the block is left. Raises `ServerRefused` for a variable that is not set."""
    endpoint, listened = httpx2.URL(spec.url), count(1)

    async def asked(request: httpx2.Request) -> None:
        """Refuse every address but the one that was configured, and listening again and again."""
        if request.url != endpoint or (request.method == "GET" and next(listened) > _MAX_LISTENING):
            raise httpx2.UnsupportedProtocol("only the configured address is spoken to", request=request)

    async def answered(response: httpx2.Response) -> None:
        """Count the body; refuse one in an encoding that could unfold."""
        if response.headers.get("content-encoding", "identity") != "identity":
            faults.note(Fault.NOT_MCP)
            raise httpx2.ReadError("the server compresses though it was asked not to", request=response.request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, allowance, faults)

    async with (
        httpx2.AsyncClient(
            headers={"accept-encoding": "identity", "user-agent": "conclave"} | spec.sent_headers(),
            timeout=httpx2.Timeout(spec.limits.call_seconds, connect=_CONNECT_SECONDS),
            follow_redirects=False,
            max_redirects=0,
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"request": [asked], "response": [answered]},
        ) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=spec.limits.max_list_bytes) as streams,
    ):
        yield streams


_LAUNCHER = Path(__file__).with_name("launch.py")
_MAX_NOISE_LINES, _MAX_NOISE_BYTES = 20, 1000
"""Lines that are no messages, of a server that greets its terminal, and the length of each; more is no protocol."""
_LAST_WORDS_BYTES = 4096
_GRACE_SECONDS = 0.5
"""For a server to end by itself when its input does, and again when it is told to."""
_POLL_SECONDS = 0.01
_WAITING = 64
"""Messages kept for a server that does not read, so that nobody waits to tell it that a call is over."""


@asynccontextmanager
async def stdio_streams(spec: ServerSpec, allowance: Allowance, faults: Faults) -> AsyncIterator[TransportStreams]:
    """Start the server's process and speak to it until the block is left; then no process of it is left either.

    Raises `ServerRefused` for a variable that is not set and `OSError` when nothing can be started.
    """
    command, environment = spec.process()
    launched = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command]
    process = await anyio.open_process(launched, env=environment, start_new_session=True)
    try:
        async with AsyncExitStack() as stack:
            incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            written, outgoing = anyio.create_memory_object_stream[SessionMessage](_WAITING)
            for stream in (incoming, read, written, outgoing):
                stack.callback(stream.close)
            pumps = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(pumps.cancel_scope.cancel)
            pumps.start_soon(_receive, process, incoming, allowance, faults)
            pumps.start_soon(_send, process, outgoing)
            pumps.start_soon(_listen, process, faults)
            yield read, written
    finally:
        await _end(process)


async def _receive(
    process: Process, incoming: MemoryObjectSendStream[SessionMessage | Exception], allowance: Allowance, faults: Faults
) -> None:
    """Turn lines into messages until the process ends or breaks the rules; closing the stream tells the session."""
    noise = 0
    with incoming, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        try:
            async for line in _lines(process, allowance):
                message = _message(line)
                if message is not None:
                    await incoming.send(message)
                    continue
                noise += 1
                if noise > _MAX_NOISE_LINES or len(line) > _MAX_NOISE_BYTES:
                    faults.note(Fault.NOT_MCP)
                    return
            faults.note(Fault.ENDED)
        except TooMuch:
            faults.note(Fault.TOO_MUCH)


async def _lines(process: Process, allowance: Allowance) -> AsyncIterator[bytes]:
    """Its lines that are not empty. Raises `TooMuch`."""
    assert process.stdout is not None
    rest = bytearray()
    async for chunk in process.stdout:
        allowance.take(len(chunk))
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            for line in filter(bytearray.strip, lines):
                yield bytes(line)


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValidationError, RecursionError):
        return None


async def _send(process: Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    with outgoing, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for message in outgoing:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(line.encode() + b"\n")


async def _listen(process: Process, faults: Faults) -> None:
    """Read what the server tells its terminal; the last of it is kept for the operator."""
    assert process.stderr is not None
    kept = b""
    async for chunk in process.stderr:
        kept = (kept + chunk)[-_LAST_WORDS_BYTES:]
        faults.stderr_bytes += len(chunk)
        faults.last_words = clean(kept.decode("utf-8", "replace")).strip()


async def _end(process: Process) -> None:
    """Close its input, ask it to go, make it go; its whole group, so that nothing it started stays."""
    assert process.stdin is not None
    with anyio.CancelScope(shield=True):
        await process.stdin.aclose()
        await _gone(process)
        await terminate_posix_process_tree(process, _GRACE_SECONDS)
        await _gone(process)
        # Nothing public lets go of pipes that a process outside the group may still hold.
        process._process._transport.close()  # type: ignore[attr-defined]


async def _gone(process: Process) -> None:
    """Wait for its end within the grace; not by `wait`, which also waits for pipes its children may hold."""
    with anyio.move_on_after(_GRACE_SECONDS):
        while process.returncode is None:  # noqa: ASYNC110, nothing tells it
            await anyio.sleep(_POLL_SECONDS)
