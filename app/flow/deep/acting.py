"""Researcher and expert: two subgraphs, agent and tools in turn, each with a conversation of its own.

A tool call is a step of the run like any other.
"""

import asyncio
from dataclasses import replace
from typing import Any, TypedDict
from uuid import uuid5

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from app.agents.registry import Role, UsableTool
from app.agents.spec import new_step
from app.agents.step import StepOrder, StepOutcome
from app.domain.deep import DeepMessage, Observation, Research, Working
from app.domain.knowledge import Finding
from app.domain.plan import FILES_TOOL, LOG_TOOL, OUTWARD_TOOLS, RAG_TOOL, RETRIEVAL_TOOLS, PlannedStep, Step
from app.domain.tasks import PrivateContext
from app.flow.deep.context import DeepContext, Stopped
from app.flow.deep.orchestrate import talk_key, work_text
from app.flow.deep.state import DeepState, Talk
from app.flow.resolve import weigh
from app.flow.wording import SENTENCES
from app.reasoning.deep import Action, ActRequest, Found, Solved, ToolWish
from app.text.language import words

_INSIDE = frozenset({RAG_TOOL, LOG_TOOL, FILES_TOOL})


class Acting(TypedDict, total=False):
    """A subgraph's state: the run's, with its own conversation inside, and the tool call that is wished for."""

    deep: DeepState
    wish: ToolWish | None


ActingGraph = CompiledStateGraph[Acting, DeepContext, Acting, Acting]


def acting_graph(role: Role) -> ActingGraph:
    """The agent, its tools, and the way between them; it ends when the agent is done or may not go on."""

    async def act(state: Acting, runtime: Runtime[DeepContext]) -> Acting:
        context, deep = runtime.context, state["deep"]
        key = talk_key(role, deep.step)
        try:
            action = await context.ask(context.ports.mind.next_action(act_request(context, role, deep)))
        except Stopped as stopped:
            return _stopped(context, role, deep, stopped)
        calls_left = context.limits.max_tool_calls - deep.talk(key).calls
        if isinstance(action, ToolWish) and calls_left > 0:
            return {"deep": deep, "wish": action}
        done = concluded(deep, role, deep.talk(key), action)
        _trace(context, role, done)
        return {"deep": done, "wish": None}

    async def call(state: Acting, runtime: Runtime[DeepContext]) -> Acting:
        context, deep, wish = runtime.context, state["deep"], state["wish"]
        assert wish is not None  # the edge to this node asks for it
        try:
            deep = await use(context, role, talk_key(role, deep.step), deep, wish)
        except Stopped as stopped:
            return _stopped(context, role, deep, stopped)
        return {"deep": await context.keep(deep), "wish": None}

    graph: StateGraph[Acting, DeepContext, Acting, Acting] = StateGraph(Acting, DeepContext)
    graph.add_node(role, act)
    graph.add_node("tools", call)
    graph.add_edge(START, role)
    graph.add_conditional_edges(role, lambda state: "tools" if state.get("wish") else END, ["tools", END])
    graph.add_edge("tools", role)
    return graph.compile()


def act_request(context: DeepContext, role: Role, deep: DeepState) -> ActRequest:
    """All an agent may know for its next move."""
    assert deep.plan is not None  # it was approved
    is_research = role == "researcher"
    talk = deep.talk(talk_key(role, deep.step))
    return ActRequest(
        role=role, asked=deep.asked, plan=deep.plan, task=deep.task, step=deep.step if is_research else 0,
        tools=context.tools_of(role), research=deep.research, observations=talk.observations, messages=talk.messages,
        feedback=deep.feedback,
        previous=(deep.draft if is_research else deep.working) if deep.feedback else None,
        today=context.run.asking.today, calls_left=max(context.limits.max_tool_calls - talk.calls, 0),
    )  # fmt: skip


def concluded(deep: DeepState, role: Role, talk: Talk, action: Action) -> DeepState:
    """The state with the agent's work in it, for the critic. An agent that does not conclude has found nothing."""
    work = _researched(deep, talk, action) if role == "researcher" else _worked(deep, talk, action)
    changes: dict[str, Any] = (
        {"draft": work, "research_tries": deep.research_tries + 1}
        if role == "researcher"
        else {"working": work, "expert_tries": deep.expert_tries + 1}
    )
    step = deep.step if role == "researcher" else 0
    report = DeepMessage(sender=role, receiver="orchestrator", content=work_text(work), step=step)
    return deep.but(under_review=role, at_work=None, messages=(*deep.messages, report), **changes)


def _researched(deep: DeepState, talk: Talk, action: Action) -> Research:
    known = [finding for one in talk.observations for finding in one.findings]
    found = action if isinstance(action, Found) else Found(text="", found=False)
    rests_on = tuple(known[at] for at in dict.fromkeys(found.findings) if 0 <= at < len(known))
    return Research(
        step=deep.step, task=deep.task, text=found.text if found.found else "", found=found.found and bool(found.text),
        findings=rests_on, observations=talk.observations,
    )  # fmt: skip


def _worked(deep: DeepState, talk: Talk, action: Action) -> Working:
    """The expert's own account, resting on nothing but what was really found."""
    working = action.working if isinstance(action, Solved) else Working(answer="", text="", solved=False)
    known = deep.findings
    findings = tuple(finding for finding in working.findings if finding in known)
    return working.model_copy(update={"findings": findings, "observations": talk.observations})


def _stopped(context: DeepContext, role: Role, deep: DeepState, stopped: Stopped) -> Acting:
    context.trace.stage(role, talk_key(role, deep.step), context.since, False, {"stopped": stopped.cause})
    return {"deep": deep.but(stopped=stopped.cause, at_work=None), "wish": None}


def _trace(context: DeepContext, role: Role, deep: DeepState) -> None:
    found = deep.draft is not None and deep.draft.found
    solved = deep.working is not None and deep.working.solved
    told = {
        "researcher": {"step": deep.step, "try": deep.research_tries, "found": found},
        "expert": {"try": deep.expert_tries, "solved": solved},
    }
    calls = deep.talk(talk_key(role, deep.step)).calls
    context.trace.stage(role, talk_key(role, deep.step), context.since, True, {**told[role], "calls": calls})


def carries_out(wish: ToolWish, state: DeepState) -> bool:
    """Whether a wish could tell somebody outside what was read inside."""
    if wish.tool not in OUTWARD_TOOLS or not any(one.tool in _INSIDE or "." in one.tool for one in state.observations):
        return False
    plan = state.plan
    known = (state.said, *(plan.research + plan.logic if plan else ()))
    return not set(words(" ".join((wish.query, *wish.arguments.values())))) <= set(words(" ".join(known)))


async def use(context: DeepContext, role: Role, key: str, deep: DeepState, wish: ToolWish) -> DeepState:
    """Call the tool that is wished for; the state with what it gave, or that it was refused. Raises `Stopped`,
    `StaleAttempt`."""
    tool = context.usable(role).get(wish.tool)
    if tool is None or carries_out(wish, deep):
        text = SENTENCES["refused_calls"][deep.asked.language]["unknown" if tool is None else "outside"]
        return _observed(deep, key, Observation(tool=wish.tool, query=wish.query, text=text, failed=True))
    number = deep.calls.get(role, 0) + 1
    deep = deep.but(calls={**deep.calls, role: number})
    outcome = await context.ports.steps.run(await _ordered(context, role, tool, deep, wish))
    context.run.outcomes.append(outcome)
    context.trace.step(outcome, ())
    return await _taken_in(context, key, deep, wish, outcome)


async def _ordered(context: DeepContext, role: Role, tool: UsableTool, deep: DeepState, wish: ToolWish) -> StepOrder:
    """The step, registered as a child task."""
    run, planned = context.run, _planned(context, role, deep, wish)
    seconds = context.work_until - asyncio.get_running_loop().time()
    if seconds <= 0:
        raise Stopped("deadline")
    needs = PrivateContext(
        message=planned.step.message, queries=planned.queries, refined_query=wish.query, language=deep.asked.language,
        as_of=deep.searched_on,
    )  # fmt: skip
    spec, root = context.ports.solvers.spec(role), run.run.task
    task_id = uuid5(root.task_id, f"{run.run.attempt}:deep:{planned.number}")
    row = new_step(root, task_id, planned, spec.token_limit, needs)
    await run.ports.registry.steps.register(run.run, [row], {role: [needs]})
    order = run.order(planned, spec, task_id, needs, _known(deep), seconds)
    return replace(
        order, departments=tool.departments, given=wish.arguments or None, asked=deep.said, worked_out=_worked_out(deep)
    )


def _planned(context: DeepContext, role: Role, deep: DeepState, wish: ToolWish) -> PlannedStep:
    """The call as a step named ``researcher#rag:1``; what is shown of it has no address that the asker did not name."""
    total, number = sum(deep.calls.values()), deep.calls[role]
    guard = context.guard(deep)
    return PlannedStep(
        number=total,
        tier=total,
        step=Step(
            agent=role, tool=wish.tool, message=guard.clean(wish.query) or wish.tool,
            purpose=guard.clean(wish.why) or None,
        ),
        queries=((number, wish.query),),
        node_id=f"{role}#{wish.tool.removesuffix('_tool')}:{number}",
    )  # fmt: skip


def _known(deep: DeepState) -> tuple[Finding, ...]:
    return tuple(finding for one in deep.observations for finding in one.findings if finding.found)


def _worked_out(deep: DeepState) -> tuple[str, ...]:
    """What tools computed so far: figures of theirs may be calculated with."""
    computed = [finding.answer for finding in _known(deep) if not finding.quotes]
    return (*computed, *(one.value for one in deep.observations if one.value and not one.failed))


async def _taken_in(context: DeepContext, key: str, deep: DeepState, wish: ToolWish, outcome: StepOutcome) -> DeepState:
    """The outcome as the agent sees it, without what other sources overrule."""
    if outcome.result is None:
        reason = outcome.error.message if outcome.error else ""
        return _observed(deep, key, Observation(tool=outcome.tool, query=wish.query, text=reason, failed=True))
    result, text = outcome.result, outcome.result.text
    read = {"read": ()}  # what a department's writer reads; here the quotes are what was observed
    findings = tuple(finding.model_copy(update=read) for finding in result.findings if finding.found)
    if outcome.tool in RETRIEVAL_TOOLS and findings:
        weighed = await context.ask(weigh(context.run, findings, deep.asked.language))
        conflicts = (verdict.conflict for verdict in weighed.verdicts)
        deep = deep.but(verdicts=(*deep.verdicts, *conflicts), points=(*deep.points, *weighed.points))
        if weighed.settled != findings:
            findings = tuple(finding for finding in weighed.settled if finding.found)
            text = "\n".join(finding.answer for finding in findings)
    elif not findings and result.findings:
        text = ""
    seen = Observation(tool=outcome.tool, query=wish.query, text=text, value=_value(outcome), findings=findings)
    return _observed(deep, key, seen)


def _value(outcome: StepOutcome) -> str:
    """The bare result, where the tool has one: what it is called after (``date.weekday``), else its ``result``."""
    told, asked_for = outcome.result.value if outcome.result else None, outcome.tool.rpartition(".")[2]
    bare = told.get(asked_for, told.get("result")) if isinstance(told, dict) else None
    return str(bare) if isinstance(bare, str | int | float) and not isinstance(bare, bool) else ""


def _observed(deep: DeepState, key: str, seen: Observation) -> DeepState:
    talk = deep.talk(key)
    return deep.with_talk(
        key, talk.model_copy(update={"observations": (*talk.observations, seen), "calls": talk.calls + 1})
    )
