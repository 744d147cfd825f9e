"""What the server does on a connection, step by step: the whole answer is written down before it is played."""

import asyncio
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from socket import SO_LINGER, SOL_SOCKET

from tests.fakes.model_server.faults import Fault


@dataclass(frozen=True)
class Send:
    data: bytes


@dataclass(frozen=True)
class Wait:
    """Do nothing for a while; None is for ever."""

    seconds: float | None = None


@dataclass(frozen=True)
class Forever:
    """Send the same again and again."""

    data: bytes
    seconds: float = 0.0


@dataclass(frozen=True)
class Close:
    """End the connection; a reset loses what the peer has not read."""

    reset: bool = False


Step = Send | Wait | Forever | Close
LAST_CHUNK = b"0\r\n\r\n"
BAD_BYTES = b"\xff\xfe\xc3\x28"
"""No UTF-8."""
BREAKS: dict[Fault, list[Step]] = {
    Fault.RESET_MIDWAY: [Wait(0.05), Close(reset=True)],
    Fault.CLOSED_MIDWAY: [Close()],
    Fault.STALL_MIDWAY: [Wait()],
}
"""What follows half an answer. A reset waits, or the peer would lose what it has not read yet."""


class Line:
    """The way to one client."""

    def __init__(self, writer: asyncio.StreamWriter):
        self._writer = writer
        self.sent_bytes = 0

    async def play(self, steps: Iterable[Step]) -> None:
        """Do `steps`; raises ConnectionError when the client has gone."""
        for step in steps:
            match step:
                case Send(data):
                    await self._send(data)
                case Wait(seconds):
                    await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))
                case Forever(data, seconds):
                    while True:
                        await self._send(data)
                        await asyncio.sleep(seconds)
                case Close(reset):
                    self.close(reset=reset)

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()
        self.sent_bytes += len(data)

    @property
    def closed(self) -> bool:
        return self._writer.is_closing()

    def close(self, *, reset: bool = False) -> None:
        if reset and not self.closed:
            sock = self._writer.get_extra_info("socket")
            sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        self._writer.close()


def head(status: int, headers: Mapping[str, str]) -> Send:
    """The opening lines of an answer."""
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", *(f"{name}: {value}" for name, value in headers.items())]
    return Send("\r\n".join([*lines, "", ""]).encode("latin-1"))


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Other"


def whole(status: int, headers: Mapping[str, str], body: bytes) -> list[Step]:
    """An answer of known length."""
    return [head(status, {"content-type": "application/json", "content-length": str(len(body)), **headers}), Send(body)]


def chunked(step: Step) -> Step:
    """`step` in the framing of a body of unknown length."""
    match step:
        case Send(data):
            return Send(_chunk(data))
        case Forever(data, seconds):
            return Forever(_chunk(data), seconds)
    return step


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
