"""The addresses that may stand in an answer: the evidence's, and what documents name on hosts that are trusted."""

import re
from collections.abc import Iterable, Iterator
from html import unescape

_HOST = re.compile(r"https://([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?=[/?#:]|\W|$)", re.ASCII)


def hosts_in(text: str, addresses: Iterable[str], trusted: frozenset[str]) -> frozenset[str]:
    """The hosts `text` names in https addresses that lie where one of `addresses` lies, or that are trusted.

    An entry ``.company.example`` of `trusted` stands for every host below that domain, any other for itself.
    """
    own = {found[1] for address in addresses if (found := _HOST.match(address))}
    below = tuple(entry for entry in trusted if entry.startswith("."))
    named = set(_HOST.findall(text))
    return frozenset(host for host in named if host in own or host in trusted or (below and host.endswith(below)))


_URL_RUN = r"[!#-;=?-\[\]_a-z~]*+"
_CLEAN = re.compile(rf"(?:https?://[A-Za-z0-9\[]|/\w){_URL_RUN}")
"""ASCII without what no address may hold (quotes, angle brackets, braces, backslash): what is seen is what it is."""
_SENTENCE_END = ".,;:!?)]'*_~"
_BEHIND = r"(?=[.,;:!?)\]}\"'*_~`|]*+\Z|[)\[\]}>\"'`*|‹›“”‘’«»…，。、；）」】])"
"""What may follow, so that the address is not the beginning of another one."""


class AllowedAddresses:
    """A closed list of addresses, and those on trusted hosts that stand in a known text."""

    def __init__(self, listed: Iterable[str], known_text: str, hosts: frozenset[str]) -> None:
        clean = {url for url in listed if is_clean(url)}
        clean.update(_on_hosts(known_text, hosts))
        longest_first = sorted(clean, key=lambda url: (-len(url), url))
        pages = (re.escape(url) + ("" if "#" in url else r"(?:#page=\d{1,6})?") for url in longest_first)
        either = f"(?:{'|'.join(pages)})" if clean else r"(?!)"
        self._found = re.compile(rf"({either}){_BEHIND}")
        self._wrapped = re.compile(rf"<({either})>")

    def unwrapped(self, word: str) -> str:
        """``<address>`` as ``address``."""
        return self._wrapped.sub(r"\1", word) if "<" in word else word

    def split(self, word: str) -> Iterator[tuple[str, str]]:
        """`word` in order as (text, the allowed address behind it); the last address is empty."""
        *pairs, rest = self._found.split(word)
        yield from zip(pairs[::2], pairs[1::2], strict=True)
        yield rest, ""


def is_clean(url: str) -> bool:
    """Whether `url` reads the same to everybody: plain ASCII, no entities, absolute or a path of this service."""
    return bool(_CLEAN.fullmatch(url)) and unescape(url) == url


def _on_hosts(text: str, hosts: frozenset[str]) -> Iterator[str]:
    """The addresses of `text` that lie on `hosts`, with and without ``https://``."""
    if not hosts:
        return
    either = "|".join(map(re.escape, sorted(hosts)))
    found = re.compile(
        rf"(?<![\w.@/:%-])(?:https://(?:{either})(?![\w-]|\.\w)(?:[/?#]{_URL_RUN})?+|(?:{either})[/?#]{_URL_RUN})"
    )
    for address in found.finditer(text):
        url = address[0].rstrip(_SENTENCE_END)
        if unescape(url) == url:
            yield url
