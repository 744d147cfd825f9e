"""The department flow: ``orchestrator → reflection_router → agent_execution → conflict_resolution → final_response``.

Short paths: chitchat goes straight to the response; a simple question or a single agent straight to execution; a
question that was answered before, with the same rights over the same documents, to ``remembered_answer``.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import cast
from uuid import UUID, uuid4

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from app.agents.monitor import RunMonitor
from app.domain.plan import ChitchatPlan, Plan
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, Message, Recollection
from app.domain.zones import zone_named
from app.errors import AppError, ErrorCode
from app.flow.execute import execute
from app.flow.handover import drafted, hand_over
from app.flow.orchestrate import classify, decide, offers_for, orchestrate
from app.flow.reflect import draft_plan, reflect
from app.flow.remembered import AnswerMemory, Circumstances, fingerprint, fingerprint_of_agents
from app.flow.resolve import resolve
from app.flow.respond import fail, fail_late, respond
from app.flow.retell import retell
from app.flow.speaker import answering_agent, is_found
from app.flow.state import RESERVE_SHARE, Asking, FlowLimits, Ports, RunContext, RunState
from app.flow.trace import Trace
from app.reasoning.budget import Account, charged_to
from app.reasoning.refusal import REFUSED
from app.tasks.run import TaskRun
from app.telemetry import CacheUse, counting_cache_use

_RECURSION_LIMIT = 12
"""More node visits than this in one run is a bug (the longest path has five), but for two more a hand-over."""
_PATHS: Mapping[str, str] = {
    "remembered": "remembered_answer",
    "chitchat": "final_response",
    "refused": "final_response",
    "direct_execution": "agent_execution",
    "reflection_needed": "reflection_router",
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
    graph.add_node("remembered_answer", retell)
    graph.add_edge(START, "orchestrator")
    graph.add_conditional_edges("orchestrator", _path, sorted({*_PATHS.values(), "handover"}))
    graph.add_edge("reflection_router", "agent_execution")
    graph.add_conditional_edges("agent_execution", _after_execution, ["handover", "conflict_resolution"])
    graph.add_edge("handover", "agent_execution")
    graph.add_edge("conflict_resolution", "final_response")
    graph.add_edge("final_response", END)
    graph.add_edge("remembered_answer", END)
    return graph.compile()


def _path(state: RunState) -> str:
    return "handover" if state.get("hop") else _PATHS[state["decision"]]


def _after_execution(state: RunState) -> str:
    return "handover" if state.get("hop") else "conflict_resolution"


def _monitor_of(run: TaskRun) -> RunMonitor:
    monitor = RunMonitor()
    run.writer.heard_by(monitor.hear)
    return monitor


class DepartmentFlow:
    """Runs chat tasks; `run` is the worker's handler for them."""

    def __init__(self, ports: Ports, limits: FlowLimits):
        self.ports = ports
        self.limits = limits
        self._memory = _memory(ports, limits)
        self._graph = build_graph()

    async def run(self, run: TaskRun) -> None:
        """Take a claimed chat task to its terminal event. Raises `StaleAttempt` when the run was lost to another."""
        with counting_cache_use() as caches:
            context = await self._context(run, caches)
            with charged_to(context.account):
                state = await self._run(context)
                _remember(context, state)

    async def _run(self, context: RunContext) -> RunState:
        state: RunState = {}
        visits = _RECURSION_LIMIT + 2 * self.limits.max_handovers
        try:
            async with asyncio.timeout_at(context.deadline) as limit:
                async for seen in self._graph.astream(
                    {}, context=context, config={"recursion_limit": visits}, stream_mode="values"
                ):
                    state = cast(RunState, seen)
        except TimeoutError:
            if not limit.expired():
                raise
            await fail_late(context, state)
        except AppError as refusal:
            if refusal.code is ErrorCode.DATABASE_UNAVAILABLE:
                raise  # nothing is wrong with the run: its next attempt answers when the database is back
            await fail(context, state, (), code=refusal.code, message=refusal.detail)
        return state

    async def recall(self, principal: Principal, session_id: UUID, request: ChatRequest) -> Recollection:
        """What is known of the conversation a question stands in; a history the caller gave counts instead of ours."""
        return await self.ports.memory.recall(principal, session_id, request.query, request.history_chat)

    async def _context(self, run: TaskRun, caches: CacheUse) -> RunContext:
        request = ChatRequest.model_validate(run.task.request)
        known = await self.recall(run.principal, run.task.session_id, request)
        now = self.ports.now()
        limit_seconds = self.limits.task_deadline_ms / 1000
        if run.task.deadline is not None:
            limit_seconds = min(limit_seconds, max((run.task.deadline - now).total_seconds(), 0.0))
        account = self._account(run.principal, run.task.task_id, limit_seconds)
        listener = self.ports.memory.listener(run.principal, run.task.session_id, run.task.task_id)
        listener.on_message(Message(role="user", content=request.query))
        return RunContext(
            ports=self.ports,
            limits=self.limits,
            run=run,
            asking=await self._asking(run.principal, request, known),
            deadline=asyncio.get_running_loop().time() + limit_seconds,
            trace=Trace(self.ports.now, caches, account.doings, _monitor_of(run)),
            memory=self._memory,
            account=account,
            listener=listener,
        )

    async def _asking(self, principal: Principal, request: ChatRequest, known: Recollection) -> Asking:
        time_zone = await self.ports.clock.zone_of(principal)
        today = self.ports.now().astimezone(zone_named(time_zone)).date()
        return Asking(principal, request, known.history, today, time_zone, known.active_agent)

    def _account(self, principal: Principal, run_id: UUID, limit_seconds: float) -> Account:
        """Models have to be done a little before the run, so that the rules can still answer."""
        now = asyncio.get_running_loop().time()
        return Account(principal, run_id, now + limit_seconds * (1 - RESERVE_SHARE), self.ports.ledger)

    async def dry_run(
        self, principal: Principal, request: ChatRequest, known: Recollection | None = None
    ) -> Plan | ChitchatPlan:
        """The plan a question would get, before anything is found; nothing is executed or stored.

        Raises `AppError` for unknown agents.

        Args:
            principal: Who asks.
            request: The question.
            known: The conversation it stands in; None = the request's own history.
        """
        asking = await self._asking(principal, request, known or Recollection(history=request.history_chat))
        offers = offers_for(self.ports, asking)
        with charged_to(self._account(principal, uuid4(), self.limits.task_deadline_ms / 1000)):
            classification = await classify(self.ports, asking, offers)
            match decide(classification, offers):
                case "chitchat":
                    return ChitchatPlan(is_chitchat=True, chitchat_response=classification.chitchat_response)
                case "refused":
                    return ChitchatPlan(is_chitchat=True, chitchat_response=REFUSED[classification.language])
                case "direct_execution":
                    draft = await drafted(self.ports, self.limits, asking, classification, offers)
                    return draft.hop.plan if draft.hop else draft.plan
            return await draft_plan(self.ports, self.limits, asking, classification, offers)


def _remember(context: RunContext, state: RunState) -> None:
    """Hand the turn to the session's memory: its answer stands already, and small talk is not worth remembering."""
    plan = state["remembered"].plan if "remembered" in state else state.get("plan")
    if plan is not None and context.run.writer.has_ended:
        found = is_found(context, state)
        context.listener.keep(answering_agent(context, state), plan.refined_query, found=found)


def _memory(ports: Ports, limits: FlowLimits) -> AnswerMemory:
    """A memory of the flow's own: no other flow, with other tools or settings, ever reads it."""
    return AnswerMemory(
        Circumstances(
            space=ports.corpus.space,
            mind=ports.reasoner.identity,
            agents=fingerprint_of_agents(ports.agents),
            limits=fingerprint(limits.model_dump_json()),
        ),
        ttl_seconds=limits.cache_ttl_seconds,
        timer=time.monotonic,
    )
