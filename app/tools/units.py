"""Amounts with their unit, rounded and written for the asker: ``1.730.769 đồng``, ``£750.00``, ``2.5 days``."""

from fractions import Fraction

from app.domain.knowledge import Language
from app.text.numbers import format_number
from app.tools.arithmetic import rounded

_CURRENCY_SIGNS = {
    "gbp": "£", "£": "£", "pound": "£", "pounds": "£", "usd": "$", "$": "$", "dollar": "$", "dollars": "$",
    "eur": "€", "€": "€", "euro": "€", "euros": "€", "cad": "C$",
}  # fmt: skip
_DONG = frozenset({"vnd", "vnđ", "đồng", "dong", "đ", "₫"})
_PERCENT = frozenset({"%", "percent", "per cent", "phần trăm"})
_WORDS: dict[str, tuple[str, str, str]] = {
    "second": ("giây", "second", "seconds"), "minute": ("phút", "minute", "minutes"),
    "hour": ("giờ", "hour", "hours"), "day": ("ngày", "day", "days"), "week": ("tuần", "week", "weeks"),
    "month": ("tháng", "month", "months"), "year": ("năm", "year", "years"), "time": ("lần", "time", "times"),
    "person": ("người", "person", "people"), "character": ("ký tự", "character", "characters"),
    "point": ("điểm", "point", "points"),
}  # fmt: skip
"""Vietnamese, English singular, English plural; found by any of the three."""
_UNITS = {spelling: words for words in _WORDS.values() for spelling in words}
_CURRENCY_PLACES = 2
_PLAIN_PLACES = 4
MAX_UNIT_CHARS = 24


def write_amount(value: Fraction, unit: str, language: Language) -> str:
    """`value` with its unit: whole đồng, two decimals for other currencies, at most two for %, else at most four.

    Rounds half up. An unknown unit is written as it was given; an over-long one is left out.
    """
    known = unit.strip().lower()
    if known in _DONG:
        return f"{_number(value, language, 0)} {'đồng' if language == 'vi' else 'VND'}"
    if sign := _CURRENCY_SIGNS.get(known):
        amount = format_number(rounded(abs(value), _CURRENCY_PLACES), language, _CURRENCY_PLACES)
        return f"{'-' if value < 0 else ''}{sign}{amount}"
    if known in _PERCENT:
        return f"{_number(value, language, 2)}%"
    number = _number(value, language, _PLAIN_PLACES)
    word = _word(value, known, language) or unit.strip()
    return f"{number} {word}" if 0 < len(word) <= MAX_UNIT_CHARS else number


def is_money(unit: str) -> bool:
    """Whether the unit is a currency, whose rounding needs no mention."""
    return unit.strip().lower() in _DONG | _CURRENCY_SIGNS.keys()


def is_shown_exactly(value: Fraction, unit: str) -> bool:
    """Whether `write_amount` loses nothing of `value`."""
    known = unit.strip().lower()
    places = 0 if known in _DONG else 2 if known in _PERCENT or known in _CURRENCY_SIGNS else _PLAIN_PLACES
    return Fraction(rounded(value, places)) == value


def _number(value: Fraction, language: Language, places: int) -> str:
    return format_number(rounded(value, places), language)


def _word(value: Fraction, unit: str, language: Language) -> str:
    words = _UNITS.get(unit)
    if words is None:
        return ""
    if language == "vi":
        return words[0]
    return words[1] if abs(value) == 1 else words[2]
