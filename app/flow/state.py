"""A run's world: what the nodes of the department flow read (context) and hand on (state)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, TypedDict
from uuid import UUID

from app.agents.registry import AgentRegistry
from app.agents.spec import AgentSpec
from app.agents.step import StepOrder, StepOutcome, Steps
from app.domain.answer import ResolutionRules
from app.domain.conflicts import Conflict
from app.domain.knowledge import Evidence, Finding
from app.domain.plan import Plan, PlannedStep
from app.domain.principal import Principal
from app.domain.record import Record
from app.domain.tasks import ChatRequest, Message, PrivateContext
from app.events import Handover, TextDelta
from app.flow.answer_cache import AnswerCache, AnswerKey, CachedAnswer
from app.flow.trace import Trace
from app.reasoning import AgentOffer, AsOf, Classification, PlanRequest, Reasoner, ResolvedPoint
from app.reasoning.budget import Account, Ledger
from app.retrieval.cache import Corpus
from app.retrieval.search import Retriever
from app.sessions.session import MemoryManager, SessionMemory, TenantClock
from app.tasks.registry import TaskRegistry
from app.tasks.run import TaskRun
from app.text.dates import HOME

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
    is_strict: bool = False
    """Whether the tenant wants literal quotes only."""
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

    def is_strict(self, *agents: AgentSpec | None) -> bool:
        """Whether the tenant, or one of these agents, wants literal quotes where a model could write."""
        return self.asking.is_strict or any(one is not None and one.answer_mode == "strict" for one in agents)

    def order(
        self, step: PlannedStep, spec: AgentSpec | None, task_id: UUID, needs: PrivateContext,
        findings: tuple[Finding, ...], seconds_left: float,
    ) -> StepOrder:  # fmt: skip
        """A step with its limits: its agent's own time, or what is left; without `spec` it is the leader's."""
        limit = ((spec and spec.timeout_ms) or self.limits.timeout_per_agent_ms) / 1000
        return StepOrder(
            run=self.run, task_id=task_id, step=step, departments=spec.departments if spec else (), findings=findings,
            instructions=spec.instructions if spec else "", files=self.asking.request.files,
            is_strict=self.is_strict(spec),
            time_zone=self.asking.time_zone, now=self.ports.now(), timeout_seconds=min(limit, seconds_left),
            deadline_binds=seconds_left < limit, max_retries=self.limits.max_retries,
            agent_type=spec.type_of(step.step.tool) if spec else "",
            token_limit=spec.token_limit if spec else LEADER_TOKENS, context_hash=needs.context_hash,
        )  # fmt: skip

    def stream_text(self, text: str, agent: str, *, streaming: bool) -> None:
        """Tell a piece of the answer's text, as spoken by `agent`; the session's memory hears it too."""
        self.run.writer.append(TextDelta(text=text, agent=agent, metadata={"streaming": streaming}))
        self.listener.on_message(Message(role="assistant", content=text))


Reason = Literal["better_match", "no_evidence"]
"""Why an agent hands over: the question belongs to another, whose documents bear on it at least as much; or nothing was
found above ``min_relevance_score``. Never what a document says."""


@dataclass(frozen=True)
class Floor:
    """Who had the floor in this turn, in order. Nobody gets it twice, and it passes at most `max_handovers` times."""

    held_by: tuple[str, ...]
    max_handovers: int
    handovers: int = 0

    @property
    def is_final(self) -> bool:
        """Whether it stays where it is."""
        return self.handovers >= self.max_handovers

    def may_pass_to(self, agent: str) -> bool:
        """Whether this agent can still be given the floor."""
        return not self.is_final and agent not in self.held_by

    def handover_to(self, agent_id: str, reason: Reason) -> tuple["Floor", Handover]:
        """The floor as it stands then, and the event that tells. Raises `ValueError` when it may not pass there."""
        if not self.may_pass_to(agent_id) or not self.held_by:
            raise ValueError(f"{agent_id} cannot be given the floor: {self}")
        event = Handover(from_agent=self.held_by[-1], to_agent=agent_id, reason=reason)
        return Floor((*self.held_by, agent_id), self.max_handovers, self.handovers + 1), event


def successor(floor: Floor, relevance: Mapping[str, float], least: float) -> str | None:
    """Who takes over: of the agents that had no turn yet, the one whose documents bear on the question best (0-1), at
    least `least`; of equal ones the first by name."""
    able = [agent for agent, bears in relevance.items() if bears >= least and floor.may_pass_to(agent)]
    return min(able, key=lambda agent: (-relevance[agent], agent), default=None)


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
    request: PlanRequest
    """What the plan was made from; hand-overs are decided by its probes."""
    follows_up: str
    """The session's active agent, where the plan is a follow-up's."""
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
