"""Formulas and worked examples as documents write them: ``tiền phép = lương cơ bản / 26 ngày × số ngày nghỉ``."""

import re
from dataclasses import dataclass
from decimal import Decimal

from app.domain.knowledge import Language
from app.reasoning.local.numbers import Amount, amounts_in, plain
from app.text.language import fold

_SIGNS = {
    "×": "*",
    "x": "*",
    "X": "*",
    "*": "*",
    "·": "*",
    "/": "/",
    "÷": "/",
    ":": "/",
    "+": "+",
    "-": "-",
    "−": "-",
    "–": "-",
}
_OPERATOR = re.compile(r"\s+[xX:–-]\s+|\s*[×*·/÷+−]\s*|(?<=[\d)])\s*-\s*(?=[\d(£$€])")
_EQUATION = re.compile(r"`?(?P<left>[^=`\n:;]{1,90}?)\s*=\s*(?P<right>[^=`\n;]{1,140})`?")
_SENTENCE_STOP = re.compile(r"[.;](?:\s|$)|,\s(?!\d)|\s\(")
_LEAD_IN = re.compile(
    r"^.*?(?:[,.;:]\s|\b(?:là|bằng|costs?|is|tức|receives?|charged|trừ|=)\s)(?=[£$€]?\d)", re.IGNORECASE | re.DOTALL
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")

_MONEY_UNITS = ("VND", "GBP", "USD", "EUR", "CAD")
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("%", re.compile(r"%|phan tram|ty le|he so|muc huong|rate|percent|multiplier|factor")),
    ("hour", re.compile(r"so gio|gio lam|\bhours?\b")),
    ("month", re.compile(r"so thang|thang lam|\bmonths?\b")),
    ("time", re.compile(r"so lan|\btimes\b|number of late")),
    ("km", re.compile(r"\bkm\b|so km|kilomet|\bmiles?\b")),
    ("person", re.compile(r"so nguoi|\bpeople\b|\bheadcount\b")),
    ("money", re.compile(r"luong|tien|phi|gia|muc|salary|\bpay\b|wage|price|cost|amount|fee|allowance")),
    ("day", re.compile(r"so ngay|ngay nghi|ngay phep|ngay cong|\bngay\b|\bdays?\b|\bleave\b")),
    ("year", re.compile(r"so nam|\byears?\b")),
)
"""What kind of amount a variable of a formula stands for, by its name (folded)."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A number or a named quantity of a formula."""

    text: str
    value: Decimal | None
    """None for a name."""
    kind: str
    """``money day hour % …``; empty for a bare number."""


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression of operands with the signs between them; longer than its signs by one."""

    operands: tuple[Operand, ...]
    signs: tuple[str, ...]
    result_unit: str
    """Currency or measure of the result where the document shows it."""
    text: str
    """As written."""

    @property
    def is_named(self) -> bool:
        """Whether it has quantities to fill in; a worked example has none."""
        return any(operand.value is None for operand in self.operands)

    def filled(self, values: dict[int, Decimal]) -> str:
        """The arithmetic with numbers in place of names; `values` by operand position."""
        shown = [plain(values.get(at, operand.value or Decimal(0))) for at, operand in enumerate(self.operands)]
        pairs = [f" {sign} {number}" for sign, number in zip(self.signs, shown[1:], strict=True)]
        return "".join([shown[0], *pairs])


def formulas_in(text: str, language: Language) -> list[Formula]:
    """Named formulas and worked examples of a text in order; equations that are neither are left out."""
    found: list[Formula] = []
    for mark in _EQUATION.finditer(text):
        left, right = mark["left"].strip(" `*"), _cut(mark["right"].strip(" `*"))
        example = _parse(_LEAD_IN.sub("", left), language)
        if example and not example.is_named:
            unit = next((amount.unit for amount in amounts_in(right, language) if amount.unit), "")
            found.append(
                Formula(
                    example.operands, example.signs, unit or _money_unit(example), f"{_LEAD_IN.sub('', left)} = {right}"
                )
            )
            continue
        formula = _parse(right, language)
        if formula and formula.is_named and _LETTERS.search(left):
            found.append(Formula(formula.operands, formula.signs, "", f"{left} = {right}"))
    return found


def kind_of(name: str) -> str:
    """What kind of amount a name stands for; empty when it tells none."""
    bare = fold(name).lower()
    return next((kind for kind, pattern in _KINDS if pattern.search(bare)), "")


def kind_of_amount(amount: Amount, before: str) -> str:
    """What kind of amount was stated, by its unit or, without one, by the words in front of it."""
    if amount.unit in _MONEY_UNITS:
        return "money"
    return amount.unit or ("money" if amount.value >= _SURELY_MONEY else kind_of(before))


_SURELY_MONEY = 100_000
_NAMED_WORDS = 7


def _cut(right: str) -> str:
    """The right side up to the end of its sentence."""
    mark = _SENTENCE_STOP.search(right)
    return right[: mark.start()] if mark else right.rstrip(".")


def _parse(expression: str, language: Language) -> Formula | None:
    """Operands and signs of a flat expression; None when a part is neither a number nor a short name."""
    marks = list(_OPERATOR.finditer(expression))
    if not marks:
        return None
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(expression)]
    operands = [_operand(expression[start:end].strip(" ()"), language) for start, end in zip(starts, ends, strict=True)]
    if any(operand is None for operand in operands):
        return None
    signs = tuple(_SIGNS[mark[0].strip()] for mark in marks)
    return Formula(tuple(operand for operand in operands if operand), signs, "", expression)


def _operand(text: str, language: Language) -> Operand | None:
    if not text or len(text.split()) > _NAMED_WORDS:
        return None
    amounts = amounts_in(text, language)
    if len(amounts) == 1 and amounts[0].start <= 1 and not _LETTERS.search(text[amounts[0].end :]):
        return Operand(text, amounts[0].value, "money" if amounts[0].unit in _MONEY_UNITS else amounts[0].unit)
    if any(character.isdigit() for character in text) or not _LETTERS.search(text):
        return None
    return Operand(text, None, kind_of(text))


def _money_unit(formula: Formula) -> str:
    return next(
        (
            unit
            for operand in formula.operands
            for unit, sign in (("GBP", "£"), ("USD", "$"), ("EUR", "€"))
            if sign in operand.text
        ),
        "",
    )
