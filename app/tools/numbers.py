"""Numbers as people write them in Vietnamese and English: reading, finding and writing.

Vietnamese groups thousands with a point and writes decimals with a comma (1.000.000,5); English does the reverse.
Where a spelling can be read both ways (``1.500``) the language decides; where it cannot, the spelling does.
"""

import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext

from app.domain.knowledge import Language
from app.text.language import clean, fold

MAX_DIGITS = 30
"""Longer rows of digits are not numbers anybody computes with."""
_EXACT = Context(prec=80)
"""Wide enough that nothing here is ever rounded."""

_MAGNITUDES = {
    "nghin": 3, "ngan": 3, "k": 3, "thousand": 3, "trieu": 6, "tr": 6, "million": 6, "ty": 9, "ti": 9, "billion": 9,
    "bn": 9,
}  # fmt: skip
"""Folded word to power of ten."""
_NUMBER = re.compile(
    r"(?P<sign>[-−])?\s?(?P<currency>[£$€₫]\s?)?"
    r"(?P<digits>[0-9]+(?:[.,][0-9]+)*)"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,2})(?!\w)"
    r"|\s?(?P<magnitude>nghìn|ngàn|nghin|ngan|k|thousand|triệu|trieu|tr|million|tỷ|tỉ|ty|billion|bn)"
    r"(?:(?P<rest>[0-9]{1,3})(?!\w)|\s(?P<half>rưỡi|ruoi)\b|(?!\w)))?"
    r"(?:\s?(?P<percent>%|phần trăm|phan tram|percent\b|per cent\b))?",
    re.IGNORECASE,
)
_WORDS = {
    "một": "1", "hai": "2", "ba": "3", "bốn": "4", "năm": "5", "sáu": "6", "bảy": "7", "tám": "8", "chín": "9",
    "mười": "10", "nửa": "0.5", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13",
    "fourteen": "14", "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19",
    "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "dozen": "12", "half": "0.5", "quarter": "0.25",
    "twice": "2", "double": "2", "triple": "3",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")


def parse_number(text: str, language: Language) -> Decimal:
    """The number `text` stands for: ``5 triệu`` is 5000000, ``12,5 %`` is 0.125, ``-1e6`` is -1000000.

    Raises `ValueError` when the whole of `text` is not one number.
    """
    match = _NUMBER.fullmatch(clean(text).strip())
    value = None if match is None else _value(match, language)
    if match is None or value is None:
        raise ValueError("not a number")
    if match["percent"]:
        value = value.scaleb(-2, _EXACT)
    return -value if match["sign"] else value


def numbers_in(text: str) -> frozenset[Decimal]:
    """Every number `text` states, without sign, in every way it can be read.

    ``1.500`` gives 1500 and 1.5, ``5 triệu`` 5 and 5000000, ``12%`` 12 and 0.12, ``three days`` 3: what somebody who
    copied a number from the text may have written.
    """
    spelt = clean(text)
    found = set(_number_words(spelt))
    for match in _NUMBER.finditer(spelt):
        found.update(_readings(match, "vi"))
        if "." in match["digits"] or "," in match["digits"]:
            found.update(_readings(match, "en"))
    return frozenset(found)


def format_number(value: Decimal, language: Language, places: int | None = None) -> str:
    """`value` with grouped thousands, rounded half up to `places` decimals; None = as many as it has, no trailing 0."""
    with localcontext(_EXACT):
        shown = value if places is None else value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        text = f"{abs(shown):,f}"
        negative = shown < 0
    if places is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    if language == "vi":
        text = text.translate(str.maketrans(",.", ".,"))
    return f"-{text}" if negative else text


def read_digits(digits: str, language: Language) -> Decimal | None:
    """The value of digits with separators, or None when they are no number (``1.2.3``, ``12,34,567``)."""
    if len(digits) > MAX_DIGITS * 2 or sum(char.isdigit() for char in digits) > MAX_DIGITS:
        return None
    marks = [char for char in digits if char in ".,"]
    if not marks:
        return Decimal(digits)
    decimal_mark = _decimal_mark(digits, marks, language)
    whole, _, fraction = digits.rpartition(decimal_mark) if decimal_mark else (digits, "", "")
    if re.search("[.,]", whole) and not re.fullmatch(r"[0-9]{1,3}(?:([.,])[0-9]{3})(?:\1[0-9]{3})*", whole):
        return None
    if decimal_mark and decimal_mark in whole:
        return None
    return Decimal(f"{re.sub('[.,]', '', whole)}.{fraction or 0}")


def _decimal_mark(digits: str, marks: list[str], language: Language) -> str:
    """The separator that stands before the decimals, or "" when all separate thousands."""
    if len(set(marks)) == 2:
        return marks[-1]
    if len(marks) > 1:
        return ""
    whole, _, rest = digits.partition(marks[0])
    looks_grouped = len(rest) == 3 and len(whole) <= 3 and whole[0] != "0"
    thousands = "." if language == "vi" else ","
    return "" if looks_grouped and marks[0] == thousands else marks[0]


def _value(match: re.Match[str], language: Language) -> Decimal | None:
    """Digits times magnitude, without sign and percent."""
    value = read_digits(match["digits"], language)
    if value is None:
        return None
    if match["rest"]:  # colloquial: 15tr5 is fifteen and a half million
        value = _EXACT.add(value, Decimal(f"0.{match['rest']}"))
    elif match["half"]:
        value = _EXACT.add(value, Decimal("0.5"))
    power = _power(match)
    return value.scaleb(power, _EXACT) if power else value


def _readings(match: re.Match[str], language: Language) -> Iterator[Decimal]:
    plain, whole = read_digits(match["digits"], language), _value(match, language)
    if plain is None or whole is None:
        return
    yield plain
    yield whole
    if match["percent"]:
        yield whole.scaleb(-2, _EXACT)


def _power(match: re.Match[str]) -> int:
    if match["exponent"]:
        return int(match["exponent"])
    return _MAGNITUDES[fold(match["magnitude"]).lower()] if match["magnitude"] else 0


def _number_words(text: str) -> Iterator[Decimal]:
    for match in _WORD.finditer(text.lower()):
        if match[0] in _WORDS:
            yield Decimal(_WORDS[match[0]])
