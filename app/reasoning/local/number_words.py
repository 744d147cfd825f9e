"""Numbers written in words, Vietnamese and English, up to billions: “ba mươi hai triệu”, “one and a half million”.

Also what stands half in digits: “15 triệu rưỡi”, “2 tỷ 500 triệu”, “1tr5”, and shares of a whole: “một phần ba”.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from app.domain.knowledge import Language
from app.reasoning.local.numbers import plain, read_number
from app.text.language import fold, is_unaccented_vietnamese

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_GAP = re.compile(r"[\s-]*")
_DIGITS_VI = {
    "không": 0, "một": 1, "mốt": 1, "hai": 2, "ba": 3, "bốn": 4, "tư": 4, "năm": 5, "lăm": 5, "nhăm": 5, "sáu": 6,
    "bảy": 7, "bẩy": 7, "tám": 8, "chín": 9,
}  # fmt: skip
_SCALES_VI = {"nghìn": 3, "ngàn": 3, "triệu": 6, "tr": 6, "tỷ": 9, "tỉ": 9}
_ONES_EN = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS_EN = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES_EN = {"thousand": 3, "million": 6, "billion": 9}
_PARTS_EN = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4,
    "fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10,
}  # fmt: skip
_DOZEN, _HUNDRED = 12, 100
_HALF = Decimal("0.5")


@dataclass(frozen=True, slots=True)
class SpeltNumber:
    """A number with words in it, where it stands in the text."""

    written: str
    """As a calculator reads it: ``32000000``, ``(1 / 3)``."""
    start: int
    end: int

    @property
    def is_share(self) -> bool:
        """Whether it is a part of a whole."""
        return self.written.startswith("(")


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


@dataclass(slots=True)
class _Running:
    """A number while its words are read; `section` is what the next scale word multiplies."""

    total: Decimal = Decimal(0)
    section: Decimal = Decimal(0)
    last: Decimal | None = None
    """The digit before, which “mươi” and “trăm” multiply."""
    scale: int = 12
    """Power of ten of the last scale word: they only go down."""
    is_open: bool = False
    """A section has begun."""

    @property
    def value(self) -> Decimal:
        return self.total + self.section

    def add(self, amount: Decimal) -> None:
        self.section += amount
        self.last, self.is_open = amount, True

    def multiply_last(self, by: int) -> None:
        own = self.last or Decimal(0)
        self.section += own * (by - 1)
        self.last = None

    def close(self, power: int) -> None:
        self.total += self.section.scaleb(power)
        self.section, self.last, self.scale, self.is_open = Decimal(0), None, power, False


@lru_cache(maxsize=1024)
def spelt_numbers(text: str, language: Language) -> tuple[SpeltNumber, ...]:
    """Every number of a normalised text that has a word in it, in order."""
    bare = language == "vi" and is_unaccented_vietnamese(text)
    words = [_Word(mark[0].lower(), mark.start(), mark.end()) for mark in _TOKEN.finditer(text)]
    return tuple(_found(text, words, language, bare=bare))


def _found(text: str, words: Sequence[_Word], language: Language, *, bare: bool) -> Iterator[SpeltNumber]:
    at = 0
    read = _English(text, words) if language == "en" else _Vietnamese(text, words, bare=bare)
    while at < len(words):
        written, end = read.number(at)
        if end > at and any(not word.text[0].isdigit() for word in words[at:end]):
            yield SpeltNumber(written, words[at].start, words[end - 1].end)
        at = max(end, at + 1)


class _Reader:
    """Reads words of one text by position."""

    def __init__(self, text: str, words: Sequence[_Word]):
        self._text, self._words = text, words

    def word(self, at: int) -> str:
        """The word at a place; empty behind the last, and where more than spaces stand before it."""
        if not 0 <= at < len(self._words):
            return ""
        if at and not _GAP.fullmatch(self._text, self._words[at - 1].end, self._words[at].start):
            return f" {self._words[at].text}"
        return self._words[at].text

    def adjoins(self, at: int) -> bool:
        """Whether the word stands right behind the one before, without a space."""
        return 0 < at < len(self._words) and self._words[at - 1].end == self._words[at].start

    def number(self, at: int) -> tuple[str, int]:
        """The number that begins at a word, and where it ends; the place itself when none does."""
        share = self._share(at)
        if share:
            return share
        running, end = _Running(), at
        while (taken := self._take(running, end, is_first=end == at)) > end:
            end = taken
        return (plain(running.value), end) if end > at else ("", at)

    def _share(self, at: int) -> tuple[str, int] | None:
        raise NotImplementedError

    def _take(self, running: _Running, at: int, *, is_first: bool) -> int:
        raise NotImplementedError

    def digits(self, word: str, language: Language) -> Decimal | None:
        """The value of a word in digits; None of any other."""
        return read_number(word, language) if word[:1].isdigit() else None


class _Vietnamese(_Reader):
    def __init__(self, text: str, words: Sequence[_Word], *, bare: bool):
        super().__init__(text, words)
        self._bare = bare
        self._ones = self._spelt(_DIGITS_VI)
        self._scales = self._spelt(_SCALES_VI)

    def _spelt(self, table: dict[str, int]) -> dict[str, int]:
        return {fold(word): value for word, value in table.items()} if self._bare else table

    def _is(self, word: str, *spellings: str) -> bool:
        return word in ([fold(spelling) for spelling in spellings] if self._bare else spellings)

    def _share(self, at: int) -> tuple[str, int] | None:
        """“một phần ba”, “2 phần 3”, “một nửa”."""
        first = self._words[at].text
        if self._is(first, "nửa") or (self._is(first, "một") and self._is(self.word(at + 1), "nửa")):
            return "(1 / 2)", at + 1 + (not self._is(first, "nửa"))
        above, below = self._small(first), self._small(self.word(at + 2))
        if above and below and self._is(self.word(at + 1), "phần"):
            return f"({plain(above)} / {plain(below)})", at + 3
        return None

    def _small(self, word: str) -> Decimal | None:
        if self._is(word, "mười"):
            return Decimal(10)
        return Decimal(self._ones[word]) if word in self._ones else self.digits(word, "vi")

    def _take(self, running: _Running, at: int, *, is_first: bool) -> int:
        word = self._words[at].text if is_first else self.word(at)
        if not word or word.startswith(" "):
            return at
        if word[0].isdigit():
            return self._take_digits(running, at, word, is_first=is_first)
        if word in self._scales:
            return self._take_scale(running, at, self._scales[word])
        if self._is(word, "rưỡi") and not is_first:
            return self._take_half(running, at)
        return self._take_small(running, at, word, is_first=is_first)

    def _take_digits(self, running: _Running, at: int, word: str, *, is_first: bool) -> int:
        value = self.digits(word, "vi")
        if value is None or running.is_open:
            return at
        if not is_first and self.adjoins(at):  # 1tr5 is one and a half million
            running.total += Decimal(f"0.{word}").scaleb(running.scale) if word.isdigit() else 0
            return at + 1
        if not is_first and self.word(at + 1) not in self._scales:
            return at
        running.add(value)
        return at + 1

    def _take_scale(self, running: _Running, at: int, power: int) -> int:
        if not running.is_open or power >= running.scale:
            return at
        running.close(power)
        return at + 1

    def _take_half(self, running: _Running, at: int) -> int:
        if running.is_open:
            running.section += _HALF
        else:
            running.total += _HALF.scaleb(running.scale)
        return at + 1

    def _take_small(self, running: _Running, at: int, word: str, *, is_first: bool) -> int:
        if self._is(word, "mười") and running.last is None:
            running.add(Decimal(10))
            running.last = None
            return at + 1
        if self._is(word, "mươi", "trăm") and running.last is not None:
            running.multiply_last(10 if self._is(word, "mươi") else _HUNDRED)
            return at + 1
        if not is_first and self._is(word, "linh", "lẻ") and self.word(at + 1) in self._ones:
            running.last = None
            return at + 1
        if word not in self._ones or running.last is not None:
            return at
        if not is_first and not running.is_open:
            return self._take_after_scale(running, at, self._ones[word])
        running.add(Decimal(self._ones[word]))
        return at + 1

    def _take_after_scale(self, running: _Running, at: int, digit: int) -> int:
        """“hai triệu ba” ends with tenths of the scale; “hai triệu ba trăm nghìn” goes on."""
        following = self.word(at + 1)
        if self._is(following, "trăm", "mươi") or following in self._scales:
            running.add(Decimal(digit))
        else:
            running.total += Decimal(digit).scaleb(running.scale - 1)
            running.scale = 0
        return at + 1


class _English(_Reader):
    def _share(self, at: int) -> tuple[str, int] | None:
        """“half”, “a third”, “two thirds”, “three-quarters”."""
        first, second = self._words[at].text, self.word(at + 1)
        if first == "half":
            return "(1 / 2)", at + 1
        above = 1 if first in ("a", "one") else _ONES_EN.get(first, 0)
        if above and second in _PARTS_EN:
            return f"({above} / {_PARTS_EN[second]})", at + 2
        return None

    def _take(self, running: _Running, at: int, *, is_first: bool) -> int:
        word = self._words[at].text if is_first else self.word(at)
        if word == "and" and not is_first:
            return self._take_and(running, at)
        if word in _SCALES_EN and running.is_open and _SCALES_EN[word] < running.scale:
            running.close(_SCALES_EN[word])
            return at + 1
        if word == "hundred" and running.is_open and running.section < _HUNDRED:
            running.section *= _HUNDRED
            running.last = None
            return at + 1
        if word == "dozen" and running.is_open:
            running.section *= _DOZEN
            return at + 1
        return self._take_small(running, at, word, is_first=is_first)

    def _take_and(self, running: _Running, at: int) -> int:
        """“two and a half million”, “one hundred and five”; any other “and” joins two numbers."""
        ahead = self.word(at + 1), self.word(at + 2)
        if ahead == ("a", "half") and running.is_open:
            running.section += _HALF
            return at + 3
        before = self.word(at - 1)
        joins = before == "hundred" or before in _SCALES_EN
        return at + 1 if joins and (ahead[0] in _ONES_EN or ahead[0] in _TENS_EN) else at

    def _take_small(self, running: _Running, at: int, word: str, *, is_first: bool) -> int:
        if word in ("a", "an"):
            if is_first and self.word(at + 1) in ("hundred", "dozen", *_SCALES_EN):
                running.add(Decimal(1))
                return at + 1
            return at
        if word[:1].isdigit():
            value = self.digits(word, "en")
            if value is None or running.is_open or not (is_first or self.word(at + 1) in _SCALES_EN):
                return at
            running.add(value)
            return at + 1
        value = Decimal(_ONES_EN.get(word, _TENS_EN.get(word, -1)))
        follows = running.last in _TENS_EN.values() and 0 < value < 10  # twenty five
        if value < 0 or (running.last is not None and not follows):
            return at
        running.add(value)
        return at + 1
