"""Exact arithmetic on hostile text, bounded by construction: a tokeniser, Python's grammar, fractions.

Nothing here can take long: length, nesting, digits, exponents and the size of every intermediate result are limited
before the work is done, so it may run on the event loop. `+ - * / % **`, parentheses, unary minus, and percentages
(``200% * 3``) are all there is. Python only reads how the tokens hang together; nothing of a text is ever run.
"""

import ast
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate

from app.domain.knowledge import Language
from app.errors import ToolFailed
from app.text.numbers import format_number, read_digits
from app.text.numerals import EXACT, MAX_DIGITS

MAX_CHARS = 300
MAX_DEPTH = 24
"""Nested parentheses, unary minus signs and stacked powers together."""
MAX_EXPONENT = 1000
MAX_BITS = 4096
"""Of numerator and of denominator, in every intermediate result; (1 + 0,05/12) ^ 360 needs 2,900."""
MAX_RESULT = 10**24

_TOKEN = re.compile(
    r"\s*(?:(?P<number>"
    r"[0-9]{1,3}(?:,[0-9]{3}){2,}(?:\.[0-9]+)?|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+"
    r"|[0-9]{1,3}(?:\.[0-9]{3}){2,}(?:,[0-9]+)?|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+"
    r"|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
    r")(?![0-9A-Za-z_.,])|(?P<operator>\*\*|[-+*/%^()×÷−·]))",
)
"""Plain decimals; thousands may be grouped where that cannot be misread (1,000,000 or 1.000,50, not 1,000)."""
_SPELLINGS = {"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-"}
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}  # fmt: skip
_ATTRIBUTES = {"%%": ".percent", ")": ").group"}
_WRITTEN = {"*": " × ", "/": " / ", "+": " + ", "-": " - ", "**": "^", "%": " % "}


class Refusal(StrEnum):
    """Why an expression is not computed."""

    SYNTAX = "syntax"
    TOO_LONG = "too_long"
    TOO_BIG = "too_big"
    DIVISION_BY_ZERO = "division_by_zero"
    EXPONENT = "exponent"


class CannotCalculate(ToolFailed):
    """The expression is not arithmetic, or costs more than anybody's sum should."""

    def __init__(self, refusal: Refusal):
        super().__init__(f"cannot calculate: {refusal.value}")
        self.refusal = refusal


@dataclass(frozen=True)
class Calculation:
    """A computed expression."""

    value: Fraction
    """Exact."""
    tokens: tuple[str | Decimal, ...]
    """Numbers, operators, parentheses, and the percent sign behind a number (``%%``)."""

    @property
    def operands(self) -> tuple[Decimal, ...]:
        """The numbers of the expression in order, each once, as written (``200%`` gives 200)."""
        return tuple(dict.fromkeys(token for token in self.tokens if isinstance(token, Decimal)))

    def written(self, language: Language) -> str:
        """The expression for a person: ``15.000.000 / 26 × 3``."""
        return "".join(_written(self.tokens, at, language) for at in range(len(self.tokens)))


def calculate(expression: str) -> Calculation:
    """Compute `expression` exactly. Raises `CannotCalculate`, and nothing else, whatever the text is."""
    if len(expression) > MAX_CHARS:
        raise CannotCalculate(Refusal.TOO_LONG)
    tokens = _mark_percentages(_tokens(expression))
    value = _value(_tree(tokens), tokens, 0)
    if abs(value) >= MAX_RESULT:
        raise CannotCalculate(Refusal.TOO_BIG)
    return Calculation(value, tuple(tokens))


def rounded(value: Fraction, places: int) -> Decimal:
    """`value` rounded half away from zero to `places` decimals."""
    doubled = abs(value.numerator) * 10**places * 2 + value.denominator
    whole = doubled // (2 * value.denominator)
    return Decimal(f"{-whole if value < 0 else whole}e-{places}")


def _tokens(expression: str) -> list[str | Decimal]:
    tokens: list[str | Decimal] = []
    text, position = expression.rstrip(), 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CannotCalculate(Refusal.SYNTAX)
        sign = match["operator"]
        tokens.append(_SPELLINGS.get(sign, sign) if sign else _number(match["number"]))
        position = match.end()
    return tokens


def _number(text: str) -> Decimal:
    mantissa, _, exponent = text.lower().partition("e")
    digits = read_digits(f"0{mantissa}" if mantissa[0] == "." else mantissa, "en")
    if digits is None or abs(int(exponent or 0)) > MAX_DIGITS:
        raise CannotCalculate(Refusal.TOO_BIG)
    return digits.scaleb(int(exponent or 0), EXACT)


def _mark_percentages(tokens: Sequence[str | Decimal]) -> list[str | Decimal]:
    """Tell ``200% * 3`` from ``17 % 5``: a sign that no operand follows is a percentage.

    ``10% - 3`` could be either and is refused.
    """
    marked = list(tokens)
    for at, (token, following) in enumerate(zip(tokens, (*tokens[1:], ")"), strict=False)):
        if token != "%" or at == 0:
            continue
        if following == "-":
            raise CannotCalculate(Refusal.SYNTAX)
        if following in (")", "*", "/", "+", "**"):
            marked[at] = "%%"
    return marked


def _written(tokens: Sequence[str | Decimal], at: int, language: Language) -> str:
    token, before = tokens[at], tokens[at - 1] if at else "("
    if isinstance(token, Decimal):
        return format_number(token, language)
    if token in "()" or (token == "-" and not isinstance(before, Decimal) and before not in (")", "%%")):
        return token
    return "%" if token == "%%" else _WRITTEN[token]


def _tree(tokens: Sequence[str | Decimal]) -> ast.expr:
    """How the tokens hang together by Python's precedences: ``-2**2`` is -4, ``2**-1`` one half.

    A number stands as a name with its place; parentheses and percentages as attributes, which bind closest.
    """
    nested = accumulate((token == "(") - (token == ")") for token in tokens)
    if max(nested, default=0) > MAX_DEPTH:
        raise CannotCalculate(Refusal.TOO_LONG)
    names = (
        f"n{at}" if isinstance(token, Decimal) else _ATTRIBUTES.get(token, token) for at, token in enumerate(tokens)
    )
    try:
        return ast.parse(" ".join(names), mode="eval").body
    except SyntaxError as broken:
        raise CannotCalculate(Refusal.SYNTAX) from broken


def _value(node: ast.expr, tokens: Sequence[str | Decimal], depth: int) -> Fraction:
    """The value of an expression; `depth` counts what `MAX_DEPTH` limits."""
    if depth > MAX_DEPTH:
        raise CannotCalculate(Refusal.TOO_LONG)
    match node:
        case ast.Name(id=name):
            return Fraction(tokens[int(name[1:])])
        case ast.Attribute(value=inside, attr="group"):
            return _value(inside, tokens, depth + 1)
        case ast.Attribute(value=share):
            return _value(share, tokens, depth) / 100
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, tokens, depth + 1)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _raised(_value(left, tokens, depth), _value(right, tokens, depth + 1))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            return _combined(sign, _value(left, tokens, depth), _value(right, tokens, depth))
    raise CannotCalculate(Refusal.SYNTAX)


def _combined(sign: ast.operator, value: Fraction, other: Fraction) -> Fraction:
    if other == 0 and isinstance(sign, ast.Div | ast.Mod):
        raise CannotCalculate(Refusal.DIVISION_BY_ZERO)
    result = _OPERATIONS[type(sign)](value, other)
    if _bits(result) > MAX_BITS:
        raise CannotCalculate(Refusal.TOO_BIG)
    return result


def _raised(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise CannotCalculate(Refusal.EXPONENT)
    if base == 0 and exponent < 0:
        raise CannotCalculate(Refusal.DIVISION_BY_ZERO)
    if abs(exponent) > MAX_EXPONENT or _bits(base) * abs(exponent) > MAX_BITS:
        raise CannotCalculate(Refusal.TOO_BIG)
    return Fraction(base**exponent.numerator)


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
