"""The nodes without tools: the way in, the planner, the critic, and the finalizer."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.runtime import Runtime

from app.domain.answer import ExecutionMetadata, Outcome
from app.domain.deep import Asked, Critique, DeepMessage, DeepPlan, Party, Report, Stage
from app.domain.knowledge import Finding
from app.errors import AppError, ErrorCode
from app.events import RenavigateRequest, VerificationDone
from app.flow.deep.context import DeepContext, GraphState, Stopped
from app.flow.deep.orchestrate import announce, completed, ended_plan_of, stop_cause, work_id, work_text
from app.flow.deep.state import Cause, DeepLimits, DeepState
from app.flow.orchestrate import classify, reply_to, settle_permission
from app.flow.resolve import cited, trace_resolution
from app.flow.respond import commit, commit_failed, resolved_event
from app.flow.wording import SENTENCES, agent_outputs, all_ran_progress
from app.links import LinkGuard
from app.reasoning import Classification, Composition
from app.reasoning.budget import LimitReached
from app.reasoning.deep import CritiqueRequest, DecomposeRequest, TellRequest

_PIECE = re.compile(r".{1,48}\S*\s*", re.DOTALL)
"""Of a text that is told: smooth to read, cut between words."""
_LAST_SHARE = 0.3
"""Of the reserve, kept back for committing what the mind says."""
_CODES: dict[Cause, ErrorCode] = {"deadline": ErrorCode.RUN_DEADLINE_EXCEEDED, "budget": ErrorCode.BUDGET_EXHAUSTED}
"""Causes that end a run as failed; where tries ran out, nothing was found."""


def planned_question(classification: Classification, query: str) -> str:
    """The question that is planned: as it was asked, unless it needs its conversation to be understood."""
    return classification.refined_query if classification.is_follow_up and classification.refined_query else query


@dataclass(frozen=True)
class Done:
    """What a stage leaves, and what the trace tells of its visit."""

    state: DeepState
    node_id: str
    told: dict[str, Any]
    ok: bool = True


class Node(Protocol):
    """A node of the graph."""

    async def __call__(self, state: GraphState, runtime: Runtime[DeepContext]) -> GraphState:
        """Visit it."""


def stage(name: Stage, work: Callable[[DeepContext, DeepState], Awaitable[Done]]) -> Node:
    """A node of the graph: does the work, or stops the run where time or budget is over; either is traced."""

    async def node(state: GraphState, runtime: Runtime[DeepContext]) -> GraphState:
        context, deep = runtime.context, state["deep"]
        try:
            done = await work(context, deep)
        except Stopped as stopped:
            done = Done(deep.but(stopped=stopped.cause), name, {"stopped": stopped.cause}, ok=False)
        context.trace.stage(name, done.node_id, context.since, done.ok, done.told)
        return {"deep": done.state.but(at_work=None)}

    return node


async def take_in(state: GraphState, runtime: Runtime[DeepContext]) -> GraphState:
    """Read the question: what is asked, in which language, with which files; another attempt's state stays as it is."""
    if "deep" in state:
        return {"deep": state["deep"]}
    context = runtime.context
    asking, started_at = context.run.asking, context.now()
    found = context.classification or await classify(context.run.ports, asking, context.offers)
    context.trace.router(started_at, "deep" if found.kind in ("simple", "task") else found.kind, asking.as_of(found))
    settle_permission(context.run)
    question = planned_question(found, asking.request.query)
    asked = Asked(
        question=question, language=found.language, style=asking.request.answer_style, files=await _file_names(context)
    )
    deep = DeepState(
        asked=asked, said="\n".join(dict.fromkeys((asking.request.query, question))),
        searched_on=asking.searched_on(found), reply=reply_to(found), asks_approval=asking.request.approve_plan,
    )  # fmt: skip
    return {"deep": deep}


async def _file_names(context: DeepContext) -> tuple[str, ...]:
    names = []
    for file_id in context.run.asking.request.files:
        try:
            names.append((await context.ports.files.find(context.run.asking.principal, file_id)).name)
        except AppError:  # it is gone: the tool says so when it is asked
            continue
    return tuple(names)


async def plan(context: DeepContext, deep: DeepState) -> Done:
    """The planner: atomic steps, made before anything is read."""
    request = DecomposeRequest(
        asked=deep.asked, researcher=context.tools_of("researcher"), expert=context.tools_of("expert"),
        today=context.run.asking.today, feedback=deep.feedback, previous=deep.plan,
        max_research_steps=context.limits.max_research_steps,
    )  # fmt: skip
    made = cleaned_plan(await context.ask(context.ports.mind.decompose(request)), context.guard(deep), context.limits)
    report = _report("planner", work_text(made))
    done = deep.but(
        plan=made, plan_tries=deep.plan_tries + 1, under_review="planner", messages=(*deep.messages, report)
    )
    return Done(done, "planner", {"try": done.plan_tries, "research": list(made.research), "logic": list(made.logic)})


def cleaned_plan(made: DeepPlan, guard: LinkGuard, limits: DeepLimits) -> DeepPlan:
    """A plan with no more steps than may be, and with no address that the asker did not name."""
    return DeepPlan(
        question=guard.clean(made.question),
        research=tuple(map(guard.clean, made.research[: limits.max_research_steps])),
        logic=tuple(map(guard.clean, made.logic)),
        answer_format=guard.clean(made.answer_format),
    )


async def criticise(context: DeepContext, deep: DeepState) -> Done:
    """The critic: approves a piece of work, or sends it back with what to do differently."""
    of, given = deep.under_review, deep.plan
    assert of is not None and given is not None  # the orchestrator calls for nothing else
    request = CritiqueRequest(
        of=of, asked=deep.asked, plan=given, earlier=deep.research,
        tools=context.tools_of("researcher", "expert") if of == "planner" else (),
        research=deep.draft if of == "researcher" else None, working=deep.working if of == "expert" else None,
        min_relevance_score=context.run.limits.min_relevance_score,
    )  # fmt: skip
    said = await context.ask(context.ports.mind.criticise(request))
    step = deep.step if of == "researcher" else 0
    feedback = "" if said.approved else context.guard(deep, deep.findings).clean(said.feedback)
    critique = Critique(of=of, approved=said.approved, feedback=feedback, step=step)
    writer, name, done = context.run.run.writer, work_id(critique), judged(deep, critique)
    found = request.research.findings if request.research else ()
    sure = {
        "planner": 1.0, "expert": request.working.confidence if request.working else 0.0,
        "researcher": max((one.confidence for one in found), default=0.0),
    }  # fmt: skip
    if not critique.approved:
        writer.append(RenavigateRequest(node_id=name, reason=feedback))
    else:
        writer.append(VerificationDone(node_id=name, confidence=sure[of]))
        if of == "planner":
            await announce(context, done)
        else:
            completed(context, done)
    told = {"of": of, "approved": critique.approved, **({"step": step} if step else {})}
    return Done(done, f"critic:{name}", told | ({"feedback": feedback} if feedback else {}))


def judged(deep: DeepState, critique: Critique) -> DeepState:
    """The state after a verdict: approved work is settled, refused work stays for whoever mends it."""
    verdict = "approved" if critique.approved else f"rejected: {critique.feedback}"
    told = _report("critic", verdict, critique.step)
    after = deep.but(under_review=None, critiques=(*deep.critiques, critique), messages=(*deep.messages, told))
    if not critique.approved:
        return after
    match critique.of:
        case "planner":
            return after.but(is_plan_approved=True)
        case "researcher":
            talks = {key: talk for key, talk in after.talks.items() if key != f"researcher:{critique.step}"}
            found = after.draft
            assert found is not None  # it was judged
            return after.but(research=(*after.research, found), draft=None, research_tries=0, talks=talks)
        case "expert":
            return after.but(is_answer_approved=True)


def _report(sender: Party, content: str, step: int = 0) -> DeepMessage:
    return DeepMessage(sender=sender, receiver="orchestrator", content=content, step=step)


async def finalize(state: GraphState, runtime: Runtime[DeepContext]) -> GraphState:
    """Tell the answer in the asked-for form, or honestly that there is none, and commit it with the end of the run."""
    context, deep = runtime.context, state["deep"]
    if deep.reply is not None:
        await _reply(context, deep, deep.reply)
        return {"deep": deep}
    cause = stop_cause(deep, context.limits)
    why = stop_reason(cause, deep, context.limits) if cause else ""
    if cause is None:
        context.run.run.writer.append(all_ran_progress(agent_outputs(context.run.outcomes)))
    report = _cleaned(await _told(context, deep, why), context, deep)
    outcome: Outcome = "answered" if report.solved and cause is None else "not_found"
    told = {"outcome": "failed" if cause in _CODES else outcome, **({"cause": cause} if cause else {})}
    context.trace.stage("finalizer", "finalizer", context.since, True, told)
    if cause in _CODES:
        context.yield_floor()
        message, plan = _no_answer(deep, why), ended_plan_of(context, deep)
        await commit_failed(context.run, _CODES[cause], message, report.answer, plan, deep.verdicts)
    else:
        await _answer(context, deep, report, outcome)
    return {"deep": deep.but(at_work=None)}


def stop_reason(cause: Cause, state: DeepState, limits: DeepLimits) -> str:
    """Why there is no answer, as part of a sentence."""
    tries = {"plan": limits.max_plan_tries, "research": limits.max_research_tries, "expert": limits.max_expert_tries}
    told: str = SENTENCES["stop_reasons"][state.asked.language][cause]
    return told.format(tries=tries.get(cause, 0), step=state.step, task=state.task).rstrip(".")


def _no_answer(state: DeepState, why: str) -> str:
    """The honest message, where no mind is left to say it."""
    return str(SENTENCES["no_answer"][state.asked.language].format(why=why))


def account_of(state: DeepState) -> str:
    """What was tried, a line each, where no mind is left to tell it."""
    said = SENTENCES["verdicts"][state.asked.language]
    lines = [f"{number}. {text}" for number, text in enumerate(state.plan.research if state.plan else (), 1)]
    lines += [f"{one.task}: {one.text}" for one in state.research]
    back = f"{said['no']} – "
    lines += [f"{work_id(one)}: {said['yes'] if one.approved else back + one.feedback}" for one in state.critiques]
    return "\n".join(lines)


async def _told(context: DeepContext, deep: DeepState, why: str) -> Report:
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
    answer = _no_answer(deep, why) if approved is None else approved.text or approved.answer
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
    said = Composition(
        answer=report.answer, outcome=outcome, reasoning=report.reasoning, confidence=confidence,
        follow_up_questions=report.follow_up_questions,
    )  # fmt: skip
    await commit(context.run, said, metadata, evidence, plan=plan, conflicts=deep.verdicts)
    context.run.listener.remember_turn(None, deep.asked.question, found=is_found)


async def _reply(context: DeepContext, deep: DeepState, reply: Composition) -> None:
    context.run.stream_text(reply.answer, "finalizer", streaming=False)
    context.trace.stage("finalizer", "finalizer", context.since, True, {"outcome": reply.outcome})
    context.yield_floor()
    await commit(context.run, reply, _metadata(context, False))


def _metadata(context: DeepContext, weighed: bool) -> ExecutionMetadata:
    departments = context.run.ports.agents.accessible_departments(context.run.asking.principal)
    return context.trace.execution_metadata(context.run.outcomes, departments, resolution_applied=weighed)
