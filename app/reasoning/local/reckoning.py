"""What a question wants reckoned, with everything needed for it: a sum, a conversion, a day."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.plan import MATH_TOOL

_SIGNS = {"+": "sum", "-": "subtract", "*": "multiply", "/": "divide", "**": "power"}
"""The sign of a sum of two, and the agent type that computes it."""
_TWO = re.compile(r"(?P<a>[\d.]+)(?P<percent> %)? (?P<sign>\+|-|\*\*|[*/]) (?P<b>[\d.]+)")


@dataclass(frozen=True, slots=True)
class Reckoning:
    """Something to be computed of what a question states."""

    types: tuple[str, ...]
    """Agent types and tools that do it, the fittest first."""
    values: Mapping[str, str]
    """Arguments by the property they fill."""
    grounds: tuple[str, ...] = ()
    """The words of the question that gave them."""
    missing: tuple[str, ...] = field(default=())
    """What the question does not say."""

    @property
    def expression(self) -> str:
        """The arithmetic; empty for what is no sum."""
        return self.values.get("expression", "")

    def fits(self, tool: str) -> bool:
        """Whether the values are arguments of a tool: ``math.mcp_sum`` is the tool of the type ``sum``."""
        own = tool.rpartition(".")[2].removeprefix("mcp_")
        return own in self.types or tool in self.types


def sum_of(expression: str, grounds: Sequence[str], *, unit: str = "", is_stated: bool = True) -> Reckoning:
    """A sum as a reckoning; amounts with a unit are told with it, by the tool that traces every operand.

    Args:
        expression: Plain arithmetic: ``80 * 15 / 100``.
        grounds: The words its numbers were read from.
        unit: Currency or measure of the result; empty when it has none.
        is_stated: Whether each number stands in the question as it does in the expression.
    """
    values = {"expression": expression} | ({"unit": unit} if unit else {})
    two = _TWO.fullmatch(expression)
    types: tuple[str, ...] = ("evaluate",)
    if two and not two["percent"]:
        types = (_SIGNS[two["sign"]], "evaluate")
        values |= {"a": two["a"], "b": two["b"]}
    elif two and two["sign"] == "*":
        types = ("percent", "evaluate")
        values |= {"part_percent": two["a"], "of": two["b"]}
    if is_stated:
        types = (MATH_TOOL, *types) if unit else (*types, MATH_TOOL)
    return Reckoning(types, values, tuple(dict.fromkeys(grounds)))
