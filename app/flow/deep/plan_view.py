"""The plan as people follow it: the seed's JSON (§2.1), a tier a step, and progress from 75 to 95 while it runs."""

from collections.abc import Mapping
from typing import Any

from app.agents.registry import ROLES, Role
from app.domain.deep import DeepPlan, Stage
from app.domain.knowledge import Language
from app.domain.plan import AgentPlan, ExecutionFlow, Plan, PlannedStep, Planning, PlanPermission, Step
from app.domain.principal import SCOPES
from app.events import PlanReady
from app.flow import wording
from app.flow.deep.context import DeepContext
from app.flow.deep.state import DeepState
from app.flow.outputs import agent_outputs
from app.flow.respond import ended_plan
from app.flow.state import Asking

REACT = "react"
"""What stands for the tool of a planned step: its agent chooses as it goes along, among those of its ``tools``."""
_SETTLED = {
    "vi": "Nguồn mâu thuẫn được cân nhắc ngay khi tìm thấy",
    "en": "Sources that disagree are weighed as soon as they are found",
}


def plan_view(context: DeepContext, state: DeepState, plan: DeepPlan) -> Plan:
    """A run's plan as it is shown."""
    tools = {role: tuple(context.usable(role)) for role in ROLES}
    return plan_of(context.run.asking, state.asked.language, tools, plan)


def plan_of(asking: Asking, language: Language, tools: Mapping[Role, tuple[str, ...]], plan: DeepPlan) -> Plan:
    """A plan with its agents, the tools they may use, and a tier a step."""
    steps = [Step(agent="researcher", tool=REACT, message=text) for text in plan.research]
    steps += [Step(agent="expert", tool=REACT, message=text) for text in plan.logic]
    agents = {"expert": AgentPlan(queries=plan.logic, tools=tools["expert"])}
    if plan.research:
        agents = {"researcher": AgentPlan(queries=plan.research, tools=tools["researcher"]), **agents}
    access = tuple(scope for scope in SCOPES if scope in asking.principal.scopes)
    return Plan(
        original_query=asking.request.query,
        refined_query=plan.question,
        agents=agents,
        permission=PlanPermission(user_access=access),
        execution_flow=ExecutionFlow(
            planning=Planning(tiers=tuple((step,) for step in steps)), conflict_resolution=_SETTLED[language]
        ),
    )


async def announce(context: DeepContext, state: DeepState, plan: DeepPlan) -> None:
    """An approved plan: kept with the task and told."""
    shown, task = plan_view(context, state, plan), context.run.run.task
    await context.run.ports.registry.save_plan(
        context.run.asking.principal, task.task_id, context.run.run.attempt, shown.model_dump(mode="json")
    )
    context.run.run.writer.append(PlanReady(plan=shown.model_dump(mode="json")))
    context.run.run.writer.append(wording.plan_ready_progress(shown.steps))


def executing(context: DeepContext, state: DeepState, stage: Stage) -> None:
    """A planned step begins, or begins anew."""
    if state.plan is None or stage not in ("researcher", "expert"):
        return
    steps, done = _steps(context, state), len(state.research)
    context.run.run.writer.append(wording.step_begun_progress(steps[done], done, len(steps)))


def completed(context: DeepContext, state: DeepState) -> None:
    """The work of a stage was approved: one research step, or all logic steps."""
    steps, done = _steps(context, state), len(state.research)
    ended = range(done, len(steps)) if state.is_answer_approved else range(done - 1, done)
    for position in ended:
        context.run.run.writer.append(wording.step_ended_progress(steps[position], position + 1, len(steps), ok=True))


def all_done(context: DeepContext) -> None:
    """Nothing is left but to tell the answer."""
    context.run.run.writer.append(wording.all_ran_progress(agent_outputs(context.run.outcomes)))


def ended_plan_of(context: DeepContext, state: DeepState) -> dict[str, Any] | None:
    """The plan with what became of its steps; None without one."""
    if state.plan is None:
        return None
    shown = plan_view(context, state, state.plan)
    total = len(shown.steps)
    done = total if state.is_answer_approved else len(state.research)
    ended: dict[int, str] = dict.fromkeys(range(1, done + 1), "completed")
    tried = "failed" if state.research_tries or state.expert_tries else "pending"
    if done < total:
        ended[done + 1] = tried
    return ended_plan(shown, ended, all_well=state.is_answer_approved)


def _steps(context: DeepContext, state: DeepState) -> tuple[PlannedStep, ...]:
    assert state.plan is not None  # the callers look
    return plan_view(context, state, state.plan).steps
