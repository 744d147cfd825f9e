"""Small numbers in words, Vietnamese and English: “mười hai”, “hai mươi lăm”, “twenty-four”, “one and a half”, “nửa”.

What policies count in words before a unit, below a thousand; arithmetic questions have a reader of their own.
"""

import re
from decimal import Decimal
from functools import lru_cache

_VI = {
    "một": 1, "mốt": 1, "hai": 2, "ba": 3, "bốn": 4, "tư": 4, "năm": 5, "lăm": 5, "sáu": 6, "bảy": 7, "tám": 8,
    "chín": 9,
}  # fmt: skip
_EN = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_VI_ORDER, _EN_ORDER = list(_VI), list(_EN)
_HALF = Decimal("0.5")


def _one_of(words: list[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_VI_DIGIT, _VI_BELOW_TEN = _one_of(["hai", "ba", "bốn", "năm", "sáu", "bảy", "tám", "chín"]), _one_of(_VI_ORDER)
_VI_TENS = rf"(?:(?:{_VI_DIGIT})\smươi|mười)(?:\s(?:{_VI_BELOW_TEN})(?!\s(?:trăm|mươi)))?"
_EN_TENS = rf"(?:{_one_of(list(_TENS))})(?:[\s-](?:{_one_of(_EN_ORDER[:9])}))?"
_EN_SMALL = rf"(?:{_EN_TENS}|{_one_of(_EN_ORDER)})"
SPELT = (
    rf"(?:(?:(?:{_VI_BELOW_TEN})\străm(?:\s(?:linh|lẻ)\s(?:{_VI_BELOW_TEN})|\s{_VI_TENS})?)|{_VI_TENS}"
    rf"|(?:(?:an?|{_one_of(_EN_ORDER[:9])})\shundred(?:\sand)?(?:\s{_EN_SMALL})?)"
    rf"|{_EN_SMALL}(?:\sand\sa\shalf)?|half\san?|an?\shalf|half|nửa|{_one_of(['hai', 'ba', 'bốn', 'sáu', 'bảy'])}"
    r"|tám|chín"
    r"|(?<!mỗi )(?<!hằng )(?<!hàng )(?<!một )(?<!trong )(?<!\d )năm(?=\s(?:ngày|giờ|tuần|tháng|lần|phút|người)\b)"
    r"|(?<=vòng )một|(?<=đa )một|(?<=thiểu )một|(?<=nhất )một|(?<=quá )một|(?<=trước )một|(?<=sau )một|(?<=nghỉ )một)"
)
"""Pattern of a number in words; ``một`` and ``năm`` alone only where they are no article and no year."""


@lru_cache(maxsize=4096)
def spelt_value(written: str) -> Decimal | None:
    """The value of words that match `SPELT`; None of anything else."""
    words = re.split(r"[\s-]+", written.lower())
    if "half" in words or "nửa" in words:
        whole = [_EN[word] for word in words if word in _EN]
        return Decimal(sum(whole)) + _HALF
    if any(word in ("trăm", "mươi", "mười") or word in _VI for word in words):
        return _vietnamese(words)
    return _english(words)


def _vietnamese(words: list[str]) -> Decimal | None:
    total = last = 0
    for word in words:
        if word in _VI:
            last = _VI[word]
            total += last
        elif word == "mười":
            total, last = total + 10, 0
        elif word in ("mươi", "trăm"):
            total += last * ((10 if word == "mươi" else 100) - 1)
            last = 0
        elif word not in ("linh", "lẻ"):
            return None
    return Decimal(total)


def _english(words: list[str]) -> Decimal | None:
    total = 0
    for word in words:
        if word in ("a", "an"):
            total += 1
        elif word == "hundred":
            total *= 100
        elif word in _EN or word in _TENS:
            total += _EN.get(word) or _TENS[word]
        elif word != "and":
            return None
    return Decimal(total) if total else None


def is_english_number(word: str) -> bool:
    """Whether one lower-case word is an English number; Vietnamese ones read like other words without diacritics."""
    return word in _EN or word in _TENS or word in ("hundred", "half")
