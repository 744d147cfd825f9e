"""The words by which questions and answers are recognised, read from ``cues.txt``, and the reasoner's own sentences.

One regular expression a line, grouped in ``[sections]`` named after the module that uses them; lines starting with
``#`` are comments. Lines are alternatives, tried from the top; spaces at their ends are written ``\\s``.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from app.domain.knowledge import Language
from app.text.language import fold

_HEAD = re.compile(r"\[([a-z_.]+)\]")
Pair = tuple[re.Pattern[str], re.Pattern[str]]
"""A cue with diacritics, and as it looks without them; indexed by whether the text is folded."""


@cache
def _sections() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    own: list[str] | None = None
    for line in files(__package__).joinpath("cues.txt").read_text("utf-8").splitlines():
        head = _HEAD.fullmatch(line.strip())
        if head:
            own = found.setdefault(head[1], [])
        elif line.strip() and not line.startswith("#"):
            if own is None:
                raise ValueError(f"cues.txt: {line!r} stands in no section")
            own.append(line)
    return {name: tuple(section) for name, section in found.items()}


def alternatives(section: str) -> str:
    """The lines of a section as one regular expression, to be put into a group."""
    return "|".join(_sections()[section])


def lines(section: str) -> tuple[str, ...]:
    """The lines of a section, for patterns that are used one by one."""
    return _sections()[section]


def cue(section: str) -> Pair:
    """The section as a pattern that begins at a word, in both spellings; case does not matter."""
    written = alternatives(section)
    return re.compile(rf"\b(?:{written})", re.IGNORECASE), re.compile(rf"\b(?:{fold(written)})", re.IGNORECASE)


def word_list(section: str) -> frozenset[str]:
    """The words of a section of plain words."""
    return frozenset(word for line in _sections()[section] for word in line.split())


def named_patterns(section: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The lines ``name = pattern`` of a section, in order."""
    return tuple((name, re.compile(written)) for name, written in named_lines(section))


def named_lines(section: str) -> tuple[tuple[str, str], ...]:
    """The same lines for patterns that are put together before they are compiled."""
    parts = (line.partition(" = ") for line in _sections()[section])
    return tuple((name, written) for name, _, written in parts)


@cache
def _sentences() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    found: Mapping[str, Mapping[str, Mapping[str, str]]]
    found = json.loads(files(__package__).joinpath("sentences.json").read_text("utf-8"))
    return found


def sentences(section: str, language: Language) -> Mapping[str, str]:
    """What the reasoner says itself, by name, from ``sentences.json``; {…} are filled in."""
    return _sentences()[section][language]
