"""Numbers as people write them in both languages: ``15.000.000 đồng``, ``5 triệu``, ``12,5 %``, ``£39,000``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from app.domain.knowledge import Language


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit, where it stands in the text."""

    value: Decimal
    """Scaled: ``5 triệu`` is 5000000."""
    unit: str
    """``VND GBP USD EUR CAD % day hour minute second week month year time person km …``; empty when none is named."""
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


_SPELLINGS: dict[str, tuple[str, ...]] = {
    "VND": ("đồng", "dong", "đ", "vnđ", "vnd"),
    "USD": ("usd", "dollar", "dollars", "đô"),
    "EUR": ("eur", "euro", "euros"),
    "GBP": ("gbp", "pound", "pounds"),
    "CAD": ("cad",),
    "%": ("%", "percent", "per cent", "phần trăm", "phan tram"),
    "day": ("ngày", "ngay", "day", "days", "đêm", "night", "nights"),
    "hour": ("giờ", "gio", "tiếng", "tieng", "hour", "hours", "hrs"),
    "minute": ("phút", "phut", "minute", "minutes", "min", "mins"),
    "second": ("giây", "giay", "second", "seconds"),
    "week": ("tuần", "tuan", "week", "weeks"),
    "month": ("tháng", "thang", "month", "months"),
    "year": ("năm", "nam", "year", "years"),
    "time": ("lần", "lan", "times"),
    "person": ("người", "nguoi", "people", "persons"),
    "km": ("km", "kilometre", "kilometres", "kilometer", "kilometers"),
    "character": ("ký tự", "ky tu", "character", "characters"),
    "point": ("điểm", "diem", "points"),
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_SCALES = {
    "nghìn": 3, "ngàn": 3, "nghin": 3, "ngan": 3, "k": 3, "thousand": 3, "triệu": 6, "trieu": 6, "tr": 6, "million": 6,
    "m": 6, "tỷ": 9, "tỉ": 9, "ty": 9, "billion": 9, "bn": 9,
}  # fmt: skip
_SIGNS = {"£": "GBP", "$": "USD", "€": "EUR", "₫": "VND"}
_WORDS = {
    "một": 1, "hai": 2, "ba": 3, "bốn": 4, "sáu": 6, "bảy": 7, "tám": 8, "chín": 9, "mười": 10, "one": 1, "two": 2,
    "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12,
}  # fmt: skip
"""``năm`` is left out: it is a year far more often than five."""

_NUMBER = r"\d+(?:[.,]\d+)*(?:[eE]\+?\d{1,2})?(?![\d])"
_UNIT_WORDS = "|".join(sorted((re.escape(unit) for unit in _UNITS), key=len, reverse=True))
_SCALE_WORDS = "|".join(sorted(_SCALES, key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?P<sign>[£$€₫])?\s?(?<![\w.,])(?P<number>{_NUMBER})\s?(?:(?P<scale>{_SCALE_WORDS})(?![\w-]))?"
    rf"(?:\s?(?:working |business |calendar |consecutive |full |late |completed )?(?P<unit>{_UNIT_WORDS})(?![\w-]))?",
    re.IGNORECASE,
)
_SPELT = re.compile(
    rf"\b(?P<number>{'|'.join(_WORDS)})\s(?:working |business )?(?P<unit>{_UNIT_WORDS})(?!\w)", re.IGNORECASE
)
_CODE_BEFORE = re.compile(
    r"[A-Za-z]-?$|(?:thứ|điều|khoản|mục|số|band|grade|bậc|loại|level|stage|section)\s*$", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def amounts_in(text: str, language: Language = "vi") -> tuple[Amount, ...]:
    """All amounts of a text in order. Parts of dates, times and codes (``NS-11``, ``8:30``) are not amounts."""
    found = [*_numerals(text, language), *_spelt(text)]
    return tuple(sorted(found, key=lambda amount: amount.start))


def _numerals(text: str, language: Language) -> Iterator[Amount]:
    for mark in _AMOUNT.finditer(text):
        start, end = mark.start("number"), mark.end("number")
        around = text[max(0, start - 1) : start] + text[end : end + 1]
        if any(sign in around for sign in ":/_") and not _divides(text, start, end):
            continue
        value = read_number(mark["number"], language, currency=_unit_of(mark) in ("VND",))
        if value is None or (_CODE_BEFORE.search(text[max(0, start - 10) : start]) and not mark["unit"]):
            continue
        scale = _SCALES.get((mark["scale"] or "").lower(), 0)
        yield Amount(value.scaleb(scale), _unit_of(mark), mark[0].strip(), mark.start(), mark.end())


def _divides(text: str, start: int, end: int) -> bool:
    """Whether a slash next to the number divides (``15.000.000/26``) instead of writing a date."""
    after = re.match(r"/\s*(\d[\d.,]*)(?!/)", text[end:])
    before = re.search(r"(\d[\d.,]*)\s*/$", text[:start])
    return bool(
        (after or before)
        and max(len(m) for m in (text[start:end], after[1] if after else "", before[1] if before else "")) > 4
    )


def _spelt(text: str) -> Iterator[Amount]:
    for mark in _SPELT.finditer(text):
        value = Decimal(_WORDS[mark["number"].lower()])
        yield Amount(value, _unit_of(mark), mark[0], mark.start(), mark.end())


def _unit_of(mark: re.Match[str]) -> str:
    sign = mark.groupdict().get("sign")
    return _SIGNS[sign] if sign else _UNITS.get((mark["unit"] or "").lower(), "")


def read_number(written: str, language: Language, *, currency: bool = False) -> Decimal | None:
    """The value of a written number; `currency` says that a single group of three digits is thousands (``500.000``)."""
    mantissa, _, exponent = written.lower().partition("e")
    plain = _without_groups(mantissa, language, currency=currency)
    try:
        return Decimal(plain) * (Decimal(10) ** int(exponent.lstrip("+") or 0) if exponent else 1)
    except InvalidOperation:
        return None


def _without_groups(written: str, language: Language, *, currency: bool) -> str:
    signs = [sign for sign in written if sign in ".,"]
    if not signs:
        return written
    decimal = _decimal_sign(written, signs, language, currency=currency)
    grouping = "." if decimal == "," else ","
    return written.replace(grouping, "").replace(decimal, ".") if decimal else written.replace(".", "").replace(",", "")


def _decimal_sign(written: str, signs: list[str], language: Language, *, currency: bool) -> str:
    """The decimal separator of a number, empty when all its separators group thousands."""
    if len(set(signs)) == 2:
        return signs[-1]
    parts = re.split("[.,]", written)
    grouped = all(len(part) == 3 for part in parts[1:]) and 1 <= len(parts[0]) <= 3 and parts[0] != "0"
    if len(signs) > 1 or (grouped and (currency or signs[0] == ("." if language == "vi" else ","))):
        return ""
    return signs[0]


_LOW = r"(?:từ đủ|từ|trên|hơn|quá|over|above|more than|from|at least|ít nhất|tối thiểu|minimum of)"
_BETWEEN = re.compile(r"^\s*(?:đến dưới|đến|tới|-|–|to less than|to under|to|and|up to)\s*$", re.IGNORECASE)
_OPEN_LOW = re.compile(r"(?:trên|hơn|quá|over|above|more than|exceeding)\s*$", re.IGNORECASE)
_CLOSED_LOW = re.compile(r"(?:từ đủ|từ|at least|ít nhất|from)\s*$", re.IGNORECASE)
_OPEN_HIGH = re.compile(r"(?:dưới|chưa đến|chưa đủ|under|below|less than|fewer than)\s*$", re.IGNORECASE)
_CLOSED_HIGH = re.compile(r"(?:đến|tối đa|không quá|up to|at most|no more than|not more than)\s*$", re.IGNORECASE)
_A_LITTLE = Decimal("0.001")
_UPWARDS = re.compile(r"^\s*(?:trở lên|or more|or over|and above|and over|or longer|\+)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def ranges_in(text: str, language: Language = "vi") -> tuple[Range, ...]:
    """The conditions on amounts that a text states, in order."""
    amounts = amounts_in(text, language)
    found: list[Range] = []
    at = 0
    while at < len(amounts):
        pair = _pair(text, amounts, at)
        if pair:
            found.append(pair)
            at += 2
            continue
        single = _single(text, amounts[at])
        if single:
            found.append(single)
        at += 1
    return tuple(found)


def _pair(text: str, amounts: tuple[Amount, ...], at: int) -> Range | None:
    if at + 1 == len(amounts):
        return None
    low, high = amounts[at], amounts[at + 1]
    between = text[low.end : high.start]
    if not _BETWEEN.match(between) or low.value >= high.value or (low.unit and low.unit != high.unit):
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


def plain(value: Decimal) -> str:
    """A value as a calculator reads it: ``15000000``, ``0.5``."""
    written = format(value.normalize(), "f")
    return written.rstrip("0").rstrip(".") if "." in written else written
