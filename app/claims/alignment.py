"""Two sentences laid side by side: how alike they are, and where one has other words than the other."""

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from app.text.language import normalise

_TOKEN = re.compile(r"[^\W_]+(?:[-.,@:/’'](?=[^\W_])[^\W_]+)*")
_TOKENS = 120
"""Of a sentence; more stand only in lists without full stops."""


class Span(NamedTuple):
    """Words of both sides in one place; one side may have none."""

    one: str
    other: str


class Alignment(NamedTuple):
    """What `aligned` found."""

    ratio: float
    """Share of the words that stand on both sides in one order, 0–1."""
    spans: tuple[Span, ...]
    """Where they differ, in order."""


def aligned(one: str, other: str) -> Alignment:
    """Lay two sentences side by side; the same both ways but for the sides of the spans."""
    if (len(other), other) < (len(one), one):
        turned = aligned(other, one)
        return Alignment(turned.ratio, tuple(Span(span.other, span.one) for span in turned.spans))
    mine, theirs = tokens_of(one), tokens_of(other)
    matcher = SequenceMatcher(None, [t.lower() for t in mine], [t.lower() for t in theirs], autojunk=False)
    spans = tuple(
        Span(" ".join(mine[a:b]), " ".join(theirs[c:d])) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"
    )
    return Alignment(matcher.ratio(), spans)


def tokens_of(text: str) -> list[str]:
    """Words, codes and addresses of a text, as written."""
    return _TOKEN.findall(normalise(text))[:_TOKENS]
