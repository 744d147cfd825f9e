"""Regular expressions of an asker: matched in linear time by RE2, small in length, in memory and in states.

Matching releases the interpreter's lock, so in a thread it stops nobody; a line of 8,000 characters takes at most about
a tenth of a second. Letters match in either case.
"""

import re
from dataclasses import dataclass
from typing import Literal, Protocol

import re2

MAX_PATTERN_CHARS = 500
_MAX_MEMORY = 2**20
"""Bytes of states kept; beyond it RE2 goes on more slowly and still in linear time."""
_MAX_PROGRAM = 5_000
"""Steps of the compiled expression: the time for a character grows with them."""
_NOT_EASY = re.compile(r"\||\(\?|\\[^\W_dDwWsSbB]|\[(?:\^?\]|[^\]]*[\\\[])")
"""Alternatives, flags, characters by number or name, classes with brackets or escapes inside."""
_ONE_OF_MANY = re.compile(r"\\.|\[[^\]]+\]", re.DOTALL)
_GROUP = re.compile(r"\([^()]*\)")
_REPEATED = re.compile(r".(?:[*+?]|\{(?:\d+(?:,\d*)?\})?)", re.DOTALL)
_PLAIN = re.compile(r"[^\x00-\x1f\x7f-\U0010ffff^$.?*+()\[\]{}]{3,}")
Fault = Literal["empty", "long", "large", "syntax"]


class RegexRefused(ValueError):
    """An expression that is not searched for."""

    def __init__(self, fault: Fault):
        super().__init__(fault)
        self.fault: Fault = fault


class _Compiled(Protocol):
    """What is used of RE2's object."""

    programsize: int

    def search(self, text: str) -> object | None: ...


@dataclass(frozen=True)
class Regex:
    """A compiled expression."""

    text: str
    literal: str
    """A piece of text every match contains, in any case; empty where none can be told."""
    _compiled: _Compiled

    def matches(self, text: str) -> bool:
        """Whether it is found anywhere in `text`, which holds no lone surrogates."""
        return self._compiled.search(text) is not None


def compile_regex(text: str) -> Regex:
    """Compile an expression; takes a few milliseconds at most. Raises `RegexRefused`."""
    if not text:
        raise RegexRefused("empty")
    if len(text) > MAX_PATTERN_CHARS:
        raise RegexRefused("long")
    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture, options.case_sensitive = _MAX_MEMORY, False, True, False
    try:
        compiled: _Compiled = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise RegexRefused("large" if "too large" in str(error) else "syntax") from error
    if compiled.programsize > _MAX_PROGRAM:
        raise RegexRefused("large")
    return Regex(text, required_literal(text), compiled)


def required_literal(text: str) -> str:
    """The longest piece of plain ASCII text every match of `text` contains, letters in either case (ſ, which is an s to
    RE2, aside); empty where that cannot be told easily.

    Looks only at what stands outside brackets, in expressions without alternatives, flags and numbered characters.
    """
    if _NOT_EASY.search(text):
        return ""
    text, groups = _ONE_OF_MANY.sub("\0", text), 1
    while groups:
        text, groups = _GROUP.subn("\0", text)
    return max(_PLAIN.findall(_REPEATED.sub("\0", text)), key=len, default="")
