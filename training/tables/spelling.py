"""Words of questions, cells and headers as they are compared, and how alike two are written."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from app.text.language import fold, normalise

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?![^\W_])|[^\W_]+|[%&#✓✔✗]|[<>]=?|[=≥≤]")


class Token(NamedTuple):
    """A word of a text: as it is compared, as it is written, and where."""

    key: str
    written: str
    at: int


def tokens(text: str) -> list[Token]:
    """The words of a text."""
    return [Token(_stem(fold(one[0]).lower()), one[0], one.start()) for one in _TOKEN.finditer(normalise(text))]


def keys(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared."""
    return tuple(token.key for token in tokens(text))


def _stem(word: str) -> str:
    """An English plural as its singular; other words as they are."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def likeness(said: Token, other: Token) -> float:
    """How alike two words are written: 1 the same, 0 not at all."""
    a, b = said.key, other.key
    if a == b:
        x, y = said.written.lower(), other.written.lower()
        return 1.0 if x == y or x.isascii() or y.isascii() or _stem(x) == _stem(y) else 0.7
    if len(a) > 2 and a.isdigit() and b.endswith(a) and not b.isdigit():
        return 0.8
    if len(a) < 4 or len(b) < 4 or a[0] != b[0] or any(char.isdigit() for char in a + b):
        return 0.0
    if b.startswith(a) or a.startswith(b):
        return 0.8 if min(len(a), len(b)) / max(len(a), len(b)) > 0.5 else 0.6
    most = 1 if min(len(a), len(b)) < 9 else 2
    near = abs(len(a) - len(b)) <= most and not _shortened(a, most).isdisjoint(_shortened(b, most))
    return 0.75 if near else 0.0


@lru_cache(maxsize=20_000)
def _shortened(word: str, times: int) -> frozenset[str]:
    """A word with up to so many letters left out."""
    found = {word}
    for _ in range(times):
        found |= {one[:at] + one[at + 1 :] for one in found for at in range(len(one))}
    return frozenset(found)


def runs(own: Sequence[Token], at_key: dict[str, list[tuple[int, float]]]) -> Iterator[tuple[frozenset[int], set[str]]]:
    """Stretches of the question that hold words of a value, with one other word between at most."""
    at = sorted({(place, token.key) for token in own for place, _ in at_key.get(token.key, ())})
    run: list[tuple[int, str]] = []
    for place, key in at:
        if run and (place - run[-1][0] > 2 or any(key == k for _, k in run)):
            yield frozenset(p for p, _ in run), {k for _, k in run}
            run = []
        run.append((place, key))
    if run:
        yield frozenset(p for p, _ in run), {k for _, k in run}


def in_order(said: Sequence[Token], words: Sequence[Token]) -> bool:
    """Whether words are said in the order they stand in."""
    left = iter(words)
    return all(any(likeness(token, word) > 0 for word in left) for token in said)
