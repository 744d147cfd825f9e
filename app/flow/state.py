"""A run's world: what the nodes of the department flow read (context) and hand on (state)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, TypedDict
from uuid import UUID

from cachetools import TTLCache

from app.agents.handover import Floor, Reason
from app.agents.registry import AgentRegistry
from app.agents.spec import AgentSpec
from app.agents.step import StepOrder, StepOutcome, Steps
from app.domain.answer import ResolutionRules
from app.domain.conflicts import Conflict
from app.domain.knowledge import Evidence, Finding
from app.domain.plan import Plan, PlannedStep
from app.domain.principal import Principal
from app.domain.record import Record
from app.domain.tasks import ChatRequest, Message, PrivateContext, Recollection
from app.domain.zones import HOME, zone_named
from app.events import TextDelta
from app.flow.answer_cache import MAX_ENTRIES, AnswerCache, AnswerKey, CachedAnswer
from app.flow.trace import Trace
from app.reasoning import AgentOffer, AsOf, Classification, Probe, Reasoner, ResolvedPoint
from app.reasoning.budget import Account, Ledger
from app.retrieval.cache import Corpus
from app.retrieval.search import Retriever
from app.sessions.memory import MemoryManager, SessionMemory
from app.sessions.session import TenantClock
from app.tasks.registry import TaskRegistry
from app.tasks.run import TaskRun
from app.telemetry import CacheUse

RESERVE_SHARE = 0.1
"""Part of the run's deadline kept back for weighing and writing the answer."""

LEADER_TOKENS = 500
"""Of an instruction the orchestrator gives itself."""
Decision = Literal["remembered", "chitchat", "refused", "direct_execution", "reflection_needed", "deep"]


class FlowLimits(Record):
    """The seed's workflow configuration (§8), the weights of conflict resolution, and how long answers are kept."""

    max_concurrent_agents: int = 5
    timeout_per_agent_ms: int = 30_000
    max_retries: int = 3
    conflict_resolution_threshold: float = 0.1
    min_relevance_score: float = 0.7
    enable_follow_up_questions: bool = True
    max_follow_up_questions: int = 5
    max_queries_per_agent: int = 10
    enable_parallel_execution: bool = True
    max_handovers: int = 2
    task_deadline_ms: int = 90_000
    enable_caching: bool = True
    cache_ttl_seconds: int = 3600
    rules: ResolutionRules = ResolutionRules()
    trusted_link_hosts: frozenset[str] = frozenset()
    weights: dict[str, float] = {"domain": 0.35, "scope": 0.25, "recency": 0.25, "relevance": 0.15}


@dataclass(frozen=True)
class Ports:
    """The rooms below, as the flow uses them; one set for the whole process."""

    registry: TaskRegistry
    memory: SessionMemory
    clock: TenantClock
    retriever: Retriever
    corpus: Corpus
    reasoner: Reasoner
    agents: AgentRegistry
    steps: Steps
    ledger: Ledger
    now: Callable[[], datetime]


@dataclass(frozen=True)
class Asking:
    """A question with its asker: all that planning needs, with or without a run."""

    principal: Principal
    request: ChatRequest
    history: tuple[Message, ...]
    """Oldest first."""
    today: date
    """In the tenant's own time zone."""
    time_zone: str = HOME
    active_agent: str | None = None
    """Whose answer counted last in this session."""

    def as_of(self, classification: Classification) -> AsOf | None:
        """The day whose documents answer, when it is not today's by default: the request's own, else the question's."""
        if self.request.as_of is not None:
            return AsOf(day=self.request.as_of, words="")
        return classification.as_of

    def searched_on(self, classification: Classification) -> date | None:
        """The day that is searched; None = today, without what was superseded."""
        asked = self.as_of(classification)
        return None if asked is None or asked.day == self.today else asked.day


@dataclass(frozen=True)
class RunContext:
    """One run. The trace and the outcomes are filled as the run goes on, so that a cut run can still tell them."""

    ports: Ports
    limits: FlowLimits
    run: TaskRun
    asking: Asking
    deadline: float
    """Event-loop time at which the whole run must have ended."""
    trace: Trace
    memory: AnswerCache
    account: Account
    listener: MemoryManager
    """Hears the question and every piece of the answer."""
    is_deep: Callable[[Classification], bool] = lambda _: False
    """Whether a classified question is another flow's, for hard questions."""
    outcomes: list[StepOutcome] = field(default_factory=list)

    def order(
        self, step: PlannedStep, spec: AgentSpec | None, task_id: UUID, needs: PrivateContext,
        findings: tuple[Finding, ...], seconds_left: float,
    ) -> StepOrder:  # fmt: skip
        """A step with its limits: its agent's own time, or what is left; without `spec` it is the leader's."""
        limit = ((spec and spec.timeout_ms) or self.limits.timeout_per_agent_ms) / 1000
        return StepOrder(
            run=self.run, task_id=task_id, step=step, departments=spec.departments if spec else (), findings=findings,
            instructions=spec.instructions if spec else "", files=self.asking.request.files,
            time_zone=self.asking.time_zone, now=self.ports.now(), timeout_seconds=min(limit, seconds_left),
            deadline_binds=seconds_left < limit, max_retries=self.limits.max_retries,
            agent_type=spec.type_of(step.step.tool) if spec else "",
            token_limit=spec.token_limit if spec else LEADER_TOKENS, context_hash=needs.context_hash,
        )  # fmt: skip

    def stream_text(self, text: str, agent: str, *, streaming: bool) -> None:
        """Tell a piece of the answer's text, as spoken by `agent`; the session's memory hears it too."""
        self.run.writer.append(TextDelta(text=text, agent=agent, metadata={"streaming": streaming}))
        self.listener.on_message(Message(role="assistant", content=text))


@dataclass(frozen=True)
class Hop:
    """A hand-over that was decided: to whom, why, and what that agent is asked."""

    to_agent: str
    reason: Reason
    question: str
    plan: Plan


class RunState(TypedDict, total=False):
    """What one node leaves for the next."""

    decision: Decision
    answer_key: AnswerKey | None
    """What the answer is remembered by; None = not at all."""
    remembered: CachedAnswer
    offers: tuple[AgentOffer, ...]
    classification: Classification
    plan: Plan
    probes: tuple[Probe, ...]
    """Where the evidence lives for what was asked; what hand-overs are decided by."""
    floor: Floor
    hop: Hop | None
    """The next hand-over; None when the question stays where it is."""
    tiers_run: int
    findings: tuple[Finding, ...]
    """After resolution: nothing in them was overruled."""
    evidence: tuple[Evidence, ...]
    conflicts: tuple[ResolvedPoint, ...]
    verdicts: tuple[Conflict, ...]
    """All that was weighed, with every score: what the trace, the ``conflict_resolved`` event and the ledger tell."""


class Opening:
    """Makes the contexts of one flow's runs."""

    def __init__(self, ports: Ports, limits: FlowLimits):
        self.ports = ports
        self.limits = limits
        self._memory: AnswerCache = TTLCache(MAX_ENTRIES, limits.cache_ttl_seconds)
        """The flow's own: no other flow, with other tools or settings, ever reads it."""

    async def context(self, run: TaskRun, caches: CacheUse) -> RunContext:
        """The world of a claimed run; reads the conversation it stands in."""
        request = ChatRequest.model_validate(run.task.request)
        known = await self.recall(run.principal, run.task.session_id, request)
        now = self.ports.now()
        limit_seconds = self.limits.task_deadline_ms / 1000
        if run.task.deadline is not None:
            limit_seconds = min(limit_seconds, max((run.task.deadline - now).total_seconds(), 0.0))
        account = self.account(run.principal, run.task.task_id, limit_seconds)
        listener = self.ports.memory.listener(run.principal, run.task.session_id, run.task.task_id)
        listener.on_message(Message(role="user", content=request.query))
        return RunContext(
            ports=self.ports, limits=self.limits, run=run, asking=await self.asking(run.principal, request, known),
            deadline=asyncio.get_running_loop().time() + limit_seconds,
            trace=Trace(self.ports.now, caches, account.doings), memory=self._memory, account=account,
            listener=listener,
        )  # fmt: skip

    async def recall(self, principal: Principal, session_id: UUID, request: ChatRequest) -> Recollection:
        """What is known of the conversation a question stands in; a history the caller gave counts instead of ours."""
        return await self.ports.memory.recall(principal, session_id, request.query, request.history_chat)

    async def asking(self, principal: Principal, request: ChatRequest, known: Recollection) -> Asking:
        """A question with its asker, on the day it is in the asker's zone."""
        time_zone = await self.ports.clock.zone_of(principal)
        today = self.ports.now().astimezone(zone_named(time_zone)).date()
        return Asking(principal, request, known.history, today, time_zone, known.active_agent)

    def account(self, principal: Principal, run_id: UUID, limit_seconds: float) -> Account:
        """Models have to be done a little before the run, so that the rules can still answer."""
        now = asyncio.get_running_loop().time()
        return Account(principal, run_id, now + limit_seconds * (1 - RESERVE_SHARE), self.ports.ledger)
