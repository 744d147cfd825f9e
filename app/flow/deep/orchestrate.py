"""The orchestrator: no mind, but hard-coded conditions on the state. `next_stage` alone says what comes next.

People follow the plan as the seed's JSON (§2.1), a tier a step, and its progress from 75 to 95 while it runs.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from langgraph.runtime import Runtime

from app.agents.registry import ROLES, Role
from app.domain.deep import Critique, DeepMessage, DeepPlan, Party, Research, Stage, Working
from app.domain.knowledge import Language
from app.domain.plan import AgentPlan, ExecutionFlow, Plan, Planning, PlanPermission, Step
from app.domain.principal import SCOPES
from app.events import PlanReady
from app.flow import wording
from app.flow.deep.context import DeepContext, GraphState, Parked
from app.flow.deep.state import Cause, DeepLimits, DeepState
from app.flow.state import Asking
from app.flow.wording import ended_plan

REACT = "react"
"""What stands for the tool of a planned step: its agent chooses as it goes along, among those of its ``tools``."""


def visible_to(messages: tuple[DeepMessage, ...], party: Party, step: int = 0) -> tuple[DeepMessage, ...]:
    """The messages that concern an agent in its present work: what it said and was told itself in this `step` (0 =
    none)."""
    return tuple(one for one in messages if party in (one.sender, one.receiver) and one.step == step)


def work_text(work: DeepPlan | Research | Working) -> str:
    """A piece of work as its agent reports it: a plan as numbered steps, research first."""
    if isinstance(work, DeepPlan):
        steps = [*(f"research: {text}" for text in work.research), *(f"logic: {text}" for text in work.logic)]
        return "\n".join(f"{number}. {text}" for number, text in enumerate(steps, 1))
    if isinstance(work, Research):
        return work.text if work.found else f"not found: {work.task}"
    return "\n".join((*work.steps, work.text)) if work.solved else f"not solved: {work.text}"


def work_id(critique: Critique) -> str:
    """Names the judged work as events and traces do: ``planner``, ``researcher:2``, ``expert``."""
    return f"{critique.of}:{critique.step}" if critique.step else critique.of


Next = Stage | Literal["approval"]
"""``approval``: a person has to decide about the plan first."""


def next_stage(state: DeepState, limits: DeepLimits) -> Next:
    """What follows on a state: review of new work, else the first stage whose work is not approved yet."""
    if state.reply is not None or state.is_answer_approved or stop_cause(state, limits) is not None:
        return "finalizer"
    if state.under_review is not None:
        return "critic"
    if not state.is_plan_approved:
        return "planner"
    if state.asks_approval:
        return "approval"
    return "researcher" if state.step else "expert"


def stop_cause(state: DeepState, limits: DeepLimits) -> Cause | None:
    """Why the run ends without an approved answer; None while it goes on, and when it has one."""
    if state.is_answer_approved or state.reply is not None:
        return None
    if state.stopped is not None:
        return state.stopped
    if state.under_review is not None:
        return None
    if not state.is_plan_approved:
        return "plan" if state.plan_tries >= limits.max_plan_tries else None
    if state.step:
        return "research" if state.research_tries >= limits.max_research_tries else None
    return "expert" if state.expert_tries >= limits.max_expert_tries else None


async def orchestrate(state: GraphState, runtime: Runtime[DeepContext]) -> GraphState:
    """Decide, delegate with a message, and keep the state. Raises `Parked` where a person has to decide first."""
    context, deep = runtime.context, state["deep"]
    context.yield_floor()
    if asyncio.get_running_loop().time() >= context.work_until and next_stage(deep, context.limits) != "finalizer":
        deep = deep.but(stopped="deadline")
    upcoming, started_at = next_stage(deep, context.limits), context.now()
    if upcoming == "approval":
        context.trace.stage("orchestrator", "orchestrator", started_at, True, {"next": upcoming})
        await context.keep(deep, plan_view(context, deep).model_dump(mode="json"))
        raise Parked
    if deep.at_work != upcoming:  # another attempt goes on with a stage that was delegated already
        deep = delegated(deep, upcoming)
        step = {"step": deep.messages[-1].step} if deep.messages[-1].step else {}
        context.trace.stage("orchestrator", "orchestrator", started_at, True, {"next": upcoming, **step})
    deep = await context.keep(deep)
    context.give_floor(upcoming)
    executing(context, deep, upcoming)
    return {"deep": deep}


def path(state: GraphState) -> Stage:
    """The edge the orchestrator takes."""
    at_work = state["deep"].at_work
    assert at_work is not None  # the orchestrator has just given the floor
    return at_work


def delegated(state: DeepState, to: Stage) -> DeepState:
    """The state with the floor given to a stage: its task is told on the channel, and a subgraph's own messages are
    renewed from there."""
    is_research = to == "researcher" or (to == "critic" and state.under_review == "researcher")
    step = state.step if is_research else 0
    message = DeepMessage(sender="orchestrator", receiver=to, content=_task(state, to), step=step)
    told = state.but(at_work=to, messages=(*state.messages, message))
    if to not in ("researcher", "expert"):
        return told
    key = talk_key(to, step)
    talk = told.talk(key).model_copy(update={"messages": visible_to(told.messages, to, step), "calls": 0})
    return told.with_talk(key, talk)


def talk_key(stage: Stage, step: int) -> str:
    """Which state a subgraph's visit has: every research step has its own."""
    return f"researcher:{step}" if stage == "researcher" else stage


def _task(state: DeepState, to: Stage) -> str:
    """What a stage is asked to do."""
    if to == "critic":
        works = {"planner": state.plan, "researcher": state.draft, "expert": state.working}
        work = works[state.under_review or "planner"]
        assert work is not None  # somebody's work is under review
        return work_text(work)
    task = state.task if to in ("researcher", "expert") else state.asked.question
    return f"{task}\n{state.feedback}" if state.feedback and to != "finalizer" else task


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
    await context.run.ports.registry.steps.register(run, (), plan=written)
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
