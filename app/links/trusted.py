"""Hosts whose addresses may stand in an answer when a document names them: the documents' own, and the operator's."""

import re
from collections.abc import Iterable

_HOST = re.compile(r"https://([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?=[/?#:]|\W|$)", re.ASCII)


def hosts_in(text: str, addresses: Iterable[str], trusted: frozenset[str]) -> frozenset[str]:
    """The hosts `text` names in https addresses that lie where one of `addresses` lies, or that are trusted.

    An entry ``.company.example`` of `trusted` stands for every host below that domain, any other for itself.
    """
    own = {found[1] for address in addresses if (found := _HOST.match(address))}
    below = tuple(entry for entry in trusted if entry.startswith("."))
    named = set(_HOST.findall(text))
    return frozenset(host for host in named if host in own or host in trusted or (below and host.endswith(below)))
