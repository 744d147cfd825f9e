"""`Fetcher`: GET on http and https, to hosts on the operator's list, within limits of time and size.

Each hop of a redirect is a new address that is read, looked up, checked and dialled from the start. There are no
cookies, no credentials, no referer and no proxies, and nothing is kept between two fetches.
"""

import asyncio
import ssl
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.message import Message

from httpcore2 import (
    URL,
    AsyncHTTPConnection,
    ConnectError,
    ConnectTimeout,
    LocalProtocolError,
    NetworkError,
    Origin,
    ProtocolError,
    Request,
    Response,
    TimeoutException,
)
from pydantic import Field

from app import __version__
from app.domain.record import Record
from extras.web.safe_http.dial import Connect, FetchRefused, Meter, PinnedBackend, Refusal, Resolve, dial
from extras.web.safe_http.hosts import AllowedHosts, WebAddress, read_address

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_AGENT = f"Conclave/{__version__} (question answering; reads single pages on request)"
_MOST_CHUNKS = 10_000
"""Pieces a body may come in: one byte at a time would cost a core for seconds."""
_GZIP = 16 + zlib.MAX_WBITS


class FetchLimits(Record):
    """What one fetch may cost, all its hops together where nothing else is said."""

    total_seconds: float = Field(15.0, gt=0)
    connect_seconds: float = Field(5.0, gt=0)
    """To look up and connect, TLS included, each hop."""
    header_bytes: int = Field(32_768, ge=1_024)
    """Each hop."""
    wire_bytes: int = Field(2_000_000, ge=1)
    """Of a body as it is sent."""
    content_bytes: int = Field(2_000_000, ge=1)
    """Of a body once it is unpacked."""
    redirects: int = Field(3, ge=0, le=10)
    connections: int = Field(8, ge=1, le=100)
    """Fetches at a time; others wait, and their time runs."""


@dataclass(frozen=True)
class Fetched:
    """What came back."""

    address: WebAddress
    """Where it came from, redirects followed."""
    status: int
    """Never a redirect. `content` is empty unless it is 200-299."""
    media_type: str
    """In lower case, without parameters: ``text/html``."""
    charset: str
    """As declared; may be empty or wrong."""
    content: bytes
    hops: tuple[WebAddress, ...]
    """Every address dialled, in order; the last is `address`."""


@dataclass(frozen=True)
class _Wanted:
    media_types: frozenset[str]
    body: bytes | None
    language: str


class Fetcher:
    """Fetches what the operator allows to be fetched, and refuses the rest with a reason. Safe for concurrent use."""

    def __init__(
        self,
        hosts: AllowedHosts,
        resolve: Resolve,
        limits: FetchLimits | None = None,
        *,
        connect: Connect = dial,
        tls: ssl.SSLContext | None = None,
    ):
        """`tls`: how servers are verified; unset = by the machine's authorities."""
        self.hosts = hosts
        self.limits = limits or FetchLimits()
        self._resolve = resolve
        self._connect = connect
        self._tls = tls or ssl.create_default_context()
        self._slots = asyncio.Semaphore(self.limits.connections)

    async def fetch(
        self,
        url: str | WebAddress,
        *,
        media_types: frozenset[str],
        seconds: float | None = None,
        language: str = "en",
        body: bytes | None = None,
    ) -> Fetched:
        """Get `url`. Does I/O; closes its connections when it is cancelled. Raises `FetchRefused` and nothing else.

        Args:
            url: Exactly as `read_address` takes it, or what was read already.
            media_types: What a body may be; anything else is refused before it is read.
            seconds: Time left, where that is less than the limit.
            language: What the page should be in, where its server has a choice.
            body: JSON to POST instead; never sent on after a redirect.
        """
        address = read_address(url) if isinstance(url, str) else url
        limit = self.limits.total_seconds if seconds is None else min(seconds, self.limits.total_seconds)
        try:
            async with asyncio.timeout(limit), self._slots:
                return await self._follow(address, _Wanted(media_types, body, language))
        except TimeoutError as error:
            raise FetchRefused(Refusal.TIME_LIMIT, address.host) from error

    async def _follow(self, address: WebAddress, wanted: _Wanted) -> Fetched:
        hops = [address]
        while True:
            answer = await self._hop(address, wanted, tuple(hops))
            if isinstance(answer, Fetched):
                return answer
            if wanted.body is not None or len(hops) > self.limits.redirects:
                raise FetchRefused(Refusal.TOO_MANY_REDIRECTS, address.host)
            if address.scheme == "https" and answer.scheme != "https":
                raise FetchRefused(Refusal.DOWNGRADE, address.host)
            address = answer
            hops.append(address)

    async def _hop(self, address: WebAddress, wanted: _Wanted, hops: tuple[WebAddress, ...]) -> Fetched | WebAddress:
        """What one address gives: a body, or where to go on."""
        self.hosts.check(address)
        try:
            async with asyncio.timeout(self.limits.connect_seconds):
                found = await self._resolve(address.host)
        except OSError as error:
            raise FetchRefused(Refusal.UNRESOLVED, address.host) from error
        self.hosts.check_resolved(address.host, found)
        meter = Meter(self.limits.header_bytes, self.limits.wire_bytes)
        connection = AsyncHTTPConnection(
            Origin(address.scheme.encode(), address.host.encode(), address.port),
            ssl_context=self._tls if address.scheme == "https" else None,
            network_backend=PinnedBackend(found, self._connect, meter),
        )
        try:
            response = await connection.handle_async_request(self._request(address, wanted))
            meter.headers_are_in()
            return await self._read(response, address, wanted, hops)
        except FetchRefused as refused:
            raise FetchRefused(refused.reason, refused.where or address.host) from refused
        except (ProtocolError, NetworkError, TimeoutException, OSError) as error:
            raise FetchRefused(_reason(error), address.host) from error
        finally:
            await connection.aclose()

    def _request(self, address: WebAddress, wanted: _Wanted) -> Request:
        headers = {
            "Host": address.authority,
            "User-Agent": _AGENT,
            "Accept": ", ".join(sorted(wanted.media_types)),
            "Accept-Encoding": "gzip",
            "Accept-Language": wanted.language,
            "Connection": "close",
        }
        if wanted.body is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(wanted.body))}
        # The parts go in as they were read: no library takes the address apart once more.
        scheme, host, target = address.scheme.encode(), address.host.encode(), address.target.encode()
        url = URL(scheme=scheme, host=host, port=address.port, target=target)
        return Request(
            "GET" if wanted.body is None else "POST",
            url,
            headers=[(name.encode(), value.encode()) for name, value in headers.items()],
            content=wanted.body,
            extensions={"timeout": {"connect": self.limits.connect_seconds}},
        )

    async def _read(
        self, response: Response, address: WebAddress, wanted: _Wanted, hops: tuple[WebAddress, ...]
    ) -> Fetched | WebAddress:
        headers = _headers(response.headers)
        if response.status in _REDIRECTS:
            return address.joined(headers.get("location", ""))
        if response.status < 200:
            raise FetchRefused(Refusal.PROTOCOL)
        media_type, charset = _media_type(headers.get("content-type", ""))
        if not 200 <= response.status < 300:
            return Fetched(address, response.status, media_type, charset, b"", hops)
        if media_type not in wanted.media_types:
            raise FetchRefused(Refusal.CONTENT_TYPE)
        content = await _unpacked(response, headers.get("content-encoding", ""), self.limits.content_bytes)
        return Fetched(address, response.status, media_type, charset, content, hops)


async def _unpacked(response: Response, encoding: str, most: int) -> bytes:
    """The body, unpacked while it comes and never further than `most` bytes."""
    if encoding.strip().lower() not in ("", "identity", "gzip", "x-gzip"):
        raise FetchRefused(Refusal.ENCODING)
    unpacker = zlib.decompressobj(_GZIP) if "gzip" in encoding.lower() else None
    content, piece, count = bytearray(), b"", 0
    async for piece in response.aiter_stream():
        count += 1
        if count > _MOST_CHUNKS:
            raise FetchRefused(Refusal.PROTOCOL)
        content += piece if unpacker is None else _inflated(unpacker, piece, most - len(content))
        if len(content) > most:
            raise FetchRefused(Refusal.TOO_LARGE)
    if unpacker is not None and piece and (not unpacker.eof or unpacker.unused_data):
        raise FetchRefused(Refusal.PROTOCOL)
    return bytes(content)


def _inflated(unpacker: "zlib._Decompress", piece: bytes, room: int) -> bytes:
    """Up to one byte more than there is room for, which tells that there is too much."""
    if unpacker.eof:
        raise FetchRefused(Refusal.PROTOCOL)
    try:
        return unpacker.decompress(piece, room + 1)
    except zlib.error as error:
        raise FetchRefused(Refusal.PROTOCOL) from error


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """Headers by lower-case name. Raises `FetchRefused` where one that is acted upon is given twice, differently."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        known = found.setdefault(key, text)
        if known != text and key in ("location", "content-type", "content-encoding", "content-length"):
            raise FetchRefused(Refusal.PROTOCOL)
    return found


def _media_type(header: str) -> tuple[str, str]:
    message = Message()
    message["Content-Type"] = header or "application/octet-stream"
    return message.get_content_type(), message.get_content_charset() or ""


def _reason(error: Exception) -> Refusal:
    """Which reason a failure of the connection is."""
    if isinstance(error, ConnectError) and isinstance(error.__cause__, ssl.SSLError):
        return Refusal.TLS
    if isinstance(error, ConnectTimeout | ConnectError):
        return Refusal.UNREACHABLE
    if isinstance(error, LocalProtocolError):
        return Refusal.MALFORMED
    if isinstance(error, ProtocolError):
        return Refusal.PROTOCOL
    return Refusal.TIME_LIMIT if isinstance(error, TimeoutException) else Refusal.UNREACHABLE
