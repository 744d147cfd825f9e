"""The plan as people follow it: the seed's JSON (§2.1), a tier a step, and progress from 75 to 95 while it runs."""

from collections.abc import Mapping
from typing import Any

from app.agents.registry import ROLES, Role
from app.domain.deep import DeepPlan, Stage
from app.domain.knowledge import Language
from app.domain.plan import AgentPlan, ExecutionFlow, Plan, Planning, PlanPermission, Step
from app.domain.principal import SCOPES
from app.events import PlanReady
from app.flow import wording
from app.flow.deep.context import DeepContext
from app.flow.deep.state import DeepState
from app.flow.respond import ended_plan
from app.flow.state import Asking

REACT = "react"
"""What stands for the tool of a planned step: its agent chooses as it goes along, among those of its ``tools``."""


def plan_view(context: DeepContext, state: DeepState) -> Plan:
    """A run's plan as it is shown; there is one."""
    assert state.plan is not None
    tools = {role: tuple(context.usable(role)) for role in ROLES}
    return plan_of(context.run.asking, state.asked.language, tools, state.plan)


def plan_of(asking: Asking, language: Language, tools: Mapping[Role, tuple[str, ...]], plan: DeepPlan) -> Plan:
    """A plan with its agents, the tools they may use, and a tier a step."""
    queries: dict[Role, tuple[str, ...]] = {"researcher": plan.research, "expert": plan.logic}
    steps = [Step(agent=role, tool=REACT, message=text) for role, texts in queries.items() for text in texts]
    agents = {r: AgentPlan(queries=texts, tools=tools[r]) for r, texts in queries.items() if texts or r == "expert"}
    access = tuple(scope for scope in SCOPES if scope in asking.principal.scopes)
    settled = wording.SENTENCES["settled"][language]
    tiers = tuple((step,) for step in steps)
    return Plan(
        original_query=asking.request.query, refined_query=plan.question, agents=agents,
        permission=PlanPermission(user_access=access),
        execution_flow=ExecutionFlow(planning=Planning(tiers=tiers), conflict_resolution=settled),
    )  # fmt: skip


async def announce(context: DeepContext, state: DeepState) -> None:
    """An approved plan: kept with the task and told."""
    shown, run = plan_view(context, state), context.run.run
    written = shown.model_dump(mode="json")
    await context.run.ports.registry.save_plan(run.principal, run.task.task_id, run.attempt, written)
    run.writer.append(PlanReady(plan=written))
    run.writer.append(wording.plan_ready_progress(shown.steps))


def executing(context: DeepContext, state: DeepState, stage: Stage) -> None:
    """A planned step begins, or begins anew."""
    if stage in ("researcher", "expert"):
        steps, done = plan_view(context, state).steps, len(state.research)
        context.run.run.writer.append(wording.step_begun_progress(steps[done], done, len(steps)))


def completed(context: DeepContext, state: DeepState) -> None:
    """The work of a stage was approved: one research step, or all logic steps."""
    steps, done = plan_view(context, state).steps, len(state.research)
    for at in range(done, len(steps)) if state.is_answer_approved else range(done - 1, done):
        context.run.run.writer.append(wording.step_ended_progress(steps[at], at + 1, len(steps), ok=True))


def ended_plan_of(context: DeepContext, state: DeepState) -> dict[str, Any] | None:
    """The plan with what became of its steps; None without one."""
    if state.plan is None:
        return None
    shown = plan_view(context, state)
    done = len(shown.steps) if state.is_answer_approved else len(state.research)
    tried = "failed" if state.research_tries or state.expert_tries else "pending"
    ended = {**dict.fromkeys(range(1, done + 1), "completed"), done + 1: tried}
    return ended_plan(shown, ended, all_well=state.is_answer_approved)
