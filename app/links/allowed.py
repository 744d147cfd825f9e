"""The addresses that may stand in an answer: the evidence's, and what documents name on hosts that are trusted."""

import re
from collections.abc import Iterable, Iterator
from html import unescape

_URL_RUN = r"[!#-;=?-\[\]_a-z~]*+"
_CLEAN = re.compile(rf"(?:https?://[A-Za-z0-9\[]|/\w){_URL_RUN}")
"""ASCII without what no address may hold (quotes, angle brackets, braces, backslash): what is seen is what it is."""
_HTTPS = "https://"
_NAMED = re.compile(
    rf"(?<![\w.@/:%-])(?P<scheme>{_HTTPS})?(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)++)(?![\w-]|\.\w)(?P<path>[/?#]{_URL_RUN})?+"
)
_SENTENCE_END = ".,;:!?)]'*_~"
_BEHIND = r"(?=[.,;:!?)\]}\"'*_~`|]*+\Z|[)\[\]}>\"'`*|‹›“”‘’«»…，。、；）」】])"
"""What may follow, so that the address is not the beginning of another one."""


class AllowedAddresses:
    """A closed list of addresses, and those on trusted hosts that stand in a known text."""

    def __init__(self, listed: Iterable[str], known_text: str, trusted: frozenset[str]) -> None:
        clean = {url for url in listed if is_clean(url)}
        clean.update(_on_trusted_hosts(known_text, trusted | {url.split("/")[2] for url in clean if url[:8] == _HTTPS}))
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


def _on_trusted_hosts(text: str, trusted: frozenset[str]) -> Iterator[str]:
    """The addresses of `text` on hosts that are trusted, with and without ``https://``; ``.company.example`` stands for
    every host below it."""
    below = tuple(entry for entry in trusted if entry.startswith("."))
    for address in _NAMED.finditer(text) if trusted else ():
        url = address[0].rstrip(_SENTENCE_END)
        is_trusted = address["host"] in trusted or address["host"].endswith(below)
        if is_trusted and (address["scheme"] or address["path"]) and unescape(url) == url:
            yield url
