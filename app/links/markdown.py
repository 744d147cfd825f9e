"""Markdown that would make a link or an image, made harmless so that it still reads well."""

import re

from app.links.disguise import INVISIBLE

SPACE = " \t\n\r\f\v"
"""White space for every reader of HTML and Markdown; wider spaces end an address for some readers only."""
_TAG = re.compile(rf"<(?=[{INVISIBLE}]*[A-Za-z/!?]|[^<>]*@)([^<>]*)(>?)")
_IMAGE = re.compile(rf"![{INVISIBLE}]*+(?=\[)")
"""What makes an image of the link behind it."""
_MARK = re.compile(rf"\[[\w.,-]*\](?![{INVISIBLE}]*\()")
"""``[1]``: a mark behind a sentence, and no image."""
_INLINE = re.compile(rf"(\][{INVISIBLE}]*)\(")
_DEFINES = re.compile(rf"(\][{INVISIBLE}]*):")
_BEFORE_IMAGE = frozenset("[({|*_>\"'“")
_LONGEST = 16_384
"""Letters after which the end of a definition is no longer waited for."""


def without_tags(word: str) -> str:
    """``<b>`` as ``‹b›``: no tag, comment or autolink in HTML or Markdown. ``a < b``, ``<5`` and ``->`` stay."""
    return _TAG.sub(lambda tag: f"‹{tag[1]}{'›' if tag[2] else ''}", word)


def without_images(text: str) -> str:
    """``![chart](…)`` as ``[chart](…)``; an exclamation mark behind a word (``Xong![chart](…)``) gets a space."""
    return _IMAGE.sub(_plain_link, text)


def _plain_link(found: re.Match[str]) -> str:
    text, start = found.string, found.start()
    if _MARK.match(text, found.end()):
        return found[0]
    return "" if start == 0 or text[start - 1] in _BEFORE_IMAGE else "! "


def without_inline_links(text: str) -> str:
    """``[label](target)`` as ``[label] (target)``: all that has no allowed address behind it."""
    return _INLINE.sub(r"\1 (", text)


class DefinitionBreaker:
    """Takes reference definitions apart while text streams through: ``[label]: target`` becomes ``[label] : target``.

    Only what ends its line behind the target, or goes on with a title, is a definition; ``[Note]: all staff …`` passes
    as it is. The text from ``]:`` to the decision is held.
    """

    def __init__(self) -> None:
        self._held = ""
        self._has_target = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held."""
        return not self._held

    def take(self, piece: str) -> str:
        """A complete word, or white space between words in any number of parts; returns what may go out."""
        return self._space(piece) if piece[0] in SPACE else self._word(piece)

    def close(self) -> str:
        """What is held at the end of the text."""
        return self._broken() if self._has_target else self._released()

    def _space(self, space: str) -> str:
        if not self._held:
            return space
        # A backslash takes the space behind it into the target, for some readers.
        ends_line = self._has_target and ("\n" in space or "\r" in space or self._held.endswith("\\"))
        self._held += space
        return self._broken() if ends_line or len(self._held) > _LONGEST else ""

    def _word(self, word: str) -> str:
        out = ""
        defines = _DEFINES.search(word)
        if self._held and self._has_target:
            out = self._broken() if word[0] in "\"'(" else self._released()
        elif self._held and (defines or word[0] == "<"):
            out = self._broken()  # ``<a target>`` may hold spaces, and end anywhere
        elif self._held:
            self._held += word
            self._has_target = True
            return ""
        if not defines:
            return out + word
        self._held, self._has_target = word, defines.end() < len(word)
        return out + self._broken() if "<" in word[defines.end() :] else out

    def _broken(self) -> str:
        return _DEFINES.sub(r"\1 :", self._released())

    def _released(self) -> str:
        held, self._held, self._has_target = self._held, "", False
        return held
