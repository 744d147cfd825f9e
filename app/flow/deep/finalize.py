"""The finalizer: the answer in the asked-for form with the reasoning trace, or an honest message that there is none."""

import asyncio
import re

from langgraph.runtime import Runtime

from app.domain.answer import ExecutionMetadata, Outcome
from app.domain.deep import Report
from app.domain.knowledge import Finding, Language
from app.errors import ErrorCode
from app.flow.deep.context import DeepContext, GraphState
from app.flow.deep.orchestrate import ended_plan_of, stop_cause, work_id
from app.flow.deep.state import Cause, DeepLimits, DeepState
from app.flow.outputs import agent_outputs
from app.flow.resolve import cited, trace_resolution
from app.flow.respond import commit, commit_failed, resolved_event
from app.flow.state import Reply
from app.flow.wording import SENTENCES, all_ran_progress
from app.reasoning.budget import LimitReached
from app.reasoning.deep import TellRequest

_PIECE = re.compile(r".{1,48}\S*\s*", re.DOTALL)
"""Of a text that is told: smooth to read, cut between words."""
_LAST_SHARE = 0.3
"""Of the reserve, kept back for committing what the mind says."""
_CODES: dict[Cause, ErrorCode] = {"deadline": ErrorCode.RUN_DEADLINE_EXCEEDED, "budget": ErrorCode.BUDGET_EXHAUSTED}
"""Causes that end a run as failed; where tries ran out, nothing was found."""


async def finalize(state: GraphState, runtime: Runtime[DeepContext]) -> GraphState:
    """Tell the answer and commit it with the end of the run."""
    context, deep = runtime.context, state["deep"]
    if deep.reply is not None:
        await _reply(context, deep, deep.reply)
        return {"deep": deep}
    cause = stop_cause(deep, context.limits)
    why = stop_reason(cause, deep, context.limits) if cause else ""
    if cause is None:
        context.run.run.writer.append(all_ran_progress(agent_outputs(context.run.outcomes)))
    report = _cleaned(await _report(context, deep, why), context, deep)
    outcome: Outcome = "answered" if report.solved and cause is None else "not_found"
    told = {"outcome": "failed" if cause in _CODES else outcome, **({"cause": cause} if cause else {})}
    context.trace.stage("finalizer", "finalizer", context.since, True, told)
    if cause in _CODES:
        await _fail(context, deep, _CODES[cause], why, report)
    else:
        await _answer(context, deep, report, outcome)
    return {"deep": deep.but(at_work=None)}


def stop_reason(cause: Cause, state: DeepState, limits: DeepLimits) -> str:
    """Why there is no answer, as part of a sentence."""
    tries = {"plan": limits.max_plan_tries, "research": limits.max_research_tries, "expert": limits.max_expert_tries}
    told: str = SENTENCES["stop_reasons"][state.asked.language][cause]
    return told.format(tries=tries.get(cause, 0), step=state.step, task=state.task).rstrip(".")


def no_answer(why: str, language: Language) -> str:
    """The honest message, where no mind is left to say it."""
    return str(SENTENCES["no_answer"][language].format(why=why))


def account_of(state: DeepState) -> str:
    """What was tried, a line each, where no mind is left to tell it."""
    said = SENTENCES["verdicts"][state.asked.language]
    lines = [f"{number}. {text}" for number, text in enumerate(state.plan.research if state.plan else (), 1)]
    lines += [f"{one.task}: {one.text}" for one in state.research]
    back = f"{said['no']} – "
    lines += [f"{work_id(one)}: {said['yes'] if one.approved else back + one.feedback}" for one in state.critiques]
    return "\n".join(lines)


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
    for piece in _PIECE.findall(report.answer):
        context.run.stream_text(piece, "finalizer", streaming=True)
    context.yield_floor()
    if deep.verdicts:
        trace_resolution(context.run, deep.verdicts, 0)
        context.run.run.writer.append(resolved_event(deep.verdicts))
    is_found = outcome == "answered"
    confidence = deep.working.confidence if is_found and deep.working else 0.0
    evidence = cited(_sources(deep)) if is_found else ()
    metadata, plan = _metadata(context, bool(deep.verdicts)), ended_plan_of(context, deep)
    await commit(context.run, report, outcome, metadata, confidence, evidence, plan=plan, conflicts=deep.verdicts)
    context.run.listener.remember_turn(None, deep.asked.question, found=is_found)


async def _fail(context: DeepContext, deep: DeepState, code: ErrorCode, why: str, report: Report) -> None:
    """End as failed: what the finalizer says is the fallback answer."""
    context.yield_floor()
    message = no_answer(why, deep.asked.language)
    details = {"error_type": code.value.lower()}
    plan = ended_plan_of(context, deep)
    await commit_failed(context.run, code, message, report.answer, plan, details, deep.verdicts)


async def _reply(context: DeepContext, deep: DeepState, reply: Reply) -> None:
    context.run.stream_text(reply.text, "finalizer", streaming=False)
    context.trace.stage("finalizer", "finalizer", context.since, True, {"outcome": reply.outcome})
    context.yield_floor()
    report = Report(answer=reply.text, reasoning="", solved=False)
    await commit(context.run, report, reply.outcome, _metadata(context, False), reply.confidence)


def _metadata(context: DeepContext, weighed: bool) -> ExecutionMetadata:
    departments = context.run.ports.agents.accessible_departments(context.run.asking.principal)
    return context.trace.execution_metadata(context.run.outcomes, departments, resolution_applied=weighed)
