"""Letting no address out that is not in the evidence, also while an answer streams.

A model may have read a document that tells it to hide what it knows in an address: the text of every answer goes
through a `LinkGuard`. It does not detect bad intentions. Whatever some program could turn into a link, an image or an
element is taken out or made plain text, and only known addresses pass, letter by letter.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from app.domain.knowledge import Language
from app.links.addresses import KnownNames, addresses
from app.links.allowed import AllowedAddresses, hosts_in
from app.links.markdown import (
    INVISIBLE,
    PLAIN,
    SPACE,
    DefinitionBreaker,
    readings,
    without_images,
    without_inline_links,
    without_tags,
)

_LAST_SPACE = re.compile(f".*[{SPACE}]", re.DOTALL)
_FIRST_SPACE = re.compile(f"[{SPACE}]")
_PIECES = re.compile(f"[{SPACE}]+|[^{SPACE}]+")
_SUSPECT = re.compile(rf"\.[^\s.]|:\S|//|@|<[A-Za-z/!?{INVISIBLE}]|\][(:]|!\[|&[#\w]|%[0-9A-Fa-f]|\\|[^{SPACE}{PLAIN}]")
"""What a word needs to be anything else than plain text."""
_PARTS = re.compile("(\\]\\(|[\u00a0\u2000-\u200a\u202f\u205f\u3000])")
"""Where the parts of a word meet that are judged one by one: a label and its target, words joined by other spaces."""
_WRAP_OPENING, _WRAP_ENDING = "([{\"'*_|>‹“", ")]}\"'*_|›”.,;:!?"
_OPENING = "([{\"'*~|`>‹“‘«（「"
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
        self._stream = _Stream()

    @cached_property
    def _allowed(self) -> AllowedAddresses:
        """Made when something looks like an address: most texts have none."""
        allowed, known_text, hosts = self._may_stand
        return AllowedAddresses(allowed, known_text, hosts_in(known_text, allowed, hosts))

    @cached_property
    def _known(self) -> KnownNames:
        return KnownNames(self._may_stand[1])

    def feed(self, piece: str) -> str:
        """Take the next piece in; returns the text that may go out now."""
        stream = self._stream
        if stream.is_skipping:
            space = _FIRST_SPACE.search(piece)
            if not space:
                return ""
            piece, stream.is_skipping = piece[space.start() :], False
        last = _LAST_SPACE.match(piece)
        if last:
            ready, held = stream.take() + piece[: last.end()], piece[last.end() :]
            return self._passed(ready) + self._hold(held)
        return self._hold(piece)

    def finish(self) -> str:
        """What was held, at the end of the text."""
        held = self._stream.take()
        last = self._passed(held) + self._stream.definitions.close()
        self._stream = _Stream()
        return last

    def clean(self, text: str) -> str:
        """A whole text at once, apart from the one that streams."""
        streaming, self._stream = self._stream, _Stream()
        cleaned = self.feed(text) + self.finish()
        self._stream = streaming
        return cleaned

    def _hold(self, piece: str) -> str:
        """Keep the beginning of a word. What never ends is no word: it goes, and what follows of it."""
        self._stream.hold(piece)
        if self._stream.length <= _LONGEST_WORD:
            return ""
        word = self._stream.take()
        self._stream.is_skipping = True
        return self._passed(word)

    def _passed(self, text: str) -> str:
        """Complete words and the space between them."""
        definitions = self._stream.definitions
        if definitions.is_idle and len(text) <= _LONGEST_WORD and not _SUSPECT.search(text):
            return text
        out: list[str] = []
        for piece in _PIECES.findall(text):
            cleaned = piece if piece[0] in SPACE else self._word(piece)
            out.extend(map(definitions.take, _PIECES.findall(cleaned)))
        return "".join(out)

    def _word(self, word: str) -> str:
        if len(word) > _LONGEST_WORD:
            return self._removed()
        if not _SUSPECT.search(word):
            return word
        out, opening = "", None
        for text, address in self._allowed.split(without_tags(self._allowed.unwrapped(word))):
            if opening is not None and text and (address or not _is_ending(opening, text)):
                out += " "
            is_target = bool(address) and text.endswith("](")
            out += self._text(text, is_target)
            opening = "](" if is_target else out[-1:]
            if address and not _is_opening(out):
                out, opening = f"{out} ", ""
            out += address
        return out

    def _text(self, text: str, is_target: bool) -> str:
        """The text between allowed addresses; with `is_target`, it ends in ``](`` and an address is behind it."""
        if not _SUSPECT.search(text):
            return text
        parts = without_images("".join(map(self._part, _PARTS.split(text))))
        return without_inline_links(parts[:-1]) + "(" if is_target else without_inline_links(parts)

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
        inner = part.lstrip(_WRAP_OPENING)
        start, end = len(part) - len(inner), len(inner.rstrip(_WRAP_ENDING))
        return part[:start] + self._removed() + inner[end:]

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


class _Stream:
    """What a guard keeps between two pieces of one text."""

    def __init__(self) -> None:
        self.definitions = DefinitionBreaker()
        self.is_skipping = False
        """Whether the rest of an endless word is being dropped."""
        self.length = 0
        self._held: list[str] = []

    def hold(self, piece: str) -> None:
        self._held.append(piece)
        self.length += len(piece)

    def take(self) -> str:
        held = "".join(self._held)
        self._held.clear()
        self.length = 0
        return held


def _is_opening(text: str) -> bool:
    """Whether an address may stand directly behind `text`."""
    bare = text.rstrip("_")
    return not bare or (bare[-1] in _OPENING and not bare.rstrip(_OPENING + _WRAP_ENDING).endswith("/"))


def _is_ending(opening: str, text: str) -> bool:
    """Whether `text` may stand directly behind an address that has `opening` before it, to the end of the word."""
    if opening == "](" and text[0] != ")":
        return False
    if opening == "`":
        text = text.lstrip(opening)
    return bool(_ENDING.fullmatch(text))
