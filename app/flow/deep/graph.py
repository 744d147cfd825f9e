"""The deep flow's graph, as the seed draws it, and the handler that takes a run through it."""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from app.agents.registry import ROLES
from app.agents.run import guard_of
from app.domain.deep import Asked
from app.domain.knowledge import Language
from app.domain.plan import Plan
from app.errors import ErrorCode
from app.flow.deep.acting import acting_graph
from app.flow.deep.context import DeepContext, DeepPorts, GraphState, Parked
from app.flow.deep.orchestrate import ended_plan_of, orchestrate, path, plan_of
from app.flow.deep.stages import cleaned_plan, criticise, finalize, plan, planned_question, stage, take_in
from app.flow.deep.state import DeepLimits, DeepState
from app.flow.orchestrate import Flow, ending_with, offers_for
from app.flow.respond import commit_failed
from app.flow.state import Asking, FlowLimits, Ports, RunContext
from app.reasoning import AgentOffer, Classification
from app.reasoning.deep import DecomposeRequest
from app.tasks.run import TaskRun

DeepGraph = CompiledStateGraph[GraphState, DeepContext, GraphState, GraphState]
_log = logging.getLogger(__name__)
Dependence = Callable[[str, Language], bool]
"""Whether a question (complete on its own, in this language) has several steps that depend on one another."""


def needs_deep(classification: Classification, query: str, is_dependent: Dependence) -> bool:
    """Whether a classified question needs steps that depend on one another; in doubt, and for a follow-up, it does
    not."""
    if classification.kind not in ("simple", "task") or classification.is_follow_up:
        return False
    language = classification.language
    return is_dependent(query, language) and is_dependent(classification.refined_query or query, language)


def build_deep_graph() -> DeepGraph:
    """Compile the graph; it holds no state and serves every run."""
    graph: StateGraph[GraphState, DeepContext, GraphState, GraphState] = StateGraph(GraphState, DeepContext)
    graph.add_node("input_interface", take_in)
    graph.add_node("orchestrator", orchestrate)
    graph.add_node("planner", stage("planner", plan))
    graph.add_node("researcher", acting_graph("researcher"))
    graph.add_node("critic", stage("critic", criticise))
    graph.add_node("expert", acting_graph("expert"))
    graph.add_node("finalizer", finalize)
    graph.add_edge(START, "input_interface")
    graph.add_edge("input_interface", "orchestrator")
    graph.add_conditional_edges("orchestrator", path, ["critic", "expert", "finalizer", "planner", "researcher"])
    for name in ("planner", "researcher", "critic", "expert"):
        graph.add_edge(name, "orchestrator")
    graph.add_edge("finalizer", END)
    return graph.compile()


class DeepFlow(Flow):
    """Runs questions that need several steps; `run` is a worker's handler for them."""

    def __init__(self, ports: Ports, deep: DeepPorts, limits: FlowLimits, deep_limits: DeepLimits | None = None):
        """`ports` and `limits` are the department flow's: both flows share agents, tools, journal and budget."""
        super().__init__(ports, limits)
        self.deep, self.deep_limits = deep, deep_limits or DeepLimits()
        self._graph = build_deep_graph()

    async def _drafted(self, asking: Asking, found: Classification, offers: tuple[AgentOffer, ...]) -> Plan:
        """The planner's first plan, not reviewed."""
        request = asking.request
        has_files, question = bool(request.files), planned_question(found, request.query)
        usable = {role: self.deep.solvers.usable(role, asking.principal, offers, has_files=has_files) for role in ROLES}
        offered = {role: tuple(tool.offer for tool in tools.values()) for role, tools in usable.items()}
        made = await self.deep.mind.decompose(
            DecomposeRequest(
                asked=Asked(question=question, language=found.language, style=request.answer_style),
                today=asking.today, max_research_steps=self.deep_limits.max_research_steps,
                researcher=offered["researcher"], expert=offered["expert"],
            )
        )  # fmt: skip
        guard = guard_of([request.query, question], (), found.language, self.limits.trusted_link_hosts)
        plan = cleaned_plan(made, guard, self.deep_limits)
        return plan_of(asking, found.language, {role: tuple(tools) for role, tools in usable.items()}, plan)

    async def has_begun(self, run: TaskRun) -> bool:
        """Whether an earlier attempt at this run was deep; looks only where there was one. Does I/O."""
        return await self._last(run) is not None

    async def go_on(self, context: RunContext, classification: Classification | None = None) -> None:
        """Take an opened run on, from the state that was kept last; `classification`, where the question's is known
        already."""
        deep = DeepContext(
            run=context, ports=self.deep, limits=self.deep_limits, classification=classification,
            offers=offers_for(self.ports, context.asking),
        )  # fmt: skip
        state = await self._last(context.run)
        if state is not None:
            deep.go_on_from(state)
        given: GraphState = {"deep": state} if state is not None else {}
        with suppress(Parked):
            async with ending_with(context, partial(_fail, deep)):
                await self._graph.ainvoke(given, context=deep, config={"recursion_limit": self.deep_limits.most_visits})

    async def _last(self, run: TaskRun) -> DeepState | None:
        if run.attempt <= 1:
            return None
        kept = await self.deep.checkpoints.last(run)
        if kept is None:
            return None
        try:
            return DeepState.load(kept)
        except ValueError:
            _log.exception("deep_state_unreadable", extra={"task_id": str(run.task.task_id)})
            return None  # another version wrote it: the run begins anew


async def _fail(deep: DeepContext, code: ErrorCode, message: str) -> None:
    """Commit a run that could not even come to its finalizer."""
    if deep.run.run.writer.has_ended:
        return
    plan = None if deep.latest is None else ended_plan_of(deep, deep.latest)
    verdicts = () if deep.latest is None else deep.latest.verdicts
    await commit_failed(deep.run, code, message, "", plan, verdicts)
