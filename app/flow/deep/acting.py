"""Researcher and expert: two subgraphs, agent and tools in turn, each with a conversation of its own."""

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from app.agents.registry import Role
from app.domain.deep import DeepMessage, Research, Working
from app.flow.deep.context import DeepContext, Stopped
from app.flow.deep.orchestrate import talk_key, work_text
from app.flow.deep.state import DeepState, Talk
from app.flow.deep.tool_calls import use
from app.reasoning.deep import Action, ActRequest, Found, Solved, ToolWish


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
