"""Numbers in Vietnamese and English text: digits, words, and both together; and writing them for people.

Vietnamese groups thousands with a point and writes decimals with a comma (1.000.000,5); English does the reverse.
Where a spelling can be read both ways (``1.500``) the language decides; where it cannot, the spelling does.
"""

import re
from decimal import ROUND_HALF_UP, Decimal, localcontext

from app.domain.knowledge import Language
from app.text.language import clean, normalise
from app.text.number_grammar import Reader, numbers_in
from app.text.numerals import EXACT, MAX_DIGITS, TOKEN, Number, read_digits

__all__ = ["MAX_DIGITS", "Number", "all_readings", "format_number", "numbers_in", "plain", "read_digits", "read_number"]

_WHOLE = re.compile(
    r"(?P<sign>[-−])?\s?(?:[£$€₫]\s?)?(?P<body>.+?)(?:\s?(?P<percent>%|phần trăm|phan tram|percent|per cent))?",
    re.IGNORECASE | re.DOTALL,
)
_SCIENTIFIC = re.compile(
    r"(?<![0-9.,])(?P<digits>[0-9]{1,31}(?:[.,][0-9]{1,31}){0,12})[eE](?P<exponent>[+-]?[0-9]{1,2})(?!\w)"
)
_PERCENT_BEHIND = re.compile(r"\s?(?:%|phần trăm|phan tram|percent\b|per cent\b)", re.IGNORECASE)
_OTHER_WORDS = {word: Decimal(value) for word, value in (("twice", 2), ("double", 2), ("thrice", 3), ("triple", 3))}
_OTHER_WORDS["quarter"] = Decimal("0.25")


def read_number(text: str, language: Language) -> Decimal | None:
    """The value of a text that is one number and nothing else (``5 triệu``, ``12,5 %``, “mười lăm”); None of any
    other."""
    match = _WHOLE.fullmatch(normalise(text[:400])) if len(text) <= 400 else None
    if match is None:
        return None
    value = _value_of(match["body"].strip(), language)
    if value is None:
        return None
    if match["percent"]:
        value = value.scaleb(-2, EXACT)
    return -value if match["sign"] else value


def _value_of(body: str, language: Language) -> Decimal | None:
    if match := _SCIENTIFIC.fullmatch(body):
        return _scientific(match, language)
    if body[:1] in "-−":
        return None
    bare = language == "vi" and body.isascii()
    found = next(Reader(body, language, bare=bare, is_alone=True).numbers(), None)
    return found.value if found and (found.start, found.end) == (0, len(body)) else None


def _scientific(match: re.Match[str], language: Language) -> Decimal | None:
    digits = read_digits(match["digits"], language)
    return None if digits is None else digits.scaleb(int(match["exponent"]), EXACT)


def all_readings(text: str) -> frozenset[Decimal]:
    """Every number `text` states, without sign, in every way it can be read: ``1.500`` gives 1500 and 1.5, ``12%`` 12
    and 0.12."""
    spelt = clean(text)
    found: set[Decimal] = set()
    languages: tuple[Language, ...] = ("vi", "en")
    for language in languages:
        for number in Reader(spelt, language).numbers():
            value = abs(number.value)
            found.add(value)
            if _PERCENT_BEHIND.match(spelt, number.end):
                found.add(value.scaleb(-2, EXACT))
        found.update(filter(None, (_scientific(match, language) for match in _SCIENTIFIC.finditer(spelt))))
        for token in TOKEN.finditer(spelt):
            if other := _OTHER_WORDS.get(token[0].lower()):
                found.add(other)
            elif token[0][0].isdecimal() and (digits := read_digits(token[0], language)) is not None:
                found.add(digits)
    return frozenset(found)


def format_number(value: Decimal, language: Language, places: int | None = None) -> str:
    """`value` with grouped thousands, rounded half up to `places` decimals; None = as many as it has, no trailing 0."""
    with localcontext(EXACT):
        shown = value if places is None else value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        text = f"{abs(shown):,f}"
        negative = shown < 0
    if places is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    if language == "vi":
        text = text.translate(str.maketrans(",.", ".,"))
    return f"-{text}" if negative else text


def plain(value: Decimal) -> str:
    """A value as a calculator reads it: ``15000000``, ``0.5``."""
    written = format(value.normalize(EXACT), "f")
    return written.rstrip("0").rstrip(".") if "." in written else written
