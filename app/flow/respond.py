"""Node 5, final response: write the answer, stream it without unknown addresses, commit it with the end of the task."""

import time
from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from app.agents.run import guard_of
from app.agents.step import StepOutcome, failure_of
from app.domain.answer import ErrorAnswer, ExecutionMetadata, FinalAnswer, Outcome, to_json
from app.domain.conflicts import Conflict
from app.domain.knowledge import Evidence, evidence_of
from app.domain.plan import MATH_TOOL, ORCHESTRATOR, RAG_TOOL, RETRIEVAL_TOOLS, SUMMARY_TOOL, Plan
from app.domain.tasks import TaskStatus
from app.errors import ErrorCode
from app.events import ConflictResolved, FinalReport, PlanReady, TaskFailed
from app.flow import wording
from app.flow.answer_cache import cache_answer
from app.flow.orchestrate import reply_to
from app.flow.state import RunContext, RunState
from app.flow.wording import as_of_lead, ended_plan, failure_message, findings_of, report_of
from app.reasoning import ComposeRequest, Composition

_DELTA_CHARS = 48
"""Text is streamed in pieces of about this length: smooth to read, few rows in the journal."""


async def respond(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """The last node: chitchat reply, answer, or error answer with what could be saved."""
    context = runtime.context
    if (reply := reply_to(state["classification"])) is not None:
        await _finish_answer(context, state, reply, ())
    elif failed := failed_outcomes(context.outcomes):
        await fail(context, state, failed)
    else:
        await _answer(context, state)
    return {}


async def _answer(context: RunContext, state: RunState) -> None:
    clock = time.perf_counter()
    if verdicts := state.get("verdicts"):
        context.run.writer.append(resolved_event(verdicts))
    composition = await composed(context, state, (), stream=True)
    context.trace.formatter(round((time.perf_counter() - clock) * 1000))
    await _finish_answer(context, state, composition, _cited(composition, state))


def _cited(composition: Composition, state: RunState) -> tuple[Evidence, ...]:
    """What the answer rests on; where sources were weighed both sides, since it names them."""
    if composition.outcome in ("not_found", "refused"):
        return ()
    if composition.evidence is None:
        return state["evidence"]
    known = {one.url for one in composition.evidence}
    weighed = state["evidence"] if state.get("verdicts") else ()
    return (*composition.evidence, *(one for one in weighed if one.url not in known))


def resolved_event(conflicts: Sequence[Conflict]) -> ConflictResolved:
    """What was weighed, by which policy; there is something."""
    policy = conflicts[0].weighing.rules.resolution_strategy
    return ConflictResolved(conflicts=[conflict.as_json() for conflict in conflicts], policy=policy)


async def _finish_answer(
    context: RunContext, state: RunState, composition: Composition, evidence: tuple[Evidence, ...]
) -> None:
    """Remember a finished run and commit it, in this order: who has seen an answer finds it remembered."""
    chitchat = state["decision"] in ("chitchat", "refused")
    if chitchat:
        context.stream_text(composition.answer, ORCHESTRATOR, streaming=False)
        context.trace.formatter(0)
    departments = () if chitchat else context.ports.agents.accessible_departments(context.asking.principal)
    verdicts = state.get("verdicts", ())
    metadata = context.trace.execution_metadata(context.outcomes, departments, resolution_applied=bool(verdicts))
    cache_answer(context, state, composition, evidence)
    await commit(
        context, composition, metadata, evidence, plan=_run_plan(state.get("plan"), context.outcomes),
        agent=answering_agent(context, state), report=report_of(context.outcomes, context.ports.agents),
        conflicts=verdicts,
    )  # fmt: skip


async def commit(
    context: RunContext, said: Composition, metadata: ExecutionMetadata, evidence: tuple[Evidence, ...] = (), *,
    plan: dict[str, Any] | None = None, agent: str | None = None, report: str = "", conflicts: Sequence[Conflict] = (),
) -> None:  # fmt: skip
    """End a run with the seed's final answer (§5), with everything the trace holds by now; `plan` is the plan as it
    ended, `agent` whose answer counted, `report` see `report_of`, `conflicts` what was weighed for it."""
    supported = {} if said.support is None else {"support": said.support}
    answer = FinalAnswer(
        **supported, answer=said.answer, evidence=evidence, reasoning=said.reasoning,
        confidence_score=round(said.confidence, 4),
        follow_up_questions=said.follow_up_questions, flow_action=context.trace.actions, execution_metadata=metadata,
    )  # fmt: skip
    result = _addressed(context, to_json(answer), said.outcome)
    told = FinalReport(answer=result, report=report)
    await _finish(context, plan, TaskStatus.COMPLETED, result, told, conflicts, active_agent=agent)


async def fail(
    context: RunContext, state: RunState, failed: Sequence[StepOutcome], *, code: ErrorCode | None = None,
    message: str | None = None,
) -> None:  # fmt: skip
    """Commit a run that failed: which agents succeeded, and the best answer from what they found (§6)."""
    agents = tuple(dict.fromkeys(outcome.step.step.agent for outcome in failed))
    has_some = any(outcome.ok for outcome in context.outcomes)
    fallback = (await composed(context, state, agents, stream=False)).answer if has_some else ""
    is_late = any(outcome.error is not None and outcome.error.error_type == "deadline" for outcome in failed)
    code = code or (ErrorCode.RUN_DEADLINE_EXCEEDED if is_late else ErrorCode.AGENT_EXECUTION_FAILED)
    message = message or failure_message(failed[0].step.step.agent, failed[0].tool)
    plan = _run_plan(state.get("plan"), context.outcomes)
    await commit_failed(context, code, message, fallback, plan, state.get("verdicts", ()), failed)


async def commit_failed(
    context: RunContext, code: ErrorCode, message: str, fallback: str, plan: dict[str, Any] | None,
    conflicts: Sequence[Conflict], failed: Sequence[StepOutcome] = (),
) -> None:  # fmt: skip
    """End a run without its answer; `fallback` is the best that can be said, `plan` the plan as it ended, the first of
    the steps that `failed` goes into the trace."""
    details = next(filter(None, map(failure_of, failed)), {"error_type": code.value.lower()})
    context.trace.add("ErrorHandler", "error_handler", "handled", error_details=details)
    error = ErrorAnswer(
        error=True, error_code=code.value, error_message=message,
        partial_results=wording.partial_results(context.outcomes), fallback_answer=fallback,
        flow_action=context.trace.actions,
    )  # fmt: skip
    result = _addressed(context, to_json(error), "failed")
    await _finish(context, plan, TaskStatus.FAILED, result, TaskFailed(answer=result), conflicts, error_message=message)


async def _finish(
    context: RunContext, plan: dict[str, Any] | None, status: TaskStatus, result: dict[str, Any],
    event: FinalReport | TaskFailed, conflicts: Sequence[Conflict], error_message: str | None = None,
    active_agent: str | None = None,
) -> None:  # fmt: skip
    active = {"active_agent": active_agent} if active_agent else {}
    fallback = [name for name in context.ports.agents.names if context.ports.agents.spec(name).is_fallback]
    metrics = to_json(context.trace.performance(context.outcomes, fallback))
    await context.ports.registry.finish(
        context.run, status=status, result=result, flow_action=result["flow_action"], error_message=error_message,
        metadata={"outcome": result["outcome"], "performance_metrics": metrics, **active},
        event=event, plan=plan, conflicts=conflicts,
    )  # fmt: skip


def _run_plan(plan: Plan | None, outcomes: Sequence[StepOutcome]) -> dict[str, Any] | None:
    """The plan with the statuses its steps ended in."""
    if plan is None:
        return None
    ended = {outcome.step.number: "completed" if outcome.ok else "failed" for outcome in outcomes}
    return ended_plan(plan, ended, all_well=all(outcome.ok for outcome in outcomes))


def failed_outcomes(outcomes: Sequence[StepOutcome]) -> list[StepOutcome]:
    """Failures that cost an agent its findings; a missing summary or sum only makes the answer partial."""
    return [o for o in outcomes if not o.ok and o.step.step.tool in RETRIEVAL_TOOLS]


def _addressed(context: RunContext, answer: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    task = context.run.task
    return {**answer, "session_id": str(task.session_id), "task_id": str(task.task_id), "outcome": outcome}


async def answer_from_cache(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Node for repeated questions: announce the remembered plan (its steps completed), tell the answer, and
    commit it as a run of its own. Only the steps are missing: none was run."""
    context, known, clock = runtime.context, state["remembered"], time.perf_counter()
    writer, composition = context.run.writer, known.composition
    plan = known.plan and known.plan.model_copy(update={"original_query": context.asking.request.query})
    done = ended_plan(plan, {step.number: "completed" for step in plan.steps}, all_well=True) if plan else None
    context.trace.recalled(known.resolution)
    if plan and done:
        writer.append(PlanReady(plan=done))
        writer.append(wording.plan_ready_progress(plan.steps))
        writer.append(wording.all_ran_progress(known.outputs))
        if known.verdicts:
            writer.append(resolved_event(known.verdicts))
    context.stream_text(composition.answer, speaker(context, state), streaming=False)
    context.trace.formatter(round((time.perf_counter() - clock) * 1000))
    departments = context.ports.agents.accessible_departments(context.asking.principal) if plan else ()
    spent = {"total_duration_ms": context.trace.elapsed_ms(), "accessible_departments": departments, "cached": True}
    metadata = known.metadata.model_copy(update=spent)
    await commit(
        context, composition, metadata, known.evidence, plan=done, agent=answering_agent(context, state),
        report=known.report, conflicts=known.verdicts,
    )  # fmt: skip
    return {}


async def composed(
    context: RunContext, state: RunState, failed_agents: tuple[str, ...], *, stream: bool
) -> Composition:
    """Run the composer to its end; the day that was asked for is named first. The answer is what was streamed."""
    request = compose_request(context, state, failed_agents)
    hosts = context.limits.trusted_link_hosts
    evidence = (*request.evidence, *evidence_of(request.read))
    known = [request.query, request.asked, *(quote.passage.text for quote in request.read)]
    guard = guard_of(known, request.findings, request.language, hosts, evidence)
    agent = speaker(context, state) if stream else ""
    told, held = "", _lead(context, state)
    composition: Composition | None = None

    def tell(text: str) -> None:
        nonlocal told
        told += text
        if agent and text:
            context.stream_text(text, agent, streaming=True)

    async for piece in context.ports.reasoner.compose(request):
        if isinstance(piece, Composition):
            composition = piece
            continue
        held += guard.feed(piece)
        if len(held) >= _DELTA_CHARS:
            tell(held)
            held = ""
    tell(held + guard.finish())
    if composition is None:
        raise RuntimeError("the composer ended without a composition")
    further = tuple(map(guard.clean, composition.follow_up_questions))
    support = composition.support and tuple(
        one.model_copy(update={"statement": guard.clean(one.statement)}) for one in composition.support
    )
    cleaned = {
        "answer": told,
        "support": support,
        "reasoning": guard.clean(composition.reasoning),
        "follow_up_questions": further,
    }
    return composition.model_copy(update=cleaned)


def compose_request(context: RunContext, state: RunState, failed_agents: tuple[str, ...]) -> ComposeRequest:
    """All the answer may be made of; works for a cut run as well."""
    classification, limits = state["classification"], context.limits
    findings = state["findings"] if "findings" in state else findings_of(context.outcomes)
    agents, asking = context.ports.agents, context.asking
    asked = [name for name in dict.fromkeys(one.step.step.agent for one in context.outcomes) if name in agents.names]
    return ComposeRequest(
        query=classification.refined_query, language=classification.language, findings=findings,
        read=wording.best_read(context.outcomes), asked=asking.request.query, history=asking.history,
        edits=classification.edits,
        today=(as_of.day if (as_of := asking.as_of(classification)) else asking.today),
        department=asking.principal.department,
        instructions="\n".join(filter(None, (agents.spec(name).instructions for name in asked))),
        summaries=_texts(context.outcomes, SUMMARY_TOOL), computations=_texts(context.outcomes, MATH_TOOL),
        refusals=_refusals(context.outcomes), conflicts=state.get("conflicts", ()), evidence=state.get("evidence", ()),
        failed_agents=failed_agents, is_strict=context.is_strict(*map(agents.spec, asked)),
        max_follow_up_questions=limits.max_follow_up_questions if limits.enable_follow_up_questions else 0,
    )  # fmt: skip


def _lead(context: RunContext, state: RunState) -> str:
    """As of which day the answer speaks; empty when today's documents were read, or none."""
    as_of = context.asking.as_of(state["classification"])
    if as_of is None or not any(outcome.tool == RAG_TOOL for outcome in context.outcomes):
        return ""
    return f"{as_of_lead(as_of.day, state['classification'].language)}\n\n"


def _texts(outcomes: Sequence[StepOutcome], tool: str) -> tuple[str, ...]:
    """What a tool said, in plan order."""
    ended = sorted((o for o in outcomes if o.step.step.tool == tool), key=lambda outcome: outcome.step.number)
    return tuple(outcome.result.text for outcome in ended if outcome.result is not None and outcome.result.text)


def _refusals(outcomes: Sequence[StepOutcome]) -> tuple[str, ...]:
    """Why tools that compute or fetch could not; of those that read the company's own sources the run itself tells."""
    ended = [o for o in sorted(outcomes, key=lambda o: o.step.number) if o.step.step.tool not in RETRIEVAL_TOOLS]
    return tuple(dict.fromkeys(o.error.message for o in ended if o.error and o.error.error_type == "tool_failed"))


def answering_agent(context: RunContext, state: RunState) -> str | None:
    """The department whose answer counted, the surest of several; None when none found anything."""
    told = best_by_agent(context, state)
    agents = context.ports.agents
    readers = [agent for agent in told if agent in agents.names and not agents.spec(agent).is_pool]
    return max(readers, key=lambda agent: told[agent], default=None)


def speaker(context: RunContext, state: RunState) -> str:
    """Who tells the answer: the one agent that found something, else the orchestrator."""
    found = best_by_agent(context, state)
    return next(iter(found)) if len(found) == 1 else ORCHESTRATOR


def best_by_agent(context: RunContext, state: RunState) -> dict[str, float]:
    """Each agent or pool that found something, with its best confidence; of a remembered answer all are as sure."""
    if "remembered" in state:
        return {output.agent: 1.0 for output in state["remembered"].outputs if any(q.answer for q in output.queries)}
    findings = state["findings"] if "findings" in state else findings_of(context.outcomes)
    best: dict[str, float] = {}
    for finding in findings:
        if finding.found:
            best[finding.agent] = max(best.get(finding.agent, 0.0), finding.confidence)
    return best
