"""What solves a puzzle: a tool with its arguments, and what its result is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from app.domain.plan import MATH_TOOL

PYTHON_TOOL = "python_tool"
"""The tool that runs short programs."""
ResultKind = Literal["number", "text", "date", "list"]


@dataclass(frozen=True)
class Solution:
    """One call of a tool."""

    tool: str
    query: str
    arguments: tuple[tuple[str, str], ...]
    kind: ResultKind
    unit: str = ""
    how: str = ""
    """What is done, for the working."""


def program(code: str, inputs: Mapping[str, JsonValue], *, kind: ResultKind, how: str, unit: str = "") -> Solution:
    """A short program whose last line is ``{"result": …}``."""
    given = json.dumps(dict(inputs), ensure_ascii=False)
    return Solution(PYTHON_TOOL, how, (("code", code), ("inputs", given)), kind, unit, how)


def sum_for(expression: str, *, unit: str = "", how: str = "") -> Solution:
    """A calculation."""
    return Solution(MATH_TOOL, how or expression, (("expression", expression),), "number", unit, how or expression)
