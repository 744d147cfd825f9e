"""The orchestrator: no mind, but hard-coded conditions on the state. `next_stage` alone says what comes next."""

import asyncio
from typing import Literal

from langgraph.runtime import Runtime

from app.domain.deep import Critique, DeepMessage, DeepPlan, Party, Research, Stage, Working
from app.flow.deep.context import DeepContext, GraphState, Parked
from app.flow.deep.plan_view import executing, plan_view
from app.flow.deep.state import Cause, DeepLimits, DeepState


def visible_to(messages: tuple[DeepMessage, ...], party: Party, step: int = 0) -> tuple[DeepMessage, ...]:
    """The messages that concern an agent in its present work: all for the orchestrator, what was reported for the
    finalizer, for others what they said and were told themselves in this `step` (0 = none)."""
    match party:
        case "orchestrator":
            return messages
        case "finalizer":
            return tuple(one for one in messages if one.receiver in ("orchestrator", "finalizer"))
        case _:
            return tuple(one for one in messages if party in (one.sender, one.receiver) and one.step == step)


def plan_text(plan: DeepPlan) -> str:
    """A plan as the planner reports it: numbered steps, research first."""
    steps = [*(f"research: {text}" for text in plan.research), *(f"logic: {text}" for text in plan.logic)]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(steps, 1))


def research_text(research: Research) -> str:
    """What a research step found, as its researcher reports it."""
    return research.text if research.found else f"not found: {research.task}"


def working_text(working: Working) -> str:
    """The expert's report."""
    return "\n".join((*working.steps, working.text)) if working.solved else f"not solved: {working.text}"


def critique_text(critique: Critique) -> str:
    """The critic's verdict."""
    return "approved" if critique.approved else f"rejected: {critique.feedback}"


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
        assert deep.plan is not None  # it was approved by the critic
        await context.park(deep, plan_view(context, deep, deep.plan).model_dump(mode="json"))
        raise Parked
    if deep.at_work != upcoming:  # another attempt goes on with a stage that was delegated already
        deep = delegated(deep, upcoming)
        context.trace.stage("orchestrator", "orchestrator", started_at, True, {"next": upcoming, **_step(deep)})
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
    step = _step_of(state, to)
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


def _step_of(state: DeepState, to: Stage) -> int:
    is_research = to == "researcher" or (to == "critic" and state.under_review == "researcher")
    return state.step if is_research else 0


def _step(state: DeepState) -> dict[str, int]:
    step = state.messages[-1].step if state.messages else 0
    return {"step": step} if step else {}


def _task(state: DeepState, to: Stage) -> str:
    """What a stage is asked to do."""
    match to:
        case "planner":
            task = state.asked.question
        case "researcher":
            assert state.plan is not None
            task = state.plan.research[state.step - 1]
        case "expert":
            assert state.plan is not None
            task = "\n".join(state.plan.logic)
        case "critic":
            return _to_review(state)
        case "finalizer":
            return state.asked.question
    return f"{task}\n{state.feedback}" if state.feedback else task


def _to_review(state: DeepState) -> str:
    match state.under_review:
        case "planner" if state.plan is not None:
            return plan_text(state.plan)
        case "researcher" if state.draft is not None:
            return research_text(state.draft)
        case "expert" if state.working is not None:
            return working_text(state.working)
        case _:
            raise AssertionError("nothing is under review")
