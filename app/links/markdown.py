"""What a reader of HTML or Markdown could make of a word: every plain text it may turn into, and the marks of links.

The readings are for looking only. What goes out is the text as it came, or a marker; never a decoded text. Markdown
that would make a link or an image is made harmless so that it still reads well.
"""

import re
import unicodedata
from functools import partial
from html import unescape
from urllib.parse import unquote

INVISIBLE = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff"
)
"""Inside of a character class: what nobody sees and many programs drop."""
PLAIN = (
    "\x20-\x7e\u00a1-\u00ac\u00ae-\u024f\u1e00-\u1eff\u2010-\u2023\u2026\u2030-\u203a\u20a0-\u20bf"
    "\u2190-\u2214\u2217-\u2235"
)
"""Inside of a character class: letters and signs that nothing reads as another ASCII sign."""

_DISGUISED = re.compile(rf"[&%\\]|[^{PLAIN}]")
_UNSEEN = re.compile(f"[{INVISIBLE}]")
_BREAKS = re.compile("[\t\n\r]")
"""Browsers drop them from addresses."""
_NUMBER = re.compile("&#0*([0-9]{1,8})[0-9]*")
_CODE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\})", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_LOOKALIKES = str.maketrans("。‧⁄∕∶", "..//:")
"""Dots, slashes and colons that NFKC leaves alone."""
_ROUNDS = 6


def readings(word: str) -> list[str] | None:
    """Every plain text `word` may turn into, `word` itself left out; None when it is wrapped too often to tell.

    Undone, as often as it was done: HTML entities, percent signs, ``\\x`` and ``\\u`` codes, invisible characters,
    full-width and other compatible letters. A backslash is read as Markdown's escape and as a slash. What stands
    between two steps counts too: another program may stop there.
    """
    if not _DISGUISED.search(word):
        return []
    steps = _steps(word)
    if steps is None or "\\" not in steps[-1]:
        return steps
    escaped, slashed = _steps(_ESCAPE.sub("", steps[-1])), _steps(steps[-1].replace("\\", "/"))
    return None if escaped is None or slashed is None else steps + escaped + slashed


def _steps(word: str) -> list[str] | None:
    """`word` and what it becomes, step by step, until nothing is left to undo."""
    steps = [word]
    for _ in range(_ROUNDS):
        before = len(steps)
        for undo in (_letters, _entities, unquote, partial(_CODE.sub, _character), partial(_BREAKS.sub, "")):
            word = undo(word)
            if word != steps[-1]:
                steps.append(word)
        if len(steps) == before:
            return steps
    return None


def _entities(word: str) -> str:
    # Python refuses to read numbers of thousands of digits; browsers read them as no character.
    return unescape(_NUMBER.sub(r"&#\1", word)) if "&" in word else word


def _letters(word: str) -> str:
    """The letters that are seen, in their plain form."""
    return _UNSEEN.sub("", word if word.isascii() else unicodedata.normalize("NFKC", word.translate(_LOOKALIKES)))


def _character(code: re.Match[str]) -> str:
    number = int(code[1] or code[2] or code[3], 16)
    return chr(number) if number <= 0x10FFFF else ""


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


def without_tags(word: str) -> str:
    """``<b>`` as ``‹b›``: no tag, comment or autolink in HTML or Markdown. ``a < b``, ``<5`` and ``->`` stay."""
    return _TAG.sub(lambda tag: f"‹{tag[1]}{'›' if tag[2] else ''}", word)


def without_links(text: str, *, keeps_last: bool) -> str:
    """``![chart](…)`` as ``[chart](…)``, and ``[label](target)`` as ``[label] (target)``; the last one may be kept.

    An exclamation mark behind a word (``Xong![chart](…)``) gets a space.
    """
    plain = _IMAGE.sub(_plain_link, text)
    return _INLINE.sub(r"\1 (", plain[:-1]) + plain[-1:] if keeps_last else _INLINE.sub(r"\1 (", plain)


def _plain_link(found: re.Match[str]) -> str:
    text, start = found.string, found.start()
    if _MARK.match(text, found.end()):
        return found[0]
    return "" if start == 0 or text[start - 1] in _BEFORE_IMAGE else "! "


def without_definitions(text: str) -> str:
    """``[label]: target`` as ``[label] : target``: no reference definition."""
    return _DEFINES.sub(r"\1 :", text)
