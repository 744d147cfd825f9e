"""The pipe to a server's process: bounded lines, an environment of its own, and an end that is certain."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from app.text.language import clean
from app.tools.mcp.allowance import Allowance, TooMuch
from app.tools.mcp.faults import Fault, Faults
from app.tools.mcp.spec import ServerSpec

_LAUNCHER = Path(__file__).with_name("launch.py")
_CHUNK_BYTES = 65_536
_MAX_NOISE_LINES, _MAX_NOISE_BYTES = 20, 1000
"""Lines that are no messages, of a server that greets its terminal, and the length of each; more is no protocol."""
_LAST_WORDS_BYTES = 4096
_GRACE_SECONDS = 0.5
"""For a server to end by itself when its input does, and again when it is told to."""
_POLL_SECONDS = 0.01
_WAITING = 64
"""Messages kept for a server that does not read, so that nobody waits to tell it that a call is over."""


class NotTheProtocol(Exception):
    """What the process writes are no messages."""


@asynccontextmanager
async def stdio_streams(spec: ServerSpec, allowance: Allowance, faults: Faults) -> AsyncIterator[TransportStreams]:
    """Start the server's process and speak to it until the block is left; then no process of it is left either.

    Raises `ServerRefused` for a variable that is not set and `OSError` when nothing can be started.
    """
    command, environment = spec.process()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment, start_new_session=True,
    )  # fmt: skip
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
    process: asyncio.subprocess.Process,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    allowance: Allowance,
    faults: Faults,
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
                    raise NotTheProtocol
            faults.note(Fault.ENDED)
        except TooMuch:
            faults.note(Fault.TOO_MUCH)
        except NotTheProtocol:
            faults.note(Fault.NOT_MCP)


async def _lines(process: asyncio.subprocess.Process, allowance: Allowance) -> AsyncIterator[bytes]:
    """Its lines that are not empty. Raises `TooMuch`."""
    assert process.stdout is not None
    rest = bytearray()
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        allowance.take(len(chunk))
        rest += chunk
        if b"\n" not in chunk:
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            if line.strip():
                yield line


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValidationError, RecursionError):
        return None


async def _send(process: asyncio.subprocess.Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    with outgoing, suppress(OSError):
        async for message in outgoing:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()


async def _listen(process: asyncio.subprocess.Process, faults: Faults) -> None:
    """Read what the server tells its terminal; the last of it is kept for the operator."""
    assert process.stderr is not None
    kept = b""
    while chunk := await process.stderr.read(_CHUNK_BYTES):
        kept = (kept + chunk)[-_LAST_WORDS_BYTES:]
        faults.stderr_bytes += len(chunk)
        faults.last_words = clean(kept.decode("utf-8", "replace")).strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input, ask it to go, make it go; its whole group, so that nothing it started stays."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        if not await _is_gone(process):
            _signal(process, signal.SIGTERM)
            await _is_gone(process)
    finally:
        _signal(process, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await _is_gone(process)
        # Nothing public lets go of pipes that a process outside the group may still hold.
        process._transport.close()  # type: ignore[attr-defined]


async def _is_gone(process: asyncio.subprocess.Process) -> bool:
    """Whether it ended within the grace; not by `wait`, which also waits for pipes its children may hold."""
    until = asyncio.get_running_loop().time() + _GRACE_SECONDS
    while process.returncode is None and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110, nothing tells it
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
