"""Which hosts may be read, and which addresses a name may lead to."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple

from app.tools.dialling.address import WebAddress, read_host
from app.tools.dialling.refusal import FetchRefused, Refusal

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
        if any(entry.covers(address) for entry in self._entries):
            return
        known = any(entry.covers(address._replace(port=entry.port or _usual(address))) for entry in self._entries)
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


def _usual(address: WebAddress) -> int:
    return 443 if address.scheme == "https" else 80


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
