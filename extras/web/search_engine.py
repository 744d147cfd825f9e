"""The operator's search engine: where it is, and the rule that lets a fetcher reach it and nothing else."""

import re

from extras.web.safe_http import AllowedHosts, FetchLimits, FetchRefused, Refusal, WebAddress, is_public, read_address
from extras.web.safe_http.hosts import is_inside

LIMITS = FetchLimits(total_seconds=10.0, wire_bytes=1_000_000, content_bytes=1_000_000, redirects=0, connections=4)
"""No redirect is followed: an engine that moved is named anew."""
_NUMBERED = re.compile(
    r"(?P<scheme>https?)://(?P<host>\d{1,3}(?:\.\d{1,3}){3})(?P<rest>(?::[1-9]\d{0,4})?(?:/.*)?)", re.I
)
_STAND_IN = "engine.invalid"


class SearchEngine(AllowedHosts):
    """One address, named by the operator; it may lie in his own network, but never where clouds hand out keys."""

    def __init__(self, url: str):
        """Raises `ValueError` for what is no http or https address, or one with a query."""
        super().__init__(())
        self.address = _address(url)

    def __bool__(self) -> bool:
        return True

    def allows(self, address: WebAddress) -> bool:
        """Whether this is the engine's own search page."""
        return address._replace(target=address.target.partition("?")[0]) == self.address

    def check(self, address: WebAddress) -> None:
        """Raises `FetchRefused` for every other address."""
        if not self.allows(address):
            raise FetchRefused(Refusal.HOST_NOT_ALLOWED, address.host)

    def check_resolved(self, host: str, found: tuple[str, ...]) -> None:
        """Raises `FetchRefused` unless every address the name leads to may be dialled."""
        if not found:
            raise FetchRefused(Refusal.UNRESOLVED, host)
        if not all(is_public(one) or is_inside(one) for one in found):
            raise FetchRefused(Refusal.PRIVATE_ADDRESS, host)


def _address(url: str) -> WebAddress:
    """``{url}/search``; here, and only here, a host may be four numbers, which it is dialled as."""
    text = url.strip()
    numbered = _NUMBERED.fullmatch(text)
    try:
        read = read_address(f"{numbered['scheme']}://{_STAND_IN}{numbered['rest']}" if numbered else text)
    except FetchRefused as refused:
        raise ValueError(f"{text[:200]!r} is no http or https address: {refused.reason}") from refused
    if "?" in read.target or "#" in text:
        raise ValueError(f"{text[:200]!r} must have no query: write http://searx.example or http://127.0.0.1:8888")
    host = numbered["host"] if numbered else read.host
    return read._replace(host=host, target=f"{read.target.rstrip('/').removesuffix('/search')}/search")
