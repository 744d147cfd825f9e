"""Node for repeated questions: a remembered answer is told as a run of its own.

Own task, events and times; only the steps are missing, because none was run. `flow_action` names the memory, and
``execution_metadata`` says ``cached``.
"""

import time

from langgraph.runtime import Runtime

from app.domain.answer import FinalAnswer
from app.domain.plan import Plan
from app.events import PlanReady
from app.flow import progress
from app.flow.remembered import Remembered
from app.flow.respond import commit, ended_plan, resolved_event
from app.flow.speaker import answering_agent, speaker
from app.flow.state import RunContext, RunState


async def retell(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Announce the remembered plan (its steps completed) and findings, tell the answer, and commit it."""
    context, known, clock = runtime.context, state["remembered"], time.perf_counter()
    plan = known.plan and known.plan.model_copy(update={"original_query": context.asking.request.query})
    done = ended_plan(plan, {step.number: "completed" for step in plan.steps}, all_well=True) if plan else None
    context.trace.recalled(known.resolution)
    if plan and done:
        context.run.writer.append(PlanReady(plan=done))
        _announce(context, known, plan)
    agent = answering_agent(context, state)
    context.say(known.composition.answer, speaker(context, state), streaming=False)
    context.trace.formatter(round((time.perf_counter() - clock) * 1000))
    departments = context.ports.agents.accessible_departments(context.asking.principal) if plan else ()
    composition = known.composition
    answer = FinalAnswer(
        answer=composition.answer,
        evidence=known.evidence,
        reasoning=composition.reasoning,
        confidence_score=round(composition.confidence, 4),
        follow_up_questions=composition.follow_up_questions,
        flow_action=context.trace.actions,
        execution_metadata=known.metadata.model_copy(
            update={
                "total_duration_ms": context.trace.elapsed_ms(),
                "accessible_departments": departments,
                "cached": True,
            }
        ),
    )
    await commit(context, answer, composition.outcome, done, agent, known.report, known.verdicts)
    return {}


def _announce(context: RunContext, known: Remembered, plan: Plan) -> None:
    writer = context.run.writer
    writer.append(progress.plan_ready(plan.steps))
    writer.append(progress.ready_for_resolution(known.outputs))
    if known.verdicts:
        writer.append(resolved_event(known.verdicts))
