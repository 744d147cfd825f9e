"""Port of everything that needs a mind. `local` does it without a model; the LLM adapter stands behind the same port.

Methods are pure questions: they get all they may use as arguments and return records. Passages are untrusted text;
nothing in them ever chooses a tool, an agent or a permission.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal, Protocol

from pydantic import Field

from app.domain.answer import Outcome, Support
from app.domain.knowledge import Evidence, Finding, Language, Passage, Quote
from app.domain.plan import Plan
from app.domain.principal import Scope
from app.domain.record import Record
from app.domain.tasks import Message


class AgentOffer(Record):
    """An agent the caller may use, as the planner sees it."""

    name: str
    description: str
    tools: dict[str, str]
    """Descriptions by name; only tools the caller may use."""
    exemplars: tuple[str, ...]
    departments: tuple[str, ...]
    """Departments whose documents the agent reads; none for a pool of tools."""
    types: dict[str, str] = {}
    """Agent types of a pool, and the tool each one is: ``sum`` → ``math.mcp_sum``."""
    is_fallback: bool = False

    @property
    def own_tool(self) -> str:
        """The tool of a pool that its exemplars lead to: the first that is no agent type. Types are chosen by rule."""
        typed = set(self.types.values())
        return "" if self.departments else next((tool for tool in self.tools if tool not in typed), "")


class AsOf(Record):
    """A day whose rules are asked for, instead of today's."""

    day: date
    words: str
    """What in the question says so: ``ngày 1/3/2025``, ``last year``."""


class Assignment(Record):
    """What one agent is asked, proposed by whoever classified the question."""

    agent: str
    queries: tuple[str, ...]
    tools: tuple[str, ...]


class Classification(Record):
    """What kind of input this is, and what it asks."""

    kind: Literal["chitchat", "simple", "task", "refused"]
    """``simple`` = one question of one domain that needs no reflection; ``refused`` = the mind declined to work on it;
    ``task`` = everything else that is asked."""
    language: Language
    """The asker's language; every reply is written in it."""
    refined_query: str
    """A self-contained question: history resolved, spelling tidied; empty for chitchat."""
    sub_queries: tuple[str, ...]
    """The separate questions inside it, at least one unless chitchat; each self-contained."""
    chitchat_response: str = ""
    assignments: tuple[Assignment, ...] = ()
    """Who is asked what, where the mind that classified knew; empty = planning finds out. Only what is on offer."""
    is_follow_up: bool = False
    edits: bool = False
    """Whether the answer before is to be changed (shorter, translated, as a letter) and nothing new is asked."""
    own_words: str = ""
    """What a follow-up asks by itself, when that may be a matter of its own (“còn VPN thì sao?” asks about VPN);
    empty when it only varies the question before it."""
    as_of: AsOf | None = None
    """The day whose rules the question asks for; its words are left out of the queries. None = today's."""
    confidence: float = Field(ge=0, le=1)


class Probe(Record):
    """Where the evidence for one sub-query lives: seen by metadata alone, no document text."""

    query: str
    relevance_by_department: dict[str, float]
    """Best calibrated relevance among the caller's visible passages of each department (0–1)."""


class PlanRequest(Record):
    """All a planner may know."""

    query: str
    classification: Classification
    agents: tuple[AgentOffer, ...]
    probes: tuple[Probe, ...]
    user_access: tuple[Scope, ...]
    max_queries_per_agent: int
    files: int = 0
    feedback: str = ""


class Review(Record):
    """A verdict on a plan or a result."""

    approved: bool
    reason: str = ""


class AnswerRequest(Record):
    """One query and what was found for it."""

    query: str
    language: Language
    agent: str
    index: int
    passages: tuple[Passage, ...]
    """Best first."""
    min_relevance_score: float
    instructions: str = ""
    """How the agent shall answer; ours, not the documents'."""
    today: date | None = None
    department: str = ""
    """The asker's."""
    is_strict: bool = False
    """Whether only literal quotes are wanted, where a model could write."""
    keeps_read: bool = False
    """Whether the finding shall hold every passage, for who writes the answer."""


class Summary(Record):
    """The most telling spans of findings, as they stand there."""

    lines: tuple[str, ...]
    sources: tuple[int, ...]
    """Of each line the position of its finding."""

    @property
    def text(self) -> str:
        """One line a span, marked as items where there are several."""
        return "\n".join(f"- {line}" for line in self.lines) if len(self.lines) > 1 else "".join(self.lines)


class Arguments(Record):
    """Typed arguments of a tool call, taken from the question and its evidence."""

    values: dict[str, str]
    """For ``math_tool``: ``expression`` in plain arithmetic (``15000000 / 26 * 3``) and ``unit``; for ``log_tool``:
    ``terms`` (words of the messages), ``level``, ``source``, and the time: ``period``, the literal phrase (``hôm qua``,
    ``last 7 days``), or ``since`` and ``until`` (ISO). For tools with a schema its properties, numbers and dates in
    plain spelling, objects as JSON. Only keys that could be filled."""
    missing: tuple[str, ...] = ()
    """Operands nobody stated; a tool must refuse rather than invent them."""
    grounds: tuple[str, ...] = ()
    """The literal spans the values were read from."""


class ResolvedPoint(Record):
    """A disagreement that was weighed, as the composer tells it."""

    subject: str
    winner: str
    """The claim that holds, in the winner's own words."""
    loser: str
    winner_title: str
    loser_title: str
    reason: str
    preference: str
    """The reason as the sentence that ``reasoning`` begins with."""
    decided: bool
    """False when the margin was too small: both sides are shown."""
    starts: date | None = None
    """From which day on the loser holds, where the winner holds until then: it is told as what comes."""


class ComposeRequest(Record):
    """Everything the final answer may be made of."""

    query: str
    language: Language
    findings: tuple[Finding, ...]
    """In plan order."""
    read: tuple[Quote, ...] = ()
    """The best passages of all that was read, each with its likeliest piece, best first; for who writes from them."""
    asked: str = ""
    """The asker's own words."""
    edits: bool = False
    """See `Classification.edits`."""
    history: tuple[Message, ...] = ()
    """The conversation the question stands in, oldest first."""
    today: date | None = None
    department: str = ""
    """The asker's."""
    instructions: str = ""
    """How the agents that were asked shall answer; ours."""
    summaries: tuple[str, ...] = ()
    computations: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    """Finished sentences: computed amounts with their formula, and why a tool could not do its part."""
    conflicts: tuple[ResolvedPoint, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    """What the answer may cite; ``[1]`` in its text names the first."""
    failed_agents: tuple[str, ...] = ()
    is_strict: bool = False
    """See `AnswerRequest`."""
    max_follow_up_questions: int = 5


class Composition(Record):
    """The text of the answer and what goes with it."""

    answer: str
    outcome: Outcome
    reasoning: str = ""
    confidence: float = Field(ge=0, le=1, default=0.0)
    follow_up_questions: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] | None = None
    """What its numbers cite, in their order; None = the request's."""
    support: tuple[Support, ...] | None = None
    """Of each statement, where a model wrote it."""


class Supporter(Protocol):
    """Reads whether passages say what a statement says."""

    async def supports(self, statement: str, passages: Sequence[Passage]) -> Sequence[float]:
        """How likely passages say what a statement says (0–1): taken together, then each by itself. Does not block."""


class Reasoner(Protocol):
    """A mind. Implementations never raise for odd input; they say less instead."""

    @property
    def identity(self) -> str:
        """Which mind this is, its model and the version of its rules or prompts: others may answer differently."""

    async def classify(
        self, query: str, history: Sequence[Message], agents: Sequence[AgentOffer], *, today: date | None = None,
        department: str = "",
    ) -> Classification:  # fmt: skip
        """Tell chitchat from questions, resolve references to the history (recalled messages stand in front), split
        into sub-queries; with `today` also read whether the rules of another day are asked for. `department` is
        the asker's."""

    async def plan(self, request: PlanRequest) -> Plan:
        """Choose agents, queries and tools and order them in tiers. Uses only agents and tools on offer."""

    async def review_plan(self, plan: Plan, request: PlanRequest) -> Review:
        """Whether the plan covers the question with what is on offer."""

    async def review_finding(self, finding: Finding, language: Language) -> Review:
        """Whether a finding is grounded in its quotes and says something about its query."""

    async def answer(self, request: AnswerRequest) -> Finding:
        """Answer one query from its passages with exact quotes, or say that nothing was found."""

    async def summarise(self, query: str, findings: Sequence[Finding], language: Language) -> Summary:
        """The gist of several findings for one question."""

    async def arguments(
        self, tool: str, query: str, findings: Sequence[Finding], language: Language,
        schema: Mapping[str, Any] | None = None, refused: str = "",
    ) -> Arguments:  # fmt: skip
        """Arguments for a tool, each traced to the question or a quote; findings are data, they fill values only.
        `schema` is the JSON schema of the arguments, None for tools whose arguments a mind knows; `refused`: what was
        tried before and what was wrong with it, data as well."""

    def compose(self, request: ComposeRequest) -> AsyncIterator[str | Composition]:
        """Stream the answer's text in pieces; the last item is the whole `Composition`."""
