"""Amounts, and conditions on amounts, as questions and quotes state them; digits and words are read by `app.text`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from app.domain.knowledge import Language
from app.reasoning.local.wording import alternatives
from app.text.amounts import CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR
from app.text.amounts import Amount as Measured
from app.text.amounts import amounts_in as measured_in
from app.text.numbers import Number, numbers_in

_PLACED = frozenset((CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR))
_SPELT_CURRENCY = re.compile(r"[đ₫]|dong|vnd", re.IGNORECASE)
_CODE_BEFORE = re.compile(
    r"[A-Za-z]-?$|(?:thứ|điều|khoản|mục|(?<!hệ )số|band|grade|bậc|loại|level|stage|section)\s*$", re.IGNORECASE
)
_IN_NAME = ":/_"
_DIVIDED = re.compile(r"\s*/\s*\d[\d.,]*(?!/)")
_LONG = 4
"""Digits and points of a number that divides: more than a date has."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit, where it stands in the text."""

    value: Decimal
    """Scaled: ``5 triệu`` is 5000000."""
    unit: str
    """``VND GBP USD EUR % day hour minute second week month year time person km …``; empty when none is named."""
    text: str
    """The literal span, number and unit."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Range:
    """A condition on an amount, as in “từ đủ 3 năm đến dưới 6 năm” or “more than £50.00”."""

    low: Decimal | None
    high: Decimal | None
    low_included: bool
    high_included: bool
    unit: str

    def holds(self, amount: Amount) -> bool:
        """Whether the amount meets the condition."""
        if self.low is not None and (amount.value < self.low or (amount.value == self.low and not self.low_included)):
            return False
        return self.high is None or amount.value < self.high or (amount.value == self.high and self.high_included)


@lru_cache(maxsize=4096)
def amounts_in(text: str, language: Language = "vi") -> tuple[Amount, ...]:
    """All amounts of a text in order. Parts of dates, times and codes (``NS-11``, ``8:30``) are not amounts, nor are
    words that count nothing."""
    measured = measured_in(text, language)
    numbers = numbers_in(text, language)
    found: list[Amount] = []
    for at, number in enumerate(numbers):
        own = next((one for one in measured if one.start < number.end and number.start < one.end), None)
        if own is not None and own.unit in _PLACED:
            continue
        amount = _with_unit(text, numbers, at, own)
        if amount.unit or not _is_part_of_name(text, number):
            found.append(amount)
    return tuple(found)


def _with_unit(text: str, numbers: Sequence[Number], at: int, measured: Measured | None) -> Amount:
    """The number with the unit beside it; a currency counts where it is written. Of a range each end has its own."""
    number = numbers[at]
    if measured is None:
        return Amount(number.value, "", text[number.start : number.end], number.start, number.end)
    is_first = at == 0 or numbers[at - 1].end <= measured.start
    is_last = at + 1 == len(numbers) or numbers[at + 1].start >= measured.end
    start = min(measured.start, number.start) if is_first else number.start
    end = max(measured.end, number.end) if is_last else number.end
    unit = "%" if measured.unit == "percent" else measured.unit
    if unit == "VND" and not _SPELT_CURRENCY.search(text[measured.start : measured.end]):
        unit = ""
    return Amount(measured.value if is_first and is_last else number.value, unit, text[start:end], start, end)


def _is_part_of_name(text: str, number: Number) -> bool:
    """Whether a bare number belongs to a code, a date or a time, or is a word."""
    written = text[number.start : number.end]
    if not any(map(str.isdigit, written)) or _CODE_BEFORE.search(text[max(0, number.start - 10) : number.start]):
        return True
    around = text[max(0, number.start - 1) : number.start] + text[number.end : number.end + 1]
    return any(sign in around for sign in _IN_NAME) and not _divides(text, number)


def _divides(text: str, number: Number) -> bool:
    """Whether a slash beside the number divides (``15.000.000/26``) instead of writing a date."""
    behind = _DIVIDED.match(text, number.end)
    before = re.search(r"(\d[\d.,]*)\s*/$", text[: number.start])
    sizes = [number.end - number.start, len(behind[0]) if behind else 0, len(before[1]) if before else 0]
    return bool((behind or before) and max(sizes) > _LONG)


_BETWEEN = re.compile(rf"\s*(?:{alternatives('numbers.between')})\s*", re.IGNORECASE)
_OPEN_LOW, _OPEN_HIGH, _CLOSED_LOW, _CLOSED_HIGH = (
    re.compile(rf"(?:{alternatives(f'numbers.{bound}')})\s*$", re.IGNORECASE)
    for bound in ("open_low", "open_high", "closed_low", "closed_high")
)
_UPWARDS = re.compile(rf"\s*(?:{alternatives('numbers.upwards')})", re.IGNORECASE)
_A_LITTLE = Decimal("0.001")


@lru_cache(maxsize=4096)
def ranges_in(text: str, language: Language = "vi") -> tuple[Range, ...]:
    """The conditions on amounts that a text states, in order."""
    amounts = list(amounts_in(text, language))
    found: list[Range | None] = []
    while amounts:
        low = amounts.pop(0)
        pair = _pair(text, low, amounts[0]) if amounts else None
        if pair:
            amounts.pop(0)
        found.append(pair or _single(text, low))
    return tuple(one for one in found if one)


def _pair(text: str, low: Amount, high: Amount) -> Range | None:
    between = text[low.end : high.start]
    if not _BETWEEN.fullmatch(between) or low.value >= high.value or (low.unit and low.unit != high.unit):
        return None
    under = any(word in between.lower() for word in ("dưới", "less", "under"))
    return Range(low.value, high.value, not _OPEN_LOW.search(text[: low.start]), not under, high.unit)


def _single(text: str, amount: Amount) -> Range | None:
    before, value, unit = text[: amount.start], amount.value, amount.unit
    if _OPEN_LOW.search(before):
        return Range(value, None, False, False, unit)
    if _OPEN_HIGH.search(before):
        return Range(None, value, False, False, unit)
    if _UPWARDS.match(text[amount.end :]) or _CLOSED_LOW.search(before):
        return Range(value, None, True, False, unit)
    if _CLOSED_HIGH.search(before):
        return Range(None, value, False, True, unit)
    return None


def strictly(text: str, amount: Amount) -> Amount:
    """The amount a little beyond itself where `text` says “more than” or “less than” it; else as it stands."""
    open_ended = _single(text, amount)
    if open_ended is None or open_ended.holds(amount):
        return amount
    step = max(amount.value, Decimal(1)) * _A_LITTLE
    return replace(amount, value=amount.value + (step if open_ended.low is not None else -step))


def numbers_of(text: str, language: Language = "vi") -> frozenset[Decimal]:
    """The values named in a text."""
    return frozenset(amount.value.normalize() for amount in amounts_in(text, language))
