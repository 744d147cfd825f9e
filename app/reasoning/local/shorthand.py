"""Shorthand of Vietnamese chat (“ko vào đc mail cty”), spelt out so that it can be compared with documents."""

import re

from app.reasoning.local.cues import lines
from app.text.language import fold, guess_language, is_unaccented_vietnamese

_WORDS = dict(line.split(" = ") for line in lines("shorthand.words"))
_TOKEN = re.compile(
    rf"(?<![\w.,@/&+-])(?<!\d )(?:{'|'.join(sorted(map(re.escape, _WORDS), key=len, reverse=True))})(?![\w@/&+-])"
)
"""Lower case only, and no part of a name, address, code or figure: “T&C”, “10 k” stay."""


def spelt_out(text: str) -> str:
    """`text` with its shorthand written in full if it is Vietnamese; without diacritics where the text has none."""
    if not _TOKEN.search(text) or not _is_vietnamese(text):
        return text
    plain = is_unaccented_vietnamese(text)
    return _TOKEN.sub(lambda mark: fold(_WORDS[mark[0]]) if plain else _WORDS[mark[0]], text)


def _is_vietnamese(text: str) -> bool:
    """Whether a letter says so, or what is left without the shorthand, which could be anything itself."""
    rest = _TOKEN.sub(" ", text)
    return any(char.isalpha() and not char.isascii() for char in text) or (
        any(map(str.isalpha, rest)) and guess_language(rest) == "vi"
    )
