"""Carrying a way out: the call it needs, then its answer."""

import re
from collections.abc import Sequence

from app.domain.deep import Observation
from app.domain.knowledge import Finding
from app.domain.plan import MATH_TOOL
from app.reasoning.deep import Action, ActRequest, Solved, ToolWish
from app.reasoning.local.deep.answering import answered, unsolved
from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.phrases import CALCULATE, TOOL_FAILED

EVALUATE = "math.mcp_evaluate"
"""The calculator that asks for no source."""


def expression_in(query: str) -> str:
    """The arithmetic a query of the calculator asks for; empty for any other."""
    mark = re.search(r"[\d(][\d\s.+*/()%-]*$", query)
    return mark[0].strip() if mark and evaluated(mark[0].strip()) is not None else ""


def by_derivation(request: ActRequest, inquiry: Inquiry, way: Derivation, findings: Sequence[Finding]) -> Action:
    """The call a way needs, or its answer when the call was made."""
    if way.missing:
        return Solved(
            working=unsolved("", findings, request.observations, missing=way.missing, language=inquiry.language)
        )
    wish = _wish(request, inquiry, way)
    if wish is None:
        return Solved(working=answered(inquiry, way, findings, request.observations))
    made = _made(request, wish)
    if made is None:
        if request.calls_left <= 0:
            return Solved(working=answered(inquiry, way, findings, request.observations, is_checked=False))
        return wish
    if made.failed:
        return _otherwise(request, inquiry, way, findings, made)
    return Solved(working=answered(inquiry, way, findings, request.observations, made=made))


def _wish(request: ActRequest, inquiry: Inquiry, way: Derivation) -> ToolWish | None:
    offered = {tool.name for tool in request.tools}
    if way.tool:
        if way.tool not in offered:
            return None
        arguments = {**way.arguments, **({"language": inquiry.language} if way.tool.startswith("date.") else {})}
        return ToolWish(tool=way.tool, query=_told(way), arguments=arguments, why="; ".join(way.notes))
    if not way.expression or evaluated(way.expression) is None:
        return None
    query = CALCULATE[inquiry.language].format(expression=way.expression)
    if MATH_TOOL in offered:
        arguments = {"expression": way.expression, **({"unit": way.unit} if way.unit and way.unit != "date" else {})}
        return ToolWish(tool=MATH_TOOL, query=query, arguments=arguments, why="; ".join(way.notes))
    if EVALUATE in offered:
        return ToolWish(tool=EVALUATE, query=query, arguments={"expression": way.expression})
    return None


def _told(way: Derivation) -> str:
    return " ".join([way.tool, *(f"{name}={value}" for name, value in way.arguments.items())])


def _made(request: ActRequest, wish: ToolWish) -> Observation | None:
    own = request.observations
    return next((one for one in reversed(own) if one.query == wish.query), None)


def _otherwise(
    request: ActRequest, inquiry: Inquiry, way: Derivation, findings: Sequence[Finding], failed: Observation
) -> Action:
    """The calculator refused: the one of the pool once, then the reason."""
    offered = {tool.name for tool in request.tools}
    again = f"{CALCULATE[inquiry.language].format(expression=way.expression)} ="
    made = next((one for one in request.observations if one.query == again), None)
    if way.expression and not way.tool and EVALUATE in offered and made is None and request.calls_left > 0:
        return ToolWish(tool=EVALUATE, query=again, arguments={"expression": way.expression})
    if made is not None and not made.failed:
        return Solved(working=answered(inquiry, way, findings, request.observations, made=made))
    reason = TOOL_FAILED[inquiry.language].format(reason=failed.text)
    return Solved(working=unsolved(reason, findings, request.observations))
