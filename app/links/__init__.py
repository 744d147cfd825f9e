"""Letting no address out that is not in the evidence, also while an answer streams.

A model may have read a document that tells it to hide what it knows in an address: the text of every answer goes
through a `LinkGuard`. It does not detect bad intentions. Whatever some program could turn into a link, an image or an
element is taken out or made plain text, and only known addresses pass, letter by letter.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from html import unescape

from app.domain.knowledge import Language
from app.links import markdown
from app.links.addresses import KnownNames, addresses
from app.links.markdown import INVISIBLE, PLAIN, SPACE, readings

_WORD = re.compile(rf"\A[^{SPACE}]+")
_PIECES = re.compile(f"[{SPACE}]+|[^{SPACE}]+")
_SUSPECT = re.compile(rf"\.[^\s.]|:\S|//|@|<[A-Za-z/!?{INVISIBLE}]|\][(:]|!\[|&[#\w]|%[0-9A-Fa-f]|\\|[^{SPACE}{PLAIN}]")
"""What a word needs to be anything else than plain text."""
_PARTS = re.compile("(\\]\\(|[\u00a0\u2000-\u200a\u202f\u205f\u3000])")
"""Where the parts of a word meet that are judged one by one: a label and its target, words joined by other spaces."""
_OPENING, _CLOSING = "([{\"'*~|`>‹“‘«（「", ")]}\"'*_|›”.,;:!?"
"""Signs that may stand directly before an address."""
_ENDING = re.compile(r"[)\"'*]*[.,;!?]?")
"""What may stand directly behind an address at the end of a word: no program takes it for a part of it."""
_LONGEST_WORD = 4096
"""Letters; an address of a document has at most 2,000."""
_PASSES = 3
"""What an address leaves behind may begin another one; after so many times nothing is left of the word."""
MARKERS: dict[Language, str] = {"vi": "[đã gỡ liên kết]", "en": "[link removed]"}
"""What stands where an address was."""
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


class LinkGuard:
    """Passes text through without its unknown addresses, in pieces of any size; where it is cut changes nothing.

    Text without addresses comes out as it went in, but for a space in every ``]:``. One guard is for one text.
    """

    removed: int
    """Addresses taken out so far; links and tags that only became plain text do not count."""

    def __init__(
        self,
        allowed: Iterable[str],
        *,
        language: Language = "en",
        known_text: str = "",
        hosts: frozenset[str] = frozenset(),
    ) -> None:
        """Args:
        allowed: addresses that may stand, exactly so or with ``#page=N``: http, https, or a path of this service.
        known_text: passages and question; bare host names and e-mail addresses may stand when they do there.
        hosts: trusted hosts (``.company.example`` = all below); their https addresses, and those on the hosts of
            `allowed`, may stand when they do in `known_text`.
        """
        self.removed = 0
        self._may_stand = (tuple(allowed), known_text, hosts)
        self._marker = MARKERS[language]
        self._held = ""
        """The beginning of a word."""
        self._is_skipping = False
        """Whether the rest of an endless word is being dropped."""

    @cached_property
    def _allowed(self) -> "_AllowedAddresses":
        """Made when something looks like an address: most texts have none."""
        return _AllowedAddresses(*self._may_stand)

    @cached_property
    def _known(self) -> KnownNames:
        return KnownNames(self._may_stand[1])

    def feed(self, piece: str) -> str:
        """Take the next piece in; returns the text that may go out now. A word that never ends is taken out."""
        if self._is_skipping:
            piece = _WORD.sub("", piece, count=1)
            if not piece:
                return ""
            self._is_skipping = False
        text = self._held + piece
        end = max(map(text.rfind, SPACE)) + 1
        ready, self._held = text[:end], text[end:]
        if len(self._held) > _LONGEST_WORD:
            ready, self._held, self._is_skipping = text, "", True
        return self.clean(ready)

    def finish(self) -> str:
        """Return what was held, at the end of the text."""
        last, self._held, self._is_skipping = self.clean(self._held), "", False
        return last

    def clean(self, text: str) -> str:
        """Clean complete words and the space between them, apart from what streams."""
        if len(text) <= _LONGEST_WORD and not _SUSPECT.search(text):
            return text
        return "".join(piece if piece[0] in SPACE else self._word(piece) for piece in _PIECES.findall(text))

    def _word(self, word: str) -> str:
        if len(word) > _LONGEST_WORD:
            return self._removed()
        if not _SUSPECT.search(word):
            return word
        out, opening = "", None
        for text, address in self._allowed.split(markdown.without_tags(self._allowed.unwrapped(word))):
            if opening is not None and text and (address or not _is_ending(opening, text)):
                out += " "
            is_target = bool(address) and text.endswith("](")
            out += self._text(text, is_target)
            opening = "](" if is_target else out[-1:]
            if address and not _is_opening(out):
                out, opening = f"{out} ", ""
            out += address
        return markdown.without_definitions(out)

    def _text(self, text: str, is_target: bool) -> str:
        """The text between allowed addresses; with `is_target`, it ends in ``](`` and an address is behind it."""
        if not _SUSPECT.search(text):
            return text
        parts = "".join(map(self._part, _PARTS.split(text)))
        return markdown.without_links(parts, keeps_last=is_target)

    def _part(self, part: str) -> str:
        """`part` without the addresses that stand in it openly; one that is disguised takes the whole part along."""
        if not _SUSPECT.search(part):
            return part
        before, cleaned = self.removed, part
        for _ in range(_PASSES):
            cleaned = "".join(self._without_addresses(cleaned))
            unmasked = readings(cleaned)
            if unmasked is not None and not any(map(self._has_address, (cleaned, *unmasked))):
                return cleaned
        self.removed = before
        return self._removed()

    def _without_addresses(self, text: str) -> Iterator[str]:
        at = 0
        for start, end in addresses(text, self._known):
            yield text[at:start] + self._removed()
            at = end
        yield text[at:]

    def _has_address(self, text: str) -> bool:
        return next(addresses(text, self._known), None) is not None

    def _removed(self) -> str:
        self.removed += 1
        return self._marker


def _is_opening(text: str) -> bool:
    """Whether an address may stand directly behind `text`."""
    bare = text.rstrip("_")
    return not bare or (bare[-1] in _OPENING and not bare.rstrip(_OPENING + _CLOSING).endswith("/"))


def _is_ending(opening: str, text: str) -> bool:
    """Whether `text` may stand directly behind an address that has `opening` before it, to the end of the word."""
    if opening == "](" and text[0] != ")":
        return False
    if opening == "`":
        text = text.lstrip(opening)
    return bool(_ENDING.fullmatch(text))


class _AllowedAddresses:
    """A closed list of addresses, and those on trusted hosts that stand in a known text."""

    def __init__(self, listed: Iterable[str], known_text: str, trusted: frozenset[str]) -> None:
        clean = {url for url in listed if _is_clean(url)}
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


def _is_clean(url: str) -> bool:
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
