"""The finalizer: the answer in the asked-for form with the reasoning trace, or an honest message that there is none."""

import asyncio
from collections.abc import Iterator

from langgraph.runtime import Runtime

from app.domain.answer import FinalAnswer, Outcome
from app.domain.deep import Report
from app.domain.knowledge import Evidence, Finding
from app.errors import ErrorCode
from app.flow.deep.context import DeepContext, GraphState
from app.flow.deep.orchestrate import given_up
from app.flow.deep.shown import all_done, ended_plan_of
from app.flow.deep.state import Cause, DeepState, Reply
from app.flow.deep.wording import account_of, no_answer, why_given_up
from app.flow.resolve import cited, tell_resolution
from app.flow.respond import commit, commit_failed, resolved_event
from app.reasoning.budget import LimitReached
from app.reasoning.deep import TellRequest

_DELTA_CHARS = 48
_LAST_SHARE = 0.3
"""Of the reserve, kept back for committing what the mind says."""
_CODES: dict[Cause, ErrorCode] = {
    "deadline": ErrorCode.RUN_DEADLINE_EXCEEDED,
    "budget": ErrorCode.BUDGET_EXHAUSTED,
}
"""Causes that end a run as failed; where tries ran out, nothing was found."""


async def finalize(state: GraphState, runtime: Runtime[DeepContext]) -> GraphState:
    """Tell the answer and commit it with the end of the run."""
    context, deep = runtime.context, state["deep"]
    if deep.reply is not None:
        await _reply(context, deep, deep.reply)
        return {"deep": deep}
    cause = given_up(deep, context.limits)
    why = why_given_up(cause, deep, context.limits) if cause else ""
    if cause is None:
        all_done(context)
    report = _cleaned(await _report(context, deep, why), context, deep)
    outcome: Outcome = "answered" if report.solved and cause is None else "not_found"
    told = {"outcome": "failed" if cause in _CODES else outcome, **({"cause": cause} if cause else {})}
    context.trace.stage("finalizer", "finalizer", context.since, True, told)
    if cause in _CODES:
        await _fail(context, deep, _CODES[cause], why, report)
    else:
        await _answer(context, deep, report, outcome)
    return {"deep": deep.but(at_work=None)}


async def _report(context: DeepContext, deep: DeepState, why: str) -> Report:
    """What the mind says in the time that is left; else what can be said without one."""
    limits = context.run.limits
    request = TellRequest(
        asked=deep.asked, plan=deep.plan, research=deep.research, working=deep.working, critiques=deep.critiques,
        failure=why,
        max_follow_up_questions=limits.max_follow_up_questions if limits.enable_follow_up_questions else 0,
    )  # fmt: skip
    until = context.run.deadline - _LAST_SHARE * (context.run.deadline - context.work_until)
    try:
        async with asyncio.timeout_at(until):
            with context.paying():
                return await context.ports.mind.tell(request)
    except (TimeoutError, LimitReached):
        context.trace.downgrade("finalizer: told without a mind")
    approved = deep.working if deep.is_answer_approved else None
    answer = no_answer(why, deep.asked.language) if approved is None else approved.text or approved.answer
    return Report(answer=answer, reasoning=account_of(deep), solved=approved is not None)


def _cleaned(report: Report, context: DeepContext, deep: DeepState) -> Report:
    """Without addresses that no source has."""
    guard = context.guard(deep, _sources(deep))
    preferences = (guard.clean(point.preference) for point in deep.points if point.decided)
    return Report(
        answer=guard.clean(report.answer),
        reasoning="\n".join((*dict.fromkeys(preferences), guard.clean(report.reasoning))).strip(),
        solved=report.solved,
        follow_up_questions=tuple(map(guard.clean, report.follow_up_questions)),
    )


def _sources(deep: DeepState) -> tuple[Finding, ...]:
    """What the answer rests on: what the expert names, else what it worked with."""
    if deep.working is None:
        return ()
    own = tuple(finding for one in deep.working.observations for finding in one.findings)
    found = tuple(finding for research in deep.research for finding in research.findings)
    return deep.working.findings or (*found, *own)


async def _answer(context: DeepContext, deep: DeepState, report: Report, outcome: Outcome) -> None:
    for piece in _pieces(report.answer):
        context.run.say(piece, "finalizer", streaming=True)
    context.yield_floor()
    if deep.verdicts:
        tell_resolution(context.run, deep.verdicts, 0)
        context.run.run.writer.append(resolved_event(deep.verdicts))
    is_found = outcome == "answered"
    confidence = deep.working.confidence if is_found and deep.working else 0.0
    answer = _final(context, report, cited(_sources(deep)) if is_found else (), confidence, bool(deep.verdicts))
    await commit(context.run, answer, outcome, ended_plan_of(context, deep), None, "", deep.verdicts)
    context.run.listener.keep(None, deep.asked.question, found=is_found)


async def _fail(context: DeepContext, deep: DeepState, code: ErrorCode, why: str, report: Report) -> None:
    """End as failed: what the finalizer says is the fallback answer."""
    context.yield_floor()
    message = no_answer(why, deep.asked.language)
    details = {"error_type": code.value.lower()}
    plan = ended_plan_of(context, deep)
    await commit_failed(context.run, code, message, report.answer, plan, details, deep.verdicts)


async def _reply(context: DeepContext, deep: DeepState, reply: Reply) -> None:
    context.run.say(reply.text, "finalizer", streaming=False)
    context.trace.stage("finalizer", "finalizer", context.since, True, {"outcome": reply.outcome})
    context.yield_floor()
    report = Report(answer=reply.text, reasoning="", solved=False)
    answer = _final(context, report, (), reply.confidence, False)
    await commit(context.run, answer, reply.outcome, None, None, "", ())


def _final(
    context: DeepContext, report: Report, evidence: tuple[Evidence, ...], confidence: float, weighed: bool
) -> FinalAnswer:
    departments = context.run.ports.agents.accessible_departments(context.run.asking.principal)
    return FinalAnswer(
        answer=report.answer,
        evidence=evidence,
        reasoning=report.reasoning,
        confidence_score=round(confidence, 4),
        follow_up_questions=report.follow_up_questions,
        flow_action=context.trace.actions,
        execution_metadata=context.trace.execution_metadata(
            context.run.outcomes, departments, resolution_applied=weighed
        ),
    )


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that are smooth to read, cut between words."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + _DELTA_CHARS)
        end = len(text) if end < 0 else end + 1
        yield text[start:end]
        start = end
