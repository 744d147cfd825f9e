"""The expert: the way to the answer, one tool call at a time, then the answer with its working."""

import re
from dataclasses import replace
from fractions import Fraction

from app.domain.deep import Observation, Working
from app.domain.knowledge import Finding
from app.domain.plan import MATH_TOOL
from app.reasoning.deep import Action, ActRequest, Solved, ToolWish
from app.reasoning.local.deep.answering import answered, unsolved
from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.carrying_out import EVALUATE, by_derivation, expression_in
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.formats import weekday_of
from app.reasoning.local.deep.inquiry import Inquiry, read_inquiry
from app.reasoning.local.deep.own_sums import own_solution
from app.reasoning.local.deep.phrases import NO_RULE, TOOL_FAILED
from app.reasoning.local.deep.puzzles import Solution, puzzle_of
from app.reasoning.local.deep.puzzles.solution import PYTHON_TOOL
from app.reasoning.local.deep.researching import findings_of
from app.reasoning.local.deep.solving import solved

_RESULT = re.compile(r"['\"]result['\"]\s*:\s*(?P<quote>['\"])?(?P<value>.*?)(?(quote)(?P=quote))\s*[,}]", re.DOTALL)


def work(request: ActRequest) -> Action:
    """One more tool call, or the answer."""
    inquiry = read_inquiry(request.asked, request.today)
    own = puzzle_of(inquiry) or own_solution(inquiry)
    if own is not None and not request.research:
        return _by_solution(request, inquiry, own)
    findings = _findings(request)
    refused = _refused(request)
    way = solved(inquiry, findings, without=refused)
    if way is None:
        return Solved(working=unsolved(NO_RULE[inquiry.language], findings, request.observations))
    return by_derivation(request, inquiry, way, findings)


def _findings(request: ActRequest) -> tuple[Finding, ...]:
    found = [finding for one in request.research for finding in one.findings if finding.found]
    return (*found, *findings_of(request.observations))


def _refused(request: ActRequest) -> tuple[str, ...]:
    """What was tried and sent back."""
    if not request.feedback or not isinstance(request.previous, Working):
        return ()
    return tuple(expression_in(one.query) for one in request.previous.observations if expression_in(one.query))


def _by_solution(request: ActRequest, inquiry: Inquiry, own: Solution) -> Action:
    """The one call that solves a puzzle, then its result."""
    made = next((one for one in request.observations if one.query == own.query and one.tool == own.tool), None)
    offered = {tool.name for tool in request.tools}
    if made is None:
        if own.tool not in offered or request.calls_left <= 0:
            return Solved(working=unsolved(NO_RULE[inquiry.language], (), request.observations))
        return ToolWish(tool=own.tool, query=own.query, arguments=dict(own.arguments), why=own.how)
    if made.failed and own.tool == MATH_TOOL:
        # A leg or a wheel is stated nowhere: the pool's calculator asks for no source.
        own = replace(own, tool=EVALUATE, query=f"{own.query} =", arguments=own.arguments[:1])
        made = next((one for one in request.observations if one.query == own.query and one.tool == own.tool), None)
        if made is None and own.tool in offered and request.calls_left > 0:
            return ToolWish(tool=own.tool, query=own.query, arguments=dict(own.arguments), why=own.how)
    if made is None or made.failed:
        reason = TOOL_FAILED[inquiry.language].format(reason=made.text if made else own.tool)
        return Solved(working=unsolved(reason, (), request.observations))
    value = result_of(made, own)
    if own.kind == "text" and own.tool.startswith("date."):
        value = weekday_of(value, inquiry.language) or value
    from_tool = Derivation(
        route="own",
        score=1.0,
        unit=own.unit,
        label=value if own.kind != "number" else "",
        notes=(own.how,),
        value=fraction_of(value) if own.kind == "number" else None,
    )
    if (own.kind == "number" and from_tool.value is None) or value in ("", "unknown", "None"):
        return Solved(working=unsolved(NO_RULE[inquiry.language], (), request.observations))
    return Solved(
        working=answered(inquiry, from_tool, findings_of(request.observations), request.observations, made=made)
    )


def result_of(made: Observation, own: Solution) -> str:
    """The bare result of a call."""
    if made.value:
        return made.value
    expression = dict(own.arguments).get("expression", "")
    if expression and (value := evaluated(expression)) is not None:
        return str(value)
    mark = _RESULT.search(made.text)
    if mark and own.tool == PYTHON_TOOL:
        return mark["value"]
    return made.text.strip()


def fraction_of(text: str) -> Fraction | None:
    """A number in plain spelling."""
    try:
        return Fraction(text.strip().replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return None
