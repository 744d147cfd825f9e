"""Whether a text asks, and whether it compares."""

from app.reasoning.local.cues import cue
from app.text.language import is_unaccented_vietnamese, normalise

_KINDS = (
    "compare", "formula", "enumeration", "how_to", "consequence", "quantity", "when", "who", "where", "why", "list",
    "yes_no", "definition", "asking",
)  # fmt: skip
_COMPARES, *_OTHERS = (cue(f"question.{kind}") for kind in _KINDS)


def asks(text: str) -> bool:
    """Whether the text holds any asking word or a question mark."""
    spelt = normalise(text)
    folded = is_unaccented_vietnamese(spelt)
    return "?" in spelt or any(pattern[folded].search(spelt) for pattern in (_COMPARES, *_OTHERS))


def compares(text: str) -> bool:
    """Whether what is asked behind any “scene: ” is how things differ."""
    spelt = normalise(text)
    frame, colon, rest = spelt.partition(": ")
    asked = rest if colon and rest and not asks(frame) else spelt
    return bool(_COMPARES[is_unaccented_vietnamese(spelt)].search(asked))
