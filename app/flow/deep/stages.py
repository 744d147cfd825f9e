"""The nodes without tools: the way in, the planner, and the critic."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.runtime import Runtime

from app.domain.deep import Asked, Critique, DeepMessage, DeepPlan, Party, Stage
from app.domain.knowledge import Language
from app.errors import AppError
from app.events import RenavigateRequest, VerificationDone
from app.flow.deep.context import DeepContext, GraphState, Stopped
from app.flow.deep.orchestrate import announce, completed, work_id, work_text
from app.flow.deep.state import DeepLimits, DeepState
from app.flow.orchestrate import classify, reply_to, settle_permission
from app.links import LinkGuard
from app.reasoning import Classification
from app.reasoning.deep import CritiqueRequest, DecomposeRequest

Dependence = Callable[[str, Language], bool]
"""Whether a question (complete on its own, in this language) has several steps that depend on one another."""


def needs_deep(classification: Classification, query: str, is_dependent: Dependence) -> bool:
    """Whether a classified question needs steps that depend on one another; in doubt, and for a follow-up, it does
    not."""
    if classification.kind not in ("simple", "task") or classification.is_follow_up:
        return False
    language = classification.language
    return is_dependent(query, language) and is_dependent(classification.refined_query or query, language)


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
