"""Quasi-exact match, as GAIA scores answers: numbers as numbers, lists by element, words without their spelling.

What is expected decides how both sides are read. Expected and answer of a Vietnamese question are read the Vietnamese
way: dots group thousands, the comma is the decimal sign, and dong may be named.
"""

import re
import string
import unicodedata
from decimal import Decimal

from app.domain.knowledge import Language

_DROPPED = str.maketrans("", "", "$%,")
_SEPARATORS = re.compile(r"[,;]")
_SPACE = re.compile(r"\s+")
_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MONEY = re.compile(r"^[$₫]|(?:đồng|vnđ|vnd|đ|₫|[$%])$")
_SCALES = {"nghìn": 3, "ngàn": 3, "triệu": 6, "tỷ": 9, "tỉ": 9}
_SCALED = re.compile(rf"(.+?)({'|'.join(_SCALES)})?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_GROUPED_ENGLISH = re.compile(r"[+-]?\d{1,3}(?:,\d{3}){2,}(?:\.\d+)?")
"""Two commas cannot both be decimal signs."""


def is_match(answer: str, expected: str, language: Language = "en") -> bool:
    """Whether `answer` counts as `expected`, which is a number, a list separated by commas or semicolons, or words."""
    if (wanted := number_in(expected, language)) is not None:
        return _same_number(answer, wanted, language)
    if _SEPARATORS.search(expected):
        return _same_list(answer, expected, language)
    return bare_words(answer) == bare_words(expected)


def number_in(text: str, language: Language = "en") -> Decimal | None:
    """The number that `text` is and nothing else; None where it is more or less than that. It is spelt as a program
    writes it (``1500``, ``.5``, ``1e3``), in Vietnamese also as people do (``1.500.000``, ``13,5``, ``17,6 triệu``)."""
    return _vietnamese(_joined(text)) if language == "vi" else _number(text.strip())


def bare_words(text: str, *, punctuation: bool = False) -> str:
    """`text` in lower case without white space, and without ASCII punctuation unless that is to stay."""
    joined = _joined(text)
    return joined if punctuation else joined.translate(_PUNCTUATION)


def _joined(text: str) -> str:
    # Two normal forms of one letter look alike.
    return _SPACE.sub("", unicodedata.normalize("NFC", text)).lower()


def _same_number(answer: str, wanted: Decimal, language: Language) -> bool:
    if language == "vi":
        return number_in(answer, "vi") == wanted
    # Signs of money, shares and thousands are dropped from the answer, never from what is expected.
    found = number_in(answer.translate(_DROPPED))
    return found is not None and float(found) == float(wanted)


def _same_list(answer: str, expected: str, language: Language) -> bool:
    found, wanted = _SEPARATORS.split(answer), _SEPARATORS.split(expected)
    return len(found) == len(wanted) and all(
        _same_element(one, other, language) for one, other in zip(found, wanted, strict=True)
    )


def _same_element(answer: str, expected: str, language: Language) -> bool:
    if (wanted := number_in(expected, language)) is not None:
        return _same_number(answer, wanted, language)
    return bare_words(answer, punctuation=True) == bare_words(expected, punctuation=True)


def _vietnamese(spelt: str) -> Decimal | None:
    parts = _SCALED.fullmatch(_MONEY.sub("", spelt))
    if parts is None:
        return None
    digits, scale = parts.groups()
    if _GROUPED_ENGLISH.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _GROUPED.fullmatch(digits) or _DECIMAL.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    value = _number(digits)
    return value if value is None or scale is None else value.scaleb(_SCALES[scale])


def _number(spelt: str) -> Decimal | None:
    return Decimal(spelt) if _PLAIN.fullmatch(spelt) else None
