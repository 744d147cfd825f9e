"""What is said to the caller: agent outputs, the final answer, its trace and its metrics (§3–§7 of the flow); written
with ``to_json``, which leaves out what nobody set."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, ValidationError

from app.domain.knowledge import Evidence, SearchPlan
from app.domain.record import Record


def iso_utc(moment: datetime) -> str:
    """The seed's timestamp spelling: UTC, whole seconds, ``2025-09-09T09:00:00Z``."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


Timestamp = Annotated[datetime, PlainSerializer(iso_utc, when_used="json")]
Outcome = Literal["answered", "partial", "conflict", "not_found", "chitchat", "refused", "failed"]
Durability = Literal["pending", "durable"]
FlowStatus = Literal["done", "failed", "skipped", "handled"]
Completeness = Literal["comprehensive", "partial_with_context", "partial", "none"]
Recency = Literal["within_30_days", "within_90_days", "older", "unknown"]
DomainMatch = Literal["perfect", "general", "none"]


def to_json(record: Record) -> dict[str, Any]:
    """JSON-ready dict of a record, without the optional fields nobody set."""
    return record.model_dump(mode="json", exclude_unset=True)


class ToolTrace(Record):
    """One tool call as the agent's output reports it."""

    tool: str
    status: Literal["ok", "failed", "timeout", "skipped"]
    duration_ms: int
    input_hash: str | None = None
    output_hash: str | None = None


class QueryAnswer(Record):
    """An agent's answer to one of its queries."""

    index: int
    query: str
    context: str
    answer: str
    evidence: tuple[Evidence, ...]


class AgentOutput(Record):
    """Everything one agent found (§3)."""

    agent: str
    queries: tuple[QueryAnswer, ...]
    tool_trace: tuple[ToolTrace, ...]


class FlowAction(Record):
    """One node visit of the run; which optional fields are set depends on `type`."""

    order: int = Field(ge=1)
    node_id: str
    type: Literal[
        "router", "permission", "agent_tool", "resolver", "formatter", "error_handler", "chitchat", "cache", "handover",
        "orchestrator", "planner", "researcher", "expert", "critic", "finalizer",
    ]  # fmt: skip
    agent: str | None = None
    tool: str | None = None
    query_index: int | None = None
    status: FlowStatus
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    duration_ms: int | None = None
    input_hash: str | None = None
    output_hash: str | None = None
    depends_on: tuple[str, ...] | None = None
    policy: str | None = None
    resolved_conflicts: int | None = None
    metadata: dict[str, Any] | None = None
    details: dict[str, Any] | None = None
    error_details: dict[str, Any] | None = None


class ModelUsage(Record):
    """What was asked of language models."""

    calls: int
    """Requests, failed ones included."""
    prompt_tokens: int
    completion_tokens: int
    cost: float
    """In the operator's currency, by the prices of the settings."""
    models: tuple[str, ...]


class ExecutionMetadata(Record):
    """What the run did, in numbers."""

    total_duration_ms: int
    agents_invoked: tuple[str, ...]
    tools_executed: tuple[str, ...]
    total_queries: int
    conflict_resolution_applied: bool
    department_permission_filtering: bool
    accessible_departments: tuple[str, ...]
    degraded: tuple[str, ...] | None = None
    """What was done in a lesser way and why; absent when nothing was."""
    as_of: date | None = None
    """The day whose documents were read; absent when those of today were."""
    cached: bool | None = None
    """Whether the answer was remembered: agents, tools and queries are those that once found it. Absent when not."""
    model_usage: ModelUsage | None = None
    """Absent when no model was asked."""
    searches: tuple[SearchPlan, ...] | None = None
    """How passages were searched for, a plan a query; absent when nothing was."""


class Support(Record):
    """What a statement of an answer rests on, where a model wrote it."""

    statement: str
    kind: Literal["quote", "derivation", "draft", "unsupported"]
    """``quote``: a cited source says so; ``derivation``: computed anew from figures that sources state;
    ``draft``: wording of a letter or a rewriting that the asker wanted, or the asker's own statement; ``unsupported``:
    nothing that was read says so, and the text marks it."""
    sources: tuple[int, ...] = ()
    """The numbers it cites, from 1 in the order of ``evidence``."""


class FinalAnswer(Record):
    """The one answer of a run (§5)."""

    answer: str
    evidence: tuple[Evidence, ...]
    reasoning: str
    confidence_score: float = Field(ge=0, le=1)
    follow_up_questions: tuple[str, ...]
    flow_action: tuple[FlowAction, ...]
    execution_metadata: ExecutionMetadata
    support: tuple[Support, ...] | None = None
    """Of each statement that a model wrote; absent where documents are quoted."""
    durability: Durability | None = None
    """``pending`` while the answer waits for the database to come back; absent = it is stored there."""


class PartialResult(Record):
    """How one agent fared in a run that failed (§6)."""

    status: Literal["success", "failed"]
    answer: str | None = None
    error: str | None = None


class ErrorAnswer(Record):
    """The answer of a run that failed, with what could be saved of it (§6)."""

    error: Literal[True] = True
    error_code: str
    error_message: str
    partial_results: dict[str, PartialResult]
    fallback_answer: str
    flow_action: tuple[FlowAction, ...]
    durability: Durability | None = None
    """As in the final answer."""

    @classmethod
    def bare(cls, code: str, message: str) -> dict[str, Any]:
        """The answer of a run of which nothing could be saved, as JSON."""
        nothing: dict[str, Any] = {"partial_results": {}, "fallback_answer": "", "flow_action": ()}
        return to_json(cls(error=True, error_code=code, error_message=message, **nothing))


class ToolUsage(Record):
    """Calls of one tool."""

    calls: int
    avg_time_ms: int


class ContentQuality(Record):
    """How good the sources of one agent were."""

    completeness: Completeness
    recency: Recency
    domain_match: DomainMatch


class PerformanceMetrics(Record):
    """Figures of one run (§7), or of many when aggregated."""

    query_processing_time_ms: int
    agent_execution_times: dict[str, int]
    tool_usage_stats: dict[str, ToolUsage]
    conflict_resolution_time_ms: int
    cache_hit_ratio: float = Field(ge=0, le=1)
    """Hits a lookup over every cache the run asked: whole answers, search results, question vectors."""
    content_quality_metrics: dict[str, ContentQuality]
    """Keyed ``hr_agent``, ``general_agent`` … as in the seed."""


class ResolutionRules(Record):
    """The published weights of conflict resolution (§4.1) and the strategy that uses them."""

    priority_by_domain: dict[str, str] = {
        "hr_policies": "hr_agent",
        "it_security": "it_agent",
        "general_knowledge": "general_agent",
    }
    priority_by_scope: dict[str, float] = {"private": 0.9, "internal": 0.7, "public": 0.5}
    priority_by_recency: dict[str, float] = {"within_30_days": 0.9, "within_90_days": 0.7, "older": 0.5}
    resolution_strategy: Literal["weighted_scoring"] = "weighted_scoring"


_OWN_FIELDS = ("session_id", "task_id", "outcome")


def in_seed_order(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer with its fields in the order of §5 or §6, ids and outcome last: jsonb does not keep the order."""
    own = {name: answer[name] for name in _OWN_FIELDS if name in answer}
    body = {name: item for name, item in answer.items() if name not in own}
    record = ErrorAnswer if body.get("error") else FinalAnswer
    try:
        return {**to_json(record.model_validate(body)), **own}
    except ValidationError:
        return {**body, **own}
