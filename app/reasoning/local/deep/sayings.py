"""Turns of phrase that are recognised with and without diacritics."""

import re
from collections.abc import Iterator

from app.text.language import fold, is_unaccented_vietnamese


class Saying:
    """Alternatives of one turn of phrase, at word boundaries, in both spellings; case does not matter."""

    def __init__(self, *written: str, starts: bool = True, ends: bool = True):
        """`starts` and `ends`: whether the phrase must begin and end at a word's boundary."""
        start, end = r"(?<!\w)" if starts else "", r"(?!\w)" if ends else ""
        pattern = f"{start}(?:{'|'.join(written)}){end}"
        self._exact = re.compile(pattern, re.IGNORECASE)
        self._bare = re.compile(fold(pattern), re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place of it."""
        return self._pattern(text).search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """It, at the very beginning."""
        return self._pattern(text).match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Every place of it."""
        return self._pattern(text).finditer(text)

    def sub(self, by: str, text: str) -> str:
        """The text with something in its place."""
        return self._pattern(text).sub(by, text)

    def __contains__(self, text: str) -> bool:
        """``text in saying``: whether the text says it."""
        return self.search(text) is not None

    def _pattern(self, text: str) -> re.Pattern[str]:
        return self._bare if text.isascii() and is_unaccented_vietnamese(text) else self._exact


def words_of(listed: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(listed.split())
