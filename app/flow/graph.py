"""The department flow: ``orchestrator → reflection_router → agent_execution → conflict_resolution → final_response``.

Short paths: chitchat goes straight to the response; a simple question or a single agent straight to execution; a
question that was answered before, with the same rights over the same documents, to ``remembered_answer``. A question of
several steps that depend on one another leaves the graph for the deep flow.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from app.domain.plan import Plan
from app.errors import ErrorCode
from app.flow.deep.graph import DeepFlow
from app.flow.deep.stages import Dependence, needs_deep
from app.flow.execute import execute
from app.flow.orchestrate import Flow, decide, ending_with, orchestrate
from app.flow.planning import checked, hand_over, plan_directly, plan_request, reflect
from app.flow.resolve import resolve
from app.flow.respond import answer_from_cache, answering_agent, best_by_agent, fail, respond
from app.flow.state import Asking, FlowLimits, Ports, RunContext, RunState
from app.reasoning import AgentOffer, Classification

_RECURSION_LIMIT = 12
"""More node visits than this in one run is a bug (the longest path has five), but for two more a hand-over."""
_PATHS: Mapping[str, str] = {
    "remembered": "remembered_answer",
    "chitchat": "final_response",
    "refused": "final_response",
    "direct_execution": "agent_execution",
    "reflection_needed": "reflection_router",
    "deep": END,
}

_Graph = CompiledStateGraph[RunState, RunContext, RunState, RunState]


def build_graph() -> _Graph:
    """Compile the graph; it holds no state and serves every run."""
    graph: StateGraph[RunState, RunContext, RunState, RunState] = StateGraph(RunState, RunContext)
    graph.add_node("orchestrator", orchestrate)
    graph.add_node("reflection_router", reflect)
    graph.add_node("agent_execution", execute)
    graph.add_node("handover", hand_over)
    graph.add_node("conflict_resolution", resolve)
    graph.add_node("final_response", respond)
    graph.add_node("remembered_answer", answer_from_cache)
    graph.add_edge(START, "orchestrator")
    graph.add_conditional_edges(
        "orchestrator", lambda state: "handover" if state.get("hop") else _PATHS[state["decision"]],
        sorted({*_PATHS.values(), "handover"}),
    )  # fmt: skip
    graph.add_edge("reflection_router", "agent_execution")
    graph.add_conditional_edges(
        "agent_execution", lambda state: "handover" if state.get("hop") else "conflict_resolution",
        ["handover", "conflict_resolution"],
    )  # fmt: skip
    graph.add_edge("handover", "agent_execution")
    graph.add_edge("conflict_resolution", "final_response")
    graph.add_edge("final_response", END)
    graph.add_edge("remembered_answer", END)
    return graph.compile()


class DepartmentFlow(Flow):
    """Runs chat tasks; `run` is the worker's handler for them."""

    def __init__(
        self, ports: Ports, limits: FlowLimits, deep: DeepFlow | None = None, is_dependent: Dependence | None = None
    ):
        """`deep` takes over what needs several dependent steps (None = nothing does), which `is_dependent` tells."""
        super().__init__(ports, limits)
        self._deep, self._is_dependent = deep, is_dependent
        self._graph = build_graph()

    async def go_on(self, context: RunContext) -> None:
        """Take an opened run to its end."""
        state = await self._run(replace(context, is_deep=partial(self._is_for_deep, context)))
        if self._deep is not None and state.get("decision") == "deep":
            await self._deep.go_on(context, state["classification"])
        else:
            _remember(context, state)

    def _is_for_deep(self, context: RunContext, classification: Classification) -> bool:
        request = context.asking.request
        if self._deep is None or self._is_dependent is None or request.mode != "auto":
            return False
        return needs_deep(classification, request.query, self._is_dependent)

    async def _run(self, context: RunContext) -> RunState:
        state: RunState = {}
        visits = _RECURSION_LIMIT + 2 * self.limits.max_handovers

        async def end(code: ErrorCode, message: str) -> None:
            is_late = code is ErrorCode.RUN_DEADLINE_EXCEEDED
            failed = [outcome for outcome in context.outcomes if is_late and not outcome.ok]
            await fail(context, state, failed, code=code, message=message)

        async with ending_with(context, end):
            async for seen in self._graph.astream(
                {}, context=context, config={"recursion_limit": visits}, stream_mode="values"
            ):
                state = cast(RunState, seen)
        return state

    async def _drafted(self, asking: Asking, found: Classification, offers: tuple[AgentOffer, ...]) -> Plan:
        """The plan of a question that asks something."""
        if decide(found, offers) == "direct_execution":
            draft = await plan_directly(self.ports, self.limits, asking, found, offers)
            hop = draft["hop"]
            return hop.plan if hop else draft["plan"]
        wanted = await plan_request(self.ports, self.limits, asking, found, offers)
        return checked(await self.ports.reasoner.plan(wanted), offers)


def _remember(context: RunContext, state: RunState) -> None:
    """Hand the turn to the session's memory: its answer stands already, and small talk is not worth remembering."""
    plan = state["remembered"].plan if "remembered" in state else state.get("plan")
    if plan is not None and context.run.writer.has_ended:
        found = bool(best_by_agent(context, state))
        context.listener.remember_turn(answering_agent(context, state), plan.refined_query, found=found)
