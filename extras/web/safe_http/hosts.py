"""Which hosts may be read, and which addresses a name may lead to."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import quote, urljoin

from extras.web.safe_http.dial import FetchRefused, Refusal

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


_WHOLE_V6 = ip_network("2000::/3")
"""All of IPv6 that is given out to the public; mapped, translated (NAT64), local and multicast ones lie outside."""
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
            "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            # A cloud's own services answer here, on an address of the public internet.
            "168.63.129.16/32",
            # Teredo, benchmarking, ORCHID and the rest of the protocol block; documentation; 6to4.
            "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
        ),
    )
)  # fmt: skip
_INSIDE = tuple(
    map(
        ip_network,
        ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"),
    )
)
"""Where a host of the operator's own network may be. Not the addresses where clouds hand out keys."""
_METADATA = tuple(map(ip_network, ("100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32")))


def is_public(address: str) -> bool:
    """Whether this is one address of the public internet (global unicast)."""
    read = _read(address)
    if read is None:
        return False
    inside_v6 = read.version == 4 or read in _WHOLE_V6
    return inside_v6 and read.is_global and not any(read in network for network in _NOT_PUBLIC)


def is_inside(address: str) -> bool:
    """Whether this is an address that a host of the operator's own network may have."""
    read = _read(address)
    return (
        read is not None
        and any(read in network for network in _INSIDE)
        and not any(read in network for network in _METADATA)
    )


def _read(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return None if "%" in address else ip_address(address)
    except ValueError:
        return None


class _Entry(NamedTuple):
    host: str
    """A name; with a leading dot, every name below it."""
    port: int | None
    """None = the usual ones."""

    def covers(self, address: WebAddress) -> bool:
        is_host = address.host.endswith(self.host) if self.host.startswith(".") else address.host == self.host
        return is_host and (address.has_usual_port if self.port is None else address.port == self.port)


class AllowedHosts:
    """The operator's lists.

    An entry is ``docs.example.com``, or ``.example.com`` for every host below it (not itself), with ``:8443`` behind it
    where that port is meant instead of 80 and 443.
    """

    def __init__(self, allowed: Iterable[str], private: Iterable[str] = ()):
        """Raises `ValueError` for an entry that names no host.

        Args:
            allowed: Hosts that may be read.
            private: Names, exactly, of those among them that lie in the operator's own network.
        """
        self._entries = tuple(_entry(text) for text in sorted(set(allowed)))
        self._private = frozenset(_entry(text).host for text in private)
        if any(host.startswith(".") for host in self._private):
            raise ValueError("a private host has to be named exactly")

    def __bool__(self) -> bool:
        return bool(self._entries)

    def check(self, address: WebAddress) -> None:
        """Raises `FetchRefused` where the address may not be read."""
        if self.allows(address):
            return
        usual = _DEFAULT_PORTS[address.scheme]
        known = any(entry.covers(address._replace(port=entry.port or usual)) for entry in self._entries)
        raise FetchRefused(Refusal.PORT if known else Refusal.HOST_NOT_ALLOWED, address.host)

    def allows(self, address: WebAddress) -> bool:
        """Whether `check` lets it pass."""
        return any(entry.covers(address) for entry in self._entries)

    def check_resolved(self, host: str, found: tuple[str, ...]) -> None:
        """Raises `FetchRefused` unless every address the name leads to may be dialled."""
        if not found:
            raise FetchRefused(Refusal.UNRESOLVED, host)
        may_be_inside = host in self._private
        if not all(is_public(one) or (may_be_inside and is_inside(one)) for one in found):
            raise FetchRefused(Refusal.PRIVATE_ADDRESS, host)


def _entry(text: str) -> _Entry:
    name, colon, port = text.strip().partition(":")
    try:
        host = read_host(name.removeprefix("."))
    except FetchRefused as refused:
        raise ValueError(
            f"{text!r} names no host: write docs.example.com or .example.com, with a port or not"
        ) from refused
    if colon and not (port.isascii() and port.isdecimal() and 0 < int(port) <= 65_535):
        raise ValueError(f"{text!r} names no port")
    return _Entry(f".{host}" if name.startswith(".") else host, int(port) if colon else None)
