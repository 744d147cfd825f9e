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

from app.domain.plan import ChitchatPlan, Plan
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, Message
from app.domain.zones import zone_named
from app.errors import AppError
from app.flow.execute import execute
from app.flow.orchestrate import classify, decide, offers_for, orchestrate
from app.flow.reflect import draft_plan, reflect
from app.flow.remembered import AnswerMemory, Circumstances, fingerprint, fingerprint_of_agents
from app.flow.resolve import resolve
from app.flow.respond import fail, fail_late, respond
from app.flow.retell import retell
from app.flow.state import RESERVE_SHARE, Asking, FlowLimits, Ports, RunContext, RunState
from app.flow.trace import Trace
from app.reasoning.budget import Account, charged_to
from app.reasoning.refusal import REFUSED
from app.tasks.run import TaskRun
from app.telemetry import CacheUse, counting_cache_use

_RECURSION_LIMIT = 12
"""More node visits than this in one run is a bug (the longest path has five)."""
_HISTORY_TURNS = 10
"""How many earlier turns of the session are read."""
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
    graph.add_node("conflict_resolution", resolve)
    graph.add_node("final_response", respond)
    graph.add_node("remembered_answer", retell)
    graph.add_edge(START, "orchestrator")
    graph.add_conditional_edges("orchestrator", _path, sorted(_PATHS.values()))
    graph.add_edge("reflection_router", "agent_execution")
    graph.add_edge("agent_execution", "conflict_resolution")
    graph.add_edge("conflict_resolution", "final_response")
    graph.add_edge("final_response", END)
    graph.add_edge("remembered_answer", END)
    return graph.compile()


def _path(state: RunState) -> str:
    return _PATHS[state["decision"]]


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
                await self._run(context)

    async def _run(self, context: RunContext) -> None:
        state: RunState = {}
        try:
            async with asyncio.timeout_at(context.deadline) as limit:
                async for seen in self._graph.astream(
                    {}, context=context, config={"recursion_limit": _RECURSION_LIMIT}, stream_mode="values"
                ):
                    state = cast(RunState, seen)
        except TimeoutError:
            if not limit.expired():
                raise
            await fail_late(context, state)
        except AppError as refusal:
            await fail(context, state, (), code=refusal.code, message=refusal.detail)

    async def _context(self, run: TaskRun, caches: CacheUse) -> RunContext:
        request = ChatRequest.model_validate(run.task.request)
        history = request.history_chat or await self.ports.sessions.history(
            run.principal, run.task.session_id, limit=_HISTORY_TURNS
        )
        now = self.ports.now()
        limit_seconds = self.limits.task_deadline_ms / 1000
        if run.task.deadline is not None:
            limit_seconds = min(limit_seconds, max((run.task.deadline - now).total_seconds(), 0.0))
        account = self._account(run.principal, run.task.task_id, limit_seconds)
        return RunContext(
            ports=self.ports,
            limits=self.limits,
            run=run,
            asking=await self._asking(run.principal, request, history),
            deadline=asyncio.get_running_loop().time() + limit_seconds,
            trace=Trace(self.ports.now, caches, account.doings),
            memory=self._memory,
            account=account,
        )

    async def _asking(self, principal: Principal, request: ChatRequest, history: tuple[Message, ...]) -> Asking:
        time_zone = await self.ports.clock.zone_of(principal)
        today = self.ports.now().astimezone(zone_named(time_zone)).date()
        return Asking(principal, request, history, today, time_zone)

    def _account(self, principal: Principal, run_id: UUID, limit_seconds: float) -> Account:
        """Models have to be done a little before the run, so that the rules can still answer."""
        now = asyncio.get_running_loop().time()
        return Account(principal, run_id, now + limit_seconds * (1 - RESERVE_SHARE), self.ports.ledger)

    async def dry_run(
        self, principal: Principal, request: ChatRequest, history: tuple[Message, ...] = ()
    ) -> Plan | ChitchatPlan:
        """The plan a question would get; nothing is executed or stored. Raises `AppError` for unknown agents."""
        asking = await self._asking(principal, request, history or request.history_chat)
        offers = offers_for(self.ports, asking)
        with charged_to(self._account(principal, uuid4(), self.limits.task_deadline_ms / 1000)):
            classification = await classify(self.ports, asking, offers)
            match decide(classification, offers):
                case "chitchat":
                    return ChitchatPlan(is_chitchat=True, chitchat_response=classification.chitchat_response)
                case "refused":
                    return ChitchatPlan(is_chitchat=True, chitchat_response=REFUSED[classification.language])
            return await draft_plan(self.ports, self.limits, asking, classification, offers)


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
