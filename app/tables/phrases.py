"""Words of questions and tables as they are compared, and the phrases of `words.yaml`."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from app.text.language import fold, guess_language, normalise

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?![^\W_])|[^\W_]+|[%&#✓✔✗]|[<>]=?|[=≥≤]")


class Token(NamedTuple):
    """A word of a text: as it is compared, as it is written, and where."""

    key: str
    written: str
    at: int
    is_bare: bool = False
    """Whether the whole text is written without marks."""


def tokens(text: str) -> list[Token]:
    """The words of a text."""
    written = normalise(text)
    is_bare = written.isascii() and guess_language(written) == "vi"
    return [Token(stem(fold(found[0]).lower()), found[0], found.start(), is_bare) for found in _TOKEN.finditer(written)]


def keys(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared."""
    return tuple(token.key for token in tokens(text))


def stem(word: str) -> str:
    """An English plural as its singular; other words as they are."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 7 and word.endswith("ely"):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@cache
def language_data() -> dict[str, Any]:
    """The content of `words.yaml`."""
    read: dict[str, Any] = yaml.load(
        files("app.tables").joinpath("words.yaml").read_text("utf-8"), Loader=yaml.BaseLoader
    )
    return read


@cache
def phrases_of(section: str) -> Mapping[tuple[str, ...], Sequence[tuple[str, tuple[str, ...]]]]:
    """The phrases of a section of `words.yaml`, each with the names it stands under and its own spelling."""
    found: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}
    content = language_data()[section]
    for name, listed in content.items() if isinstance(content, dict) else [("", content)]:
        for phrase in listed:
            written = tokens(phrase)
            found.setdefault(tuple(one.key for one in written), []).append(
                (name, tuple(one.written for one in written))
            )
    return found


def names_of(section: str, said: Sequence[Token]) -> tuple[str, ...]:
    """The names under which some words stand in a section of `words.yaml`: those of the same marks, or without any."""
    listed = phrases_of(section).get(tuple(token.key for token in said), ())
    return tuple(dict.fromkeys(name for name, written in listed if _is_same(written, said)))


def _is_same(written: Sequence[str], said: Sequence[Token]) -> bool:
    for own, token in zip(written, said, strict=True):
        asked = token.written.lower()
        if own.isascii() != asked.isascii() and not (asked.isascii() and token.is_bare):
            return False
        if not asked.isascii() and asked != own.lower():
            return False
    return True


def is_near(a: str, b: str) -> bool:
    """Whether two spellings are one letter apart; two for long ones. Letters that changed places count once."""
    if a == b or a[0] != b[0] or any(char.isdigit() for char in a + b):
        return a == b
    most = 1 if min(len(a), len(b)) < 9 else 2
    return abs(len(a) - len(b)) <= most and _edit_distance(a, b) <= most


def _edit_distance(a: str, b: str) -> int:
    """Letters to add, leave out, change or swap with their neighbour."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
