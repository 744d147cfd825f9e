"""A web site on loopback that behaves as a test tells it to, up to everything a hostile site does on the wire.

Plain and behind TLS, under whatever names a test's resolver knows.
"""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from httpcore2 import AsyncNetworkStream, ConnectError

from extras.web.safe_http import dial

SITE_ADDRESS = "9.9.9.10"
"""Public, and never contacted: the wire leads it to loopback."""


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    host: str
    target: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}


@dataclass(frozen=True)
class Reply:
    """A whole response."""

    body: bytes = b""
    media_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    def on_the_wire(self) -> bytes:
        head = [f"HTTP/1.1 {self.status} Said", f"Content-Length: {len(self.body)}"]
        if self.media_type:
            head.append(f"Content-Type: {self.media_type}")
        head += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*head, "", ""]).encode("utf-8", "surrogateescape") + self.body


Talk = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""Writes whatever it likes on the connection."""
Answer = Callable[[Asked], Reply | Talk]


def page(text: str, **changes: str) -> Reply:
    return Reply(text.encode(), **changes)  # type: ignore[arg-type]


def moved(location: str, status: int = 302) -> Reply:
    return Reply(status=status, headers=(("Location", location),))


def zipped(body: bytes, media_type: str = "text/html; charset=utf-8") -> Reply:
    return Reply(gzip.compress(body), media_type, headers=(("Content-Encoding", "gzip"),))


def begin(media_type: str = "text/html", *, length: int | None = None) -> bytes:
    """The head of a response whose body is still to come."""
    size = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n{size}\r\n".encode()


@dataclass
class Site:
    """The site as a test sees it."""

    answers: dict[str, Answer | Reply] = field(default_factory=dict)
    """By path; the longest that the request's path begins with."""
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    tls_port: int = 0
    open_connections: int = 0
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first request has come."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a connection ends."""

    def answer(self, asked: Asked) -> Reply | Talk:
        self.asked.append(asked)
        self.opened.set()
        for path in sorted(self.answers, key=len, reverse=True):
            if asked.path.startswith(path):
                said = self.answers[path]
                return said if isinstance(said, Reply) else said(asked)
        return Reply(b"not here", "text/plain", 404)


class Wire:
    """A connector that remembers every address that was dialled; `leads` go to the site, others are refused."""

    def __init__(self, site: Site, leads: Sequence[str] = (SITE_ADDRESS,)):
        self.dialled: list[tuple[str, int]] = []
        self._site = site
        self._leads = frozenset(leads)

    async def __call__(self, address: str, port: int, seconds: float) -> AsyncNetworkStream:
        self.dialled.append((address, port))
        if address not in self._leads:
            raise ConnectError("nobody answers there")
        return await dial("127.0.0.1", self._site.tls_port if port % 1000 == 443 else self._site.port, seconds)


class Names:
    """A resolver with a closed list of names; each answer may be asked for once more and be another one then."""

    def __init__(self, known: dict[str, Sequence[tuple[str, ...]] | str]):
        self._known = known
        self.asked: list[str] = []

    async def __call__(self, host: str) -> tuple[str, ...]:
        said = self._known.get(host)
        before = self.asked.count(host)
        self.asked.append(host)
        if said is None:
            raise OSError("no such name")
        return (said,) if isinstance(said, str) else said[min(before, len(said) - 1)]


@asynccontextmanager
async def web_site(
    answers: dict[str, Answer | Reply] | None = None, *, tls_names: Sequence[str] = ()
) -> AsyncIterator[Site]:
    """A running site."""
    site = Site(dict(answers or {}))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.open_connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await _converse(site, reader, writer)
        finally:
            site.open_connections -= 1
            site.closed.set()
            writer.close()

    plain = await asyncio.start_server(serve, "127.0.0.1", 0)
    servers = [plain]
    site.port = plain.sockets[0].getsockname()[1]
    if tls_names:
        secured = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=_server_tls(tuple(tls_names)))
        servers.append(secured)
        site.tls_port = secured.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        for server in servers:
            server.close()


async def _converse(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    said = site.answer(Asked(method, headers.get("host", ""), target, headers, body))
    if isinstance(said, Reply):
        writer.write(said.on_the_wire())
        await writer.drain()
    else:
        talking = asyncio.ensure_future(said(writer))
        gone = asyncio.ensure_future(reader.read(1))
        await asyncio.wait((talking, gone), return_when=asyncio.FIRST_COMPLETED)
        for task in (talking, gone):
            task.cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await talking


@cache
def _authority() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
    return key, _certificate(name, key.public_key(), name, key, x509.BasicConstraints(ca=True, path_length=None))


def _certificate(
    subject: x509.Name,
    public: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    *extensions: x509.ExtensionType,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(signer, hashes.SHA256())


@cache
def _server_tls(names: tuple[str, ...]) -> ssl.SSLContext:
    signer, authority = _authority()
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
    certificate = _certificate(subject, key.public_key(), authority.subject, signer, alternatives)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "server.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context.load_cert_chain(path)
    return context


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@cache
def trusting_tls() -> ssl.SSLContext:
    """What a client needs to believe the site."""
    pem = _authority()[1].public_bytes(serialization.Encoding.PEM).decode()
    return ssl.create_default_context(cadata=pem)
