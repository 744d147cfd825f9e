"""Speak HTTP to hosts the operator named for a company, at addresses that were checked, without following redirects."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from httpcore2 import URL, AsyncHTTPConnection, NetworkError, Origin, ProtocolError, Request, TimeoutException

from app import __version__
from app.connectors.source import ItemRefused, Reach, SourceLost
from app.errors import AppError, ErrorCode
from extras.web.safe_http import AllowedHosts, FetchRefused, SystemResolver, read_address
from extras.web.safe_http.dial import Meter, PinnedBackend, dial

_HEADER_BYTES = 65_536
_PASSING = frozenset((408, 425, 429, 500, 502, 503, 504))
PAUSES_SECONDS: tuple[float, ...] = (0.5, 2.0)
"""Before another try at what may pass."""
AUTHORITY = "SSL_CERT_FILE"
"""The environment variable that names the authorities Python believes; every kind of source believes the same."""
CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 120.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name."""
    content: bytes


def hosts_of(reach: Reach, url: str) -> AllowedHosts:
    """The hosts a connector may speak to. Raises `AppError` (422) where that of `url` is not among them."""
    exact = [one for one in reach.hosts if not one.startswith(".")]
    try:
        hosts = AllowedHosts(reach.hosts, [one.partition(":")[0] for one in exact])
        hosts.check(read_address(url))
    except FetchRefused as refused:
        detail = f"source: the operator's file does not let this company reach {refused.where!r} ({refused.reason})."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422) from refused
    except ValueError as wrong:
        raise AppError(ErrorCode.VALIDATION_FAILED, f"The operator's file: {wrong}.", status=503) from wrong
    return hosts


async def checked_addresses(hosts: AllowedHosts, url: str, resolver: SystemResolver) -> tuple[str, ...]:
    """Where the host of `url` is, if that may be dialled. Raises `SourceLost`."""
    host = urlsplit(url).hostname or ""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            found = await resolver(host)
        hosts.check_resolved(host, found)
    except (FetchRefused, OSError) as error:
        raise SourceLost(f"The host {host!r} is not found, or lies where nothing may be read.") from error
    return found


def basic(user: str, secret: str) -> str:
    """The header of a user and a password; empty without either."""
    return f"Basic {b64encode(f'{user}:{secret}'.encode()).decode()}" if user or secret else ""


class Speaker:
    """Requests to one source."""

    def __init__(self, hosts: AllowedHosts, authorization: str, *, tls: ssl.SSLContext | None = None):
        self._hosts, self._authorization = hosts, authorization
        self._resolver, self._tls = SystemResolver(), tls

    async def ask(
        self, method: str, url: str, *, most_bytes: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """One request; again after a pause where that may help. Raises `SourceLost` when no whole answer comes or the
        server fails, `ItemRefused` for more than `most_bytes`, and for an address that is none or too long."""
        failure = ""
        for pause in (*PAUSES_SECONDS, None):
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    answer = await self._once(method, url, most_bytes, headers or {}, body)
                if answer.status not in _PASSING:
                    return answer
                failure = f"it answers {answer.status}"
            except FetchRefused as refused:
                raise ItemRefused(f"it cannot be asked for, or is larger than {most_bytes:,} bytes") from refused
            except (ProtocolError, NetworkError, TimeoutException, TimeoutError, OSError) as error:
                failure = f"no whole answer came ({type(error).__name__})"
            if pause is not None:
                await asyncio.sleep(pause)
        raise SourceLost(f"{urlsplit(url).netloc}: {failure}.")

    def close(self) -> None:
        """Let go of the threads that look names up."""
        self._resolver.close()

    async def _once(self, method: str, url: str, most_bytes: int, headers: Mapping[str, str], body: bytes) -> Answer:
        address = read_address(url)
        self._hosts.check(address)
        found = await checked_addresses(self._hosts, url, self._resolver)
        if address.scheme == "https" and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        sent = {
            "Host": address.authority, "User-Agent": f"Conclave/{__version__}", "Connection": "close",
            "Accept-Encoding": "identity", "Content-Length": str(len(body)), **headers,
        }  # fmt: skip
        if self._authorization:
            sent["Authorization"] = self._authorization
        scheme, host = address.scheme.encode(), address.host.encode()
        meter = Meter(_HEADER_BYTES, most_bytes + _HEADER_BYTES)
        connection = AsyncHTTPConnection(
            Origin(scheme, host, address.port), ssl_context=self._tls if address.scheme == "https" else None,
            network_backend=PinnedBackend(found, dial, meter),
        )  # fmt: skip
        request = Request(
            method, URL(scheme=scheme, host=host, port=address.port, target=address.target.encode()),
            headers=[(name.encode(), value.encode()) for name, value in sent.items()], content=body,
            extensions={"timeout": {"connect": CONNECT_SECONDS, "read": ANSWER_SECONDS}},
        )  # fmt: skip
        try:
            response = await connection.handle_async_request(request)
            meter.headers_are_in()
            content = bytearray()
            async for piece in response.aiter_stream():
                content += piece
                if len(content) > most_bytes:
                    raise ItemRefused(f"larger than {most_bytes:,} bytes")
        finally:
            await connection.aclose()
        known = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        return Answer(response.status, known, bytes(content))
