"""What an operator says about the web: nothing is read unless hosts are named, and then only those."""

import ssl

from app.domain.plan import TRANSCRIPT_TOOL, WEB_TOOL, WIKIPEDIA_TOOL
from app.domain.record import Record
from app.tools.dialling import (
    AllowedHosts,
    Connect,
    Fetcher,
    FetchLimits,
    FetchRefused,
    Resolve,
    SystemResolver,
    dial,
    read_address,
)

_YOUTUBE = "https://www.youtube.com/"


class WebAccess(Record):
    """The operator's choice."""

    allowed_hosts: frozenset[str] = frozenset()
    """``docs.example.com``, ``.example.com`` for every host below it, with ``:8443`` where another port is meant.
    None = no web tool."""
    private_hosts: frozenset[str] = frozenset()
    """Those of them, by their exact names, that lie in the operator's own network."""
    wikipedia_base_url: str = "https://{lang}.wikipedia.org/w/api.php"
    limits: FetchLimits = FetchLimits()

    def fetcher(
        self, resolve: Resolve | None = None, *, connect: Connect = dial, tls: ssl.SSLContext | None = None
    ) -> Fetcher:
        """The one that fetches for all web tools. Raises `ValueError` for entries that name no host."""
        hosts = AllowedHosts(self.allowed_hosts, self.private_hosts)
        return Fetcher(hosts, resolve or SystemResolver(), self.limits, connect=connect, tls=tls)


def available_web_tools(access: WebAccess) -> tuple[str, ...]:
    """Names of the tools the named hosts are enough for. A tool whose library is missing says so when it is called.

    Raises `ValueError` for entries that name no host.
    """
    hosts = AllowedHosts(access.allowed_hosts, access.private_hosts)
    if not hosts:
        return ()
    wikipedias = [access.wikipedia_base_url.replace("{lang}", language) for language in ("vi", "en")]
    named = [WEB_TOOL]
    if any(_allows(hosts, url) for url in wikipedias):
        named.append(WIKIPEDIA_TOOL)
    if _allows(hosts, _YOUTUBE):
        named.append(TRANSCRIPT_TOOL)
    return tuple(named)


def _allows(hosts: AllowedHosts, url: str) -> bool:
    try:
        return hosts.allows(read_address(url))
    except FetchRefused:
        return False
