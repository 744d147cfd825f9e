"""The department flow: ``orchestrator → reflection_router → agent_execution → conflict_resolution → final_response``.

Short paths: chitchat goes straight to the response; a simple question or a single agent straight to execution; a
question that was answered before, with the same rights over the same documents, to ``remembered_answer``. A question of
several steps that depend on one another leaves the graph for the deep flow.

Node 3, agent execution, stands below: tiers in order, the steps inside a tier in parallel, each step a child task.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, cast
from uuid import UUID, uuid5

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from app.agents.spec import AgentSpec, new_step
from app.agents.step import StepOrder, StepOutcome
from app.domain.knowledge import Finding
from app.domain.plan import ORCHESTRATOR, Plan, PlannedStep, answers_a_query
from app.domain.tasks import NewTask, PrivateContext
from app.errors import ErrorCode
from app.events import EndProcess, Handover, PlanReady, StartProcess
from app.flow import wording
from app.flow.deep.graph import DeepFlow, Dependence, needs_deep
from app.flow.orchestrate import Flow, decide, ending_with, orchestrate
from app.flow.planning import checked, hand_over, next_hop, plan_directly, plan_request, reflect
from app.flow.resolve import resolve
from app.flow.respond import answer_from_cache, answering_agent, best_by_agent, fail, respond
from app.flow.state import (
    LEADER_TOKENS,
    RESERVE_SHARE,
    Asking,
    Floor,
    FlowLimits,
    Ports,
    RunContext,
    RunState,
)
from app.flow.wording import agent_outputs, findings_of
from app.reasoning import AgentOffer, Classification
from app.tools.base import side_by_side

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


async def execute(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Run the tiers of the plan that have not run yet, and see whether the question is handed over. Failures of single
    steps are recorded, not raised; the context's outcomes hold all of it."""
    context, plan, tiers_run = runtime.context, state["plan"], state.get("tiers_run", 0)
    steps = [step for step in plan.steps if step.tier > tiers_run]
    written = plan.model_dump(mode="json")
    task_ids = await _register(context, state["classification"], steps, "", written)
    if not tiers_run:
        context.run.writer.append(PlanReady(plan=written))
        context.run.writer.append(wording.plan_ready_progress(steps))
    await context.ports.retriever.prepare([text for step in steps for _, text in step.queries])
    execution = _Execution(context, state, len(plan.steps), task_ids)
    for _, tier in groupby(steps, key=lambda step: step.tier):
        await execution.run_tier(list(tier))
    floor = state.get("floor") or Floor(tuple(plan.agents), context.limits.max_handovers)
    hop = await next_hop(context, state, floor)
    if hop is None:
        context.run.writer.append(wording.all_ran_progress(agent_outputs(context.outcomes)))
    return {"tiers_run": len(plan.tiers), "floor": floor, "hop": hop}


async def _register(
    context: RunContext,
    classification: Classification,
    steps: Sequence[PlannedStep],
    again: str,
    plan: Mapping[str, Any] | None = None,
) -> dict[int, UUID]:
    """One task row a step with its compact instruction, and each agent's context; ids are stable within an attempt.

    `again` tells further rows of a step from its first; a `plan` is kept with the run.
    """
    root = context.run.task
    ids = {step.number: uuid5(root.task_id, f"{context.run.attempt}:{step.number}{again}") for step in steps}
    rows: list[NewTask] = []
    by_agent: dict[str, list[PrivateContext]] = {}
    for step in steps:
        needs, spec = _private_context(context, classification, step), _spec(context, step)
        rows.append(new_step(root, ids[step.number], step, spec.token_limit if spec else LEADER_TOKENS, needs))
        by_agent.setdefault(step.step.agent, []).append(needs)
    await context.ports.registry.steps.register(context.run, rows, by_agent, plan)
    return ids


def _private_context(context: RunContext, classification: Classification, step: PlannedStep) -> PrivateContext:
    return PrivateContext(
        message=step.step.message, queries=step.queries, refined_query=classification.refined_query,
        language=classification.language, as_of=context.asking.searched_on(classification),
    )  # fmt: skip


def _spec(context: RunContext, step: PlannedStep) -> AgentSpec | None:
    return None if step.step.agent == ORCHESTRATOR else context.ports.agents.spec(step.step.agent)


class _Execution:
    """The moving parts of one execution: how many steps are done, who has the floor."""

    def __init__(self, context: RunContext, state: RunState, total: int, task_ids: dict[int, UUID]):
        self._context = context
        self._state = state
        self._total = total
        self._task_ids = task_ids
        self._done = total - len(task_ids)
        self._least = wording.ALL_DONE if self._done else 0
        self._spoke_last: str | None = None
        width = context.limits.max_concurrent_agents if context.limits.enable_parallel_execution else 1
        self._floor = asyncio.Semaphore(width)

    async def run_tier(self, tier: Sequence[PlannedStep]) -> None:
        """All steps of a tier, grouped by agent; agents wait for one of ``max_concurrent_agents`` places."""
        by_agent: dict[str, list[PlannedStep]] = {}
        for step in tier:
            by_agent.setdefault(step.step.agent, []).append(step)
        self._hand_over(tuple(by_agent))
        earlier = tuple(self._context.outcomes)
        results = await side_by_side([self._run_agent(agent, own, earlier) for agent, own in by_agent.items()])
        outcomes = sorted((outcome for result in results for outcome in result), key=lambda o: o.step.number)
        for outcome in outcomes:
            self._context.trace.step(outcome, _depends_on(outcome.step, earlier))

    def _hand_over(self, agents: Sequence[str]) -> None:
        """Tell who takes over when the tier before belonged to others."""
        first, last = agents[0], self._spoke_last
        if last is not None and last not in agents:
            self._context.run.writer.append(Handover(from_agent=last, to_agent=first, reason="next_stage"))
        self._spoke_last = agents[-1]

    async def _run_agent(
        self, agent: str, steps: Sequence[PlannedStep], earlier: Sequence[StepOutcome]
    ) -> list[StepOutcome]:
        writer = self._context.run.writer
        async with self._floor:
            writer.append(StartProcess(agent=agent))
            if self._context.limits.enable_parallel_execution:
                outcomes = await side_by_side([self._run_step(step, earlier) for step in steps])
            else:
                outcomes = [await self._run_step(step, earlier) for step in steps]
            writer.append(EndProcess(agent=agent))
        return outcomes

    async def _run_step(self, step: PlannedStep, earlier: Sequence[StepOutcome]) -> StepOutcome:
        writer = self._context.run.writer
        writer.append(wording.step_begun_progress(step, self._done, self._total, least=self._least))
        outcome = await self._context.ports.steps.run(self._order(step, earlier))
        if _is_refused(outcome):
            outcome = await self._again(step, earlier, outcome)
        self._done += 1
        self._context.outcomes.append(outcome)
        writer.append(wording.step_ended_progress(step, self._done, self._total, ok=outcome.ok, least=self._least))
        return outcome

    async def _again(self, step: PlannedStep, earlier: Sequence[StepOutcome], refused: StepOutcome) -> StepOutcome:
        """A result that did not stand up to review comes back to the leader: the step is given out once more, with the
        reason. To the same tool: what was read, and whoever judged it, must not choose another. The better outcome
        counts."""
        message = f"{step.step.message} ({refused.rejections[0]})"
        second = step.model_copy(update={"step": step.step.model_copy(update={"message": message})})
        order = self._order(second, earlier)
        if order.timeout_seconds <= 0:
            return refused
        ids = await _register(self._context, self._state["classification"], [second], ":again")
        outcome = await self._context.ports.steps.run(replace(order, task_id=ids[step.number]))
        better = refused if not outcome.ok or _is_refused(outcome) else outcome
        return replace(better, step=step, calls=(*refused.calls, *outcome.calls))

    def _order(self, step: PlannedStep, earlier: Sequence[StepOutcome]) -> StepOrder:
        context = self._context
        reserve = context.limits.task_deadline_ms / 1000 * RESERVE_SHARE
        left = max(context.deadline - asyncio.get_running_loop().time() - reserve, 0.0)
        needs = _private_context(context, self._state["classification"], step)
        own = self._task_ids[step.number]
        return context.order(step, _spec(context, step), own, needs, _findings_for(step, earlier), left)


def _is_refused(outcome: StepOutcome) -> bool:
    """Whether review left nothing of what a step found."""
    found = outcome.result is not None and any(finding.found for finding in outcome.result.findings)
    return bool(outcome.rejections) and not found


def _findings_for(step: PlannedStep, earlier: Sequence[StepOutcome]) -> tuple[Finding, ...]:
    """What earlier tiers found: everybody's for the orchestrator, the agent's own otherwise."""
    own = [o for o in earlier if step.step.agent in (ORCHESTRATOR, o.step.step.agent)]
    return findings_of(own)


def _depends_on(step: PlannedStep, earlier: Sequence[StepOutcome]) -> tuple[str, ...]:
    """The node ids a step drew on; what answers a query by itself draws on nothing."""
    if answers_a_query(step.step.tool):
        return ()
    return tuple(o.step.node_id for o in earlier if step.step.agent in (ORCHESTRATOR, o.step.step.agent))
