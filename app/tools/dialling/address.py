"""Web addresses, read by one strict parser: what it read is what is dialled, no library reads the text again.

Browsers and libraries mend odd spellings, each in its own way, and that is how a checked address becomes another one
when it is dialled. Here nothing is mended: what is not written the plain way is refused.
"""

import re
from typing import NamedTuple
from urllib.parse import quote, urljoin

from app.tools.dialling.refusal import FetchRefused, Refusal

_MAX_CHARS = 2_048
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):")
_PARTS = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?", re.I)
_AUTHORITY = re.compile(r"(?P<host>[A-Za-z0-9.-]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NUMERIC = re.compile(r"(?:(?:0x[0-9a-f]*|[0-9]+)\.?)+(?::[0-9]*)?|\[.*", re.IGNORECASE)
"""Authorities that some program takes for a number, with a port or not."""
_PLAIN = "/?&=+%:@!$'()*,;~-._"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_HOST, _MAX_PORT = 253, 65_535


class WebAddress(NamedTuple):
    """An http or https address, taken apart."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    """A name in lower case, ASCII; never a number."""
    port: int
    target: str
    """Path and query, percent-encoded ASCII; begins with ``/``. The fragment is left behind."""

    @property
    def authority(self) -> str:
        """Host, with the port where it is not the usual one."""
        return self.host if self.port == _DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def has_usual_port(self) -> bool:
        """Whether the port is the scheme's own."""
        return self.port == _DEFAULT_PORTS[self.scheme]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def joined(self, location: str) -> "WebAddress":
        """Where a redirect from here leads. Raises `FetchRefused`.

        What names a scheme or a host is read as it stands. What the library joins is read by `read_address` like any
        other address, so a different reading cannot slip by.
        """
        _refuse_odd_signs(location)
        if not location.isascii():
            raise FetchRefused(Refusal.MALFORMED, location)
        if _SCHEME.match(location):
            return read_address(location)
        if location.startswith("//"):
            return read_address(f"{self.scheme}:{location}")
        try:
            return read_address(urljoin(str(self), location))
        except ValueError as error:
            raise FetchRefused(Refusal.MALFORMED, location) from error


def read_address(text: str) -> WebAddress:
    """The address `text` is, exactly; no space around it. Raises `FetchRefused` with the reason.

    Letters outside ASCII are percent-encoded in path and query, and refused in the host.
    """
    _refuse_odd_signs(text)
    match = _PARTS.fullmatch(text)
    if not match:
        scheme = _SCHEME.match(text)
        is_other = scheme is not None and scheme["scheme"].lower() not in _DEFAULT_PORTS
        raise FetchRefused(Refusal.SCHEME if is_other else Refusal.MALFORMED, text)
    scheme_name = match["scheme"].lower()
    host, port = _host_and_port(match["authority"], text)
    target = (match["path"] or "/") + (match["query"] or "")
    return WebAddress(scheme_name, host, port or _DEFAULT_PORTS[scheme_name], quote(target, safe=_PLAIN))


def read_host(text: str) -> str:
    """A host's name in lower case. Raises `FetchRefused`: no name, or a number in disguise."""
    host = text.lower()
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]) or _NUMBER.fullmatch(host):
        raise FetchRefused(Refusal.IP_LITERAL, text)
    if len(host) > _MAX_HOST or not all(map(_LABEL.fullmatch, labels)):
        raise FetchRefused(Refusal.MALFORMED, text)
    return host


def _refuse_odd_signs(text: str) -> None:
    """Raises `FetchRefused` for signs that programs drop, mend or read as others."""
    if not text or len(text) > _MAX_CHARS or not text.isprintable() or " " in text or "\\" in text:
        raise FetchRefused(Refusal.MALFORMED, text)


def _host_and_port(authority: str, text: str) -> tuple[str, int | None]:
    if "@" in authority:
        raise FetchRefused(Refusal.CREDENTIALS)
    match = _AUTHORITY.fullmatch(authority)
    if not match:
        raise FetchRefused(Refusal.IP_LITERAL if _NUMERIC.fullmatch(authority) else Refusal.MALFORMED, text)
    port = int(match["port"]) if match["port"] else None
    if port is not None and port > _MAX_PORT:
        raise FetchRefused(Refusal.MALFORMED, text)
    return read_host(match["host"]), port
