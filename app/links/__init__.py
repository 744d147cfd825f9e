"""Letting no address out that is not in the evidence, also while an answer streams.

A model may have read a document that tells it to hide what it knows in an address: the text of every answer goes
through a `LinkGuard`. It does not detect bad intentions. Whatever some program could turn into a link, an image or an
element is taken out or made plain text, and only known addresses pass, letter by letter.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from app.domain.knowledge import Language
from app.links import markdown
from app.links.addresses import KnownNames, addresses
from app.links.allowed import AllowedAddresses
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


class LinkGuard:
    """Passes text through without its unknown addresses, in pieces of any size; where it is cut changes nothing.

    Text without addresses comes out as it went in, byte by byte. One guard is for one text.
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
    def _allowed(self) -> AllowedAddresses:
        """Made when something looks like an address: most texts have none."""
        return AllowedAddresses(*self._may_stand)

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
        parts = markdown.without_images("".join(map(self._part, _PARTS.split(text))))
        return markdown.without_inline_links(parts[:-1]) + "(" if is_target else markdown.without_inline_links(parts)

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
