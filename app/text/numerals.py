"""What numbers are written with: digits, and the words of Vietnamese (with and without diacritics) and English.

Each word has a value and a letter for what it can be in a number; `number_grammar` reads rows of these letters:
``u`` 1–9, ``w`` such a digit that is more often another word, ``l y v`` digits behind tens only, ``z`` zero,
``t`` ten, ``T`` tens, ``H`` hundred, ``o`` the zero of 105, ``s M B`` thousand to billion, ``r`` a half more, ``p`` the
decimal sign, ``F`` “part”, ``h`` half, ``D`` dozen, ``m`` minus; in English ``O`` 1–9, ``E`` 10–19, ``Y`` tens,
``C`` hundred, ``K`` scales, ``A`` a, ``Z`` zero, ``x`` half, ``q`` other parts, ``G`` dozen, ``&`` and, ``.`` point.
"""

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

from app.domain.knowledge import Language
from app.text.language import fold, word_set

MAX_DIGITS = 30
"""Longer rows of digits are not numbers anybody computes with."""
EXACT = Context(prec=80)
"""Wide enough that nothing here is ever rounded."""
TOKEN = re.compile(r"[0-9]{1,3}(?: [0-9]{3}){2,9}(?![0-9])|[0-9]+(?:[.,'’\u00a0\u202f][0-9]+)*|[^\W\d_]+")
"""A word, or digits with their separators."""
_GAP = re.compile(r"[ \t\u00a0]*-?[ \t\u00a0]*")
_DIGITS = frozenset("0123456789")
_NUMBER = re.compile(r"([0-9]{1,3}(?:([ .,'’\u00a0\u202f])[0-9]{3})(?:\2[0-9]{3})*|[0-9]+)(?:([.,])([0-9]*))?")
"""Whole digits with the sign that groups them, decimal sign, decimals."""


def _read_words() -> tuple[dict[str, str], dict[str, int]]:
    """Letter and value of each word of ``number_words.txt``."""
    letters: dict[str, str] = {}
    values: dict[str, int] = {}
    for line in (Path(__file__).parent / "number_words.txt").read_text(encoding="utf-8").splitlines():
        letter, *listed = line.split()
        for word, _, value in (one.partition("=") for one in listed if len(letter) == 1 and letter != "#"):
            letters[word], values[word] = letter, int(value)
    return letters, values


WORD_CLASSES, _VALUES = _read_words()
"""The letter of each word, lower case; and its value."""
_FOLDED_WEAK = frozenset({"nam", "sau", "bay", "tam"})
"""Digits that without diacritics are more often another word: year, after, fly, temporary."""
_NOT_FOLDED = frozenset({"tá", "âm", "phẩy", "chấm", "mốt"})
"""Words that without diacritics are nearly always others."""
_SHORT_SCALES = {"k": 3, "tr": 6, "mil": 6, "mn": 6, "mio": 6, "bn": 9}
"""Scales only right behind digits."""
WORD_CLASSES_FOLDED = {fold(word): letter for word, letter in WORD_CLASSES.items() if word not in _NOT_FOLDED}
WORD_CLASSES_FOLDED |= dict.fromkeys(_FOLDED_WEAK, "w") | {"tu": "v"}
"""The same for Vietnamese typed without diacritics."""
VALUES = _SHORT_SCALES | {fold(word): value for word, value in _VALUES.items()} | _VALUES
"""The value of each word; of scales the power of ten."""
_SCALES_BEHIND_DIGITS = {
    **dict.fromkeys(_SHORT_SCALES, "k"), "nghin": "s", "ngan": "s", "trieu": "M", "tr": "M", "ty": "B", "ti": "B",
}  # fmt: skip
"""Letters of scales that are read behind digits in any text."""
ORDINAL_BEFORE = frozenset({"thứ", "thu", "tháng", "thang", "mùng", "mung", "mồng", "mong", "quý", "lớp", "khoá"})
"""Behind these a digit in words names something: “thứ hai”, “tháng ba”."""
NOT_ONE_AFTER = frozenset({"this", "that", "the", "no", "any", "every", "each", "which", "another", "last", "next"})
"""Behind these “one” counts nothing."""
COUNTED = word_set(
    "ngay gio tieng tuan thang lan phut giay nguoi nam dong trieu nghin ty cai chiec con bo ban diem buoc tang "
    "phong ca buoi dem muc mon suat km kg met m lit phan ky do em anh nhan nguyen bac bai cau trang file"
)
"""Folded words that “năm” counts when it is five."""
NOT_FIVE_AFTER = word_set("moi hang trong ca dau cuoi giua nua tung cac nhung may nhieu vai nien qua nay theo")
"""Folded words before “năm” that make it a year."""
NOT_FIVE_BEFORE = word_set("nay truoc do khi toi ngoai")
"""Folded words two behind that make it “năm tháng này”, “sau ngày đó”."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number and where it stands."""

    exact: Fraction
    """Its value; of “một phần ba” no decimal is exact."""
    start: int
    end: int
    is_spelled: bool = False
    """A word belongs to it: “mười lăm”, “5 triệu”, “12k”."""
    is_share: bool = False
    """A part of a whole: “một nửa”, “two thirds”."""

    @property
    def value(self) -> Decimal:
        """The value as a decimal, cut after eighty digits."""
        return EXACT.divide(Decimal(self.exact.numerator), Decimal(self.exact.denominator))


def read_digits(digits: str, language: Language, *, groups_first: bool = False) -> Decimal | None:
    """The value of digits with separators, None when they are no number (``1.2.3``); `groups_first`: one group is
    thousands."""
    found = _NUMBER.fullmatch(digits) if len(digits) <= MAX_DIGITS * 2 else None
    if found is None or sum(char in _DIGITS for char in digits) > MAX_DIGITS:
        return None
    whole, separator, mark, fraction = found.groups()
    if digits == whole and not separator:
        return Decimal(digits)
    if separator and separator == mark:
        return None
    if separator and separator in ".," and not mark and whole.count(separator) == 1:  # 1.500
        is_thousands = groups_first or separator == ("." if language == "vi" else ",")
        if whole[0] == "0" or not is_thousands:
            whole, _, fraction = whole.partition(separator)
    return Decimal(f"{''.join(char for char in whole if char in _DIGITS)}.{fraction or 0}")


def is_english_number(word: str) -> bool:
    """Whether one lower-case word is an English number; Vietnamese ones read like other words without diacritics."""
    return WORD_CLASSES.get(word, " ") in "OEYCx"


def tokens_of(text: str, *, bare: bool) -> tuple[list[str], list[tuple[int, int]], str]:
    """The tokens of a text in lower case, where they stand, and the letter of each; two ``;`` close the letters.

    A token ``;`` stands where more than spaces or a hyphen lie between two; `bare`: the text has no diacritics.
    """
    classes = WORD_CLASSES_FOLDED if bare else WORD_CLASSES
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    letters: list[str] = []
    end = 0
    for mark in TOKEN.finditer(text):
        if words and text[end : mark.start()] != " " and not _GAP.fullmatch(text, end, mark.start()):
            words.append(";")
            spans.append((end, mark.start()))
            letters.append(";")
        words.append(mark[0].lower())
        spans.append(mark.span())
        is_glued = len(words) > 1 and mark.start() == end
        letters.append(_letter_of(words[-1], letters[-1] if letters else " ", classes, is_glued=is_glued))
        end = mark.end()
    return words, spans, "".join(letters) + ";;"


def _letter_of(word: str, before: str, classes: dict[str, str], *, is_glued: bool) -> str:
    if word[0] in _DIGITS:
        return "n" if is_glued and before != ";" else "N"
    if before in "Nn" and word in _SCALES_BEHIND_DIGITS:
        return _SCALES_BEHIND_DIGITS[word]
    if word == "muoi" and word in classes:  # mười and mươi
        return "T" if before in "uw" else "t"
    return classes.get(word, " ")
