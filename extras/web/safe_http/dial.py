"""Names to addresses once, and a connection to exactly what was checked: httpcore2 never gets a name to resolve."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any

from httpcore2 import (
    SOCKET_OPTION,
    AnyIOBackend,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
)


class Refusal(StrEnum):
    """Why nothing was fetched."""

    MALFORMED = "malformed"
    """The address is not written the one way that is read."""
    SCHEME = "scheme"
    CREDENTIALS = "credentials"
    IP_LITERAL = "ip_literal"
    """A number, in whatever spelling, stands where a host's name belongs."""
    HOST_NOT_ALLOWED = "host_not_allowed"
    PORT = "port"
    UNRESOLVED = "unresolved"
    PRIVATE_ADDRESS = "private_address"
    """The name leads to an address that is not of the public internet."""
    DOWNGRADE = "downgrade"
    """A redirect from https to http."""
    TOO_MANY_REDIRECTS = "too_many_redirects"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    PROTOCOL = "protocol"
    """What came back is no HTTP response as it should be."""
    HEADERS_TOO_LARGE = "headers_too_large"
    TOO_LARGE = "too_large"
    CONTENT_TYPE = "content_type"
    ENCODING = "encoding"
    TIME_LIMIT = "time_limit"


_PASSING = frozenset((Refusal.UNRESOLVED, Refusal.UNREACHABLE, Refusal.TIME_LIMIT))

_SHOWN_CHARS = 120


class FetchRefused(Exception):
    """Nothing was fetched: the guard said no, or the other side did not do what it should."""

    def __init__(self, reason: Refusal, where: str = ""):
        """`where` is the host, or the address as written where there is no host to speak of."""
        super().__init__(f"{reason}: {where[:_SHOWN_CHARS]!a}")
        self.reason = reason
        self.where = where[:_SHOWN_CHARS]

    @property
    def may_pass(self) -> bool:
        """Whether another try may help."""
        return self.reason in _PASSING


Resolve = Callable[[str], Awaitable[tuple[str, ...]]]
"""A host's name to its IP addresses, in the order to try them. Raises `OSError` when there is none."""
Connect = Callable[[str, int, float], Awaitable[AsyncNetworkStream]]
"""A connection to an IP address and port within so many seconds. Raises what httpcore2 raises."""
_MOST_ADDRESSES = 8
_READ_BYTES = 8_192
"""Read at a time: a body cut into single bytes is taken apart without a pause for others until these are used up."""


class SystemResolver:
    """The machine's own resolver, on threads of its own: a name server that hangs must not hold up others."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="resolve")

    async def __call__(self, host: str) -> tuple[str, ...]:
        """The addresses of `host`. Does I/O. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _addresses, host)

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _addresses(host: str) -> tuple[str, ...]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(info[4][0]) for info in found))[:_MOST_ADDRESSES]


async def dial(address: str, port: int, seconds: float) -> AsyncNetworkStream:
    """Connect to an IP address; knows no names, proxies or settings of the environment."""
    return await AnyIOBackend().connect_tcp(address, port, timeout=seconds)


class Meter:
    """Bytes received on one connection, and how many more there may be."""

    def __init__(self, header_bytes: int, body_bytes: int):
        self._left, self._body_bytes = header_bytes, body_bytes
        self._in_headers = True

    def headers_are_in(self) -> None:
        """From here on the limit of the body counts."""
        self._left, self._in_headers = self._body_bytes, False

    @property
    def room(self) -> int:
        """Bytes that may still come, at least one. Raises `FetchRefused`."""
        if self._left <= 0:
            raise FetchRefused(Refusal.HEADERS_TOO_LARGE if self._in_headers else Refusal.TOO_LARGE)
        return self._left

    def count(self, size: int) -> None:
        """So many came."""
        self._left -= size


class _MeteredStream(AsyncNetworkStream):
    """Counts what is read from it; behind TLS these are HTTP's own bytes: the handshake reads the stream inside."""

    def __init__(self, stream: AsyncNetworkStream, meter: Meter):
        self._stream, self._meter = stream, meter

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        piece = await self._stream.read(min(max_bytes, self._meter.room, _READ_BYTES), timeout)
        self._meter.count(len(piece))
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncNetworkStream:
        secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _MeteredStream(secured, self._meter)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PinnedBackend(AsyncNetworkBackend):
    """Dials the addresses that were checked, in their order, whatever name the request carries."""

    def __init__(self, addresses: tuple[str, ...], connect: Connect, meter: Meter):
        self._addresses, self._connect, self._meter = addresses, connect, meter

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """A connection to the first checked address that takes one."""
        loop = asyncio.get_running_loop()
        until = loop.time() + (timeout or 0.0)
        failure: Exception = ConnectError("no address")
        for at, address in enumerate(self._addresses):
            share = (until - loop.time()) / (len(self._addresses) - at)
            try:
                stream = await self._connect(address, port, max(share, 0.01))
            except (ConnectError, ConnectTimeout) as error:
                failure = error
            else:
                return _MeteredStream(stream, self._meter)
        raise failure
