"""The math server: exact decimal arithmetic in the bounds of `app.text.arithmetic`."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from app.domain.knowledge import Language
from app.domain.record import Record
from app.text.arithmetic import MAX_CHARS, CannotCalculate, Refusal, calculate, rounded
from app.text.numbers import format_number
from extras.servers.serving import Operation, serve

_PLACES = 20
"""Decimals of a result that has no end, or one further away."""
_SHOWN_PLACES = 6
"""Of them in a sentence."""
_DECIMAL = r"^-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$"


def _as_text(number: Any) -> Any:
    """JSON numbers are welcome too; a decimal in quotes is exact."""
    return str(number) if isinstance(number, int | float) and not isinstance(number, bool) else number


Number = Annotated[
    str,
    BeforeValidator(_as_text),
    Field(pattern=_DECIMAL),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "decimal", "pattern": _DECIMAL}, {"type": "number"}]}),
]
Asked = Annotated[Language, Field(description="Of the sentence that tells the result")]


class Pair(Record):
    """Two numbers."""

    a: Number = Field(description="First number, a plain decimal: 1500000 or 12.5")
    b: Number = Field(description="Second number")
    language: Asked = "vi"


class Share(Record):
    """A percentage and what it is taken of."""

    part_percent: Number = Field(description="How many percent: 15 for 15 %")
    of: Number = Field(description="The amount the percentage is taken of")
    language: Asked = "vi"


class Expression(Record):
    """Arithmetic as text."""

    expression: Annotated[str, Field(max_length=MAX_CHARS, description="Numbers, + - * / % ** and parentheses")]
    language: Asked = "vi"


class Result(Record):
    """An exact decimal."""

    result: str
    """Plain decimal notation, no exponent, no grouping."""
    is_rounded: bool = Field(False, description="The exact result has more decimals than are given")


def evaluate(expression: str) -> Result:
    """Compute `expression`. Raises `CannotCalculate`."""
    value = calculate(expression).value
    shown = rounded(value, _PLACES)
    text = f"{shown:f}".rstrip("0").rstrip(".")
    is_rounded = Fraction(shown) != value
    if is_rounded and shown == 0:
        raise CannotCalculate(Refusal.TOO_BIG)
    return Result(result="0" if text in ("-0", "") else text, is_rounded=is_rounded)


def _pair(name: str, title: str, description: str, operator: str) -> Operation[Pair, Result]:
    def written(pair: Pair) -> str:
        return f"({pair.a}) {operator} ({pair.b})"

    return Operation(
        name, title, description, Pair, Result, lambda pair: evaluate(written(pair)),
        lambda pair, result: _told(f"{_bracketed(pair.a)} {operator} {_bracketed(pair.b)}", result, pair.language),
    )  # fmt: skip


def _share(share: Share) -> Result:
    return evaluate(f"({share.of}) * ({share.part_percent}) / 100")


def _told(expression: str, result: Result, language: Language) -> str:
    """``15.000.000 / 26 × 3 = 1.730.769,2308``."""
    value = Decimal(result.result)
    shown = rounded(Fraction(value), _SHOWN_PLACES)
    sign = "=" if shown == value and not result.is_rounded else "≈"
    return f"{calculate(expression).written(language)} {sign} {format_number(shown, language)}"


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number


OPERATIONS: tuple[Operation[Any, Result], ...] = (
    _pair("mcp_sum", "Sum", "Add two numbers: a + b.", "+"),
    _pair("mcp_subtract", "Difference", "Subtract: a - b.", "-"),
    _pair("mcp_multiply", "Product", "Multiply: a × b.", "*"),
    _pair("mcp_divide", "Quotient", "Divide: a / b.", "/"),
    _pair("mcp_power", "Power", "Raise a to the whole number b.", "**"),
    Operation("mcp_percent", "Percentage", "A percentage of an amount.", Share, Result, _share,
              lambda share, result: _told(f"{share.part_percent}% * {_bracketed(share.of)}", result, share.language)),
    Operation("mcp_evaluate", "Expression", "Compute an arithmetic expression exactly.", Expression, Result,
              lambda given: evaluate(given.expression),
              lambda given, result: _told(given.expression, result, given.language)),
)  # fmt: skip

if __name__ == "__main__":
    serve("math", OPERATIONS)
