"""The bare answer as exact-match scoring compares it: ``17``, ``Hà Nội``, ``12, 14``."""

import re

from app.domain.knowledge import Language
from app.text.amounts import CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR, amounts_in
from app.text.language import clean

_LEAD_MARK = re.compile(r"^(?:final answer|answer|đáp án|đáp số|câu trả lời|trả lời)\s*[:：]\s*", re.IGNORECASE)
_WRAPPED = re.compile(r"^(?:\*\*|__|[`\"'“‘«])+(?P<inside>.*?)(?:\*\*|__|[`\"'”’»])+$")
_INITIALS = re.compile(r"(?:^|\s|\.)[^\W\d_]\.$")
_BETWEEN = re.compile(r"\s*;\s*|,\s+")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_BARE = re.compile(r"[+\-−]?\s?\d+(?:[.,]\d+)*")
_WITH_UNIT = re.compile(
    r"\b(?:with|include|including|state|give|kèm|gồm|ghi|nêu)\s(?:\w+\s){0,2}"
    r"(?:units?|symbol|currency|percent|%|đơn vị|ký hiệu)",
    re.IGNORECASE,
)
_NO_QUANTITY = frozenset({CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR})


def short_form(answer: str, language: Language, wanted: str = "") -> str:
    """The answer on one line without quotes and full stop, its numbers without thousands separators and units.

    `wanted`: the question and how it wants its answer; units stay where it asks for them. Numbers are read as
    `language` writes them and written with a decimal point.
    """
    text = _LEAD_MARK.sub("", " ".join(clean(answer).split()))
    while wrapped := _WRAPPED.match(text):
        text = wrapped["inside"].strip()
    if text.endswith(".") and not _INITIALS.search(text):
        text = text.rstrip(". ")
    with_unit = _WITH_UNIT.search(wanted) is not None
    return ", ".join(part if with_unit else _element(part, language) for part in _BETWEEN.split(text) if part)


def _element(text: str, language: Language) -> str:
    if _BARE.fullmatch(text):
        sign = "-" if text[0] in "-−" else ""
        return sign + _DIGITS.sub(lambda found: _spelt(found[0], language), text.lstrip("+-− "))
    amounts = list(amounts_in(text, language))
    if len(amounts) != 1 or amounts[0].unit in _NO_QUANTITY or (amounts[0].start, amounts[0].end) != (0, len(text)):
        return text
    digits = _DIGITS.search(text)
    written = _spelt(digits[0], language) if digits else ""
    value = f"{amounts[0].value.normalize():f}"
    return written if _same(written, value) else value


def _spelt(digits: str, language: Language) -> str:
    """Digits without groups of thousands, as the language groups them."""
    group, point = (".", ",") if language == "vi" else (",", ".")
    if re.fullmatch(rf"\d{{1,3}}(?:\{group}\d{{3}})+(?:\{point}\d+)?", digits):
        digits = digits.replace(group, "")
    elif re.fullmatch(rf"\d{{1,3}}(?:\{point}\d{{3}}){{2,}}(?:\{group}\d+)?", digits):  # the other language's way
        return digits.replace(point, "").replace(group, ".")
    return digits.replace(",", ".") if digits.count(",") + digits.count(".") == 1 else digits


def _same(written: str, value: str) -> bool:
    return written.rstrip("0").rstrip(".") == value or written == value
