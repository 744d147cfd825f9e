"""The execution plan: numbered tiers run in order, the steps inside one tier run in parallel.

The JSON is the seeds' (§2.1 of the multi-agent flow); §9.1's spelling, one object a tier, is read as well.
"""

from collections import Counter
from typing import Any, Literal, Self

from pydantic import Field, model_serializer, model_validator

from app.domain.principal import Scope
from app.domain.record import Record

StepStatus = Literal["pending", "in_progress", "completed", "failed", "cancelled"]

ORCHESTRATOR = "orchestrator"
"""The pseudo agent that merges the agents' findings in the last tier."""
RAG_TOOL, SUMMARY_TOOL, MATH_TOOL, LOG_TOOL = "rag_tool", "summary_tool", "math_tool", "log_tool"
UNIT_TOOL, FILES_TOOL, CHANGES_TOOL = "unit_tool", "files_tool", "changes_tool"
WEB_TOOL, WIKIPEDIA_TOOL, TRANSCRIPT_TOOL = "web_tool", "wikipedia_tool", "transcript_tool"
PYTHON_TOOL, SEARCH_TOOL = "python_tool", "search_tool"
OUTWARD_TOOLS = frozenset({WEB_TOOL, WIKIPEDIA_TOOL, TRANSCRIPT_TOOL, SEARCH_TOOL})
"""Tools whose queries others may read."""


class Step(Record):
    """One tool call of one agent."""

    agent: str
    tool: str
    purpose: str | None = None
    """What the step is for, in the asker's language; shown in progress messages when present."""
    message: str
    status: StepStatus = "pending"

    @property
    def label(self) -> str:
        """What a person reads while the step runs."""
        return self.purpose or self.message

    @model_serializer(mode="wrap")
    def _without_empty_purpose(self, handler: Any) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if self.purpose is None:
            written.pop("purpose", None)
        return written


class Planning(Record):
    """Tiers in running order."""

    tiers: tuple[tuple[Step, ...], ...]
    aggregate_status: StepStatus = "pending"

    @model_validator(mode="before")
    @classmethod
    def _read_both_spellings(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "tasks" not in value:
            return value
        numbered = {int(number): steps for group in value["tasks"] for number, steps in group.items()}
        if sorted(numbered) != list(range(1, len(numbered) + 1)):
            raise ValueError("tiers are numbered 1, 2, 3 … without gaps")
        rest = {key: item for key, item in value.items() if key != "tasks"}
        return {"tiers": [numbered[number] for number in sorted(numbered)], **rest}

    @model_serializer(mode="plain")
    def _write_seed_spelling(self) -> dict[str, Any]:
        tasks = {str(number): [step.model_dump() for step in tier] for number, tier in enumerate(self.tiers, 1)}
        return {"tasks": [tasks], "aggregate_status": self.aggregate_status}


class ExecutionFlow(Record):
    """How the plan runs and how disagreement will be settled (one sentence for people)."""

    planning: Planning
    conflict_resolution: str


class AgentPlan(Record):
    """What one agent is asked: its queries, numbered from 1, and the tools it may use."""

    queries: tuple[str, ...]
    tools: tuple[str, ...]
    sequential_tools: tuple[str, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_numbered(cls, value: Any) -> Any:
        if isinstance(value, dict) and any(isinstance(query, dict) for query in value.get("queries", ())):
            numbered = [(int(number), text) for query in value["queries"] for number, text in query.items()]
            return {**value, "queries": [text for _, text in sorted(numbered)]}
        return value

    @model_serializer(mode="plain")
    def _write_numbered(self) -> dict[str, Any]:
        queries = [{str(number): query} for number, query in enumerate(self.queries, 1)]
        written: dict[str, Any] = {"queries": queries, "tools": list(self.tools)}
        if self.sequential_tools is not None:
            written["sequential_tools"] = list(self.sequential_tools)
        return written


class PlanPermission(Record):
    """The scopes the plan was made for."""

    user_access: tuple[Scope, ...]


class Plan(Record):
    """Semantic routing of a task (§2.1)."""

    original_query: str
    refined_query: str
    agents: dict[str, AgentPlan]
    permission: PlanPermission | None = None
    execution_flow: ExecutionFlow

    @property
    def tiers(self) -> tuple[tuple[Step, ...], ...]:
        """The steps, tier by tier."""
        return self.execution_flow.planning.tiers

    @property
    def steps(self) -> tuple["PlannedStep", ...]:
        """All steps in running order with their numbers and queries: the n-th answering step of an agent takes its n-th
        query, the last one all that remain; other tools see all."""
        answering = Counter(step.agent for tier in self.tiers for step in tier if answers_a_query(step.tool))
        done: Counter[str] = Counter()
        numbered: list[PlannedStep] = []
        for tier_number, tier in enumerate(self.tiers, 1):
            for step in tier:
                asked = self.agents[step.agent].queries if step.agent in self.agents else (self.refined_query,)
                queries, node_id = tuple(enumerate(asked, 1)), f"{step.agent}#{step.tool.removesuffix('_tool')}"
                if answers_a_query(step.tool):
                    first, total = done[step.agent], answering[step.agent]
                    done[step.agent] += 1
                    if total > 1:
                        node_id = f"{node_id}:{first + 1}"
                    queries = queries[first:] if first + 1 == total else queries[first : first + 1]
                numbered.append(
                    PlannedStep(number=len(numbered) + 1, tier=tier_number, step=step, queries=queries, node_id=node_id)
                )
        return tuple(numbered)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not any(self.tiers):
            raise ValueError("a plan needs at least one step")
        return self


class ChitchatPlan(Record):
    """The other form of §2.1: no plan, a friendly reply."""

    refined_query: str = ""
    is_chitchat: Literal[True] = True
    chitchat_response: str


class PlannedStep(Record):
    """A step with what its position in the plan says about it."""

    number: int = Field(ge=1)
    tier: int = Field(ge=1)
    step: Step
    queries: tuple[tuple[int, str], ...]
    """(1-based index in the agent's queries, text): the one question a retrieval answers, or all of them."""
    node_id: str
    """The seed's name of this step in ``flow_action``: ``general#rag``, ``hr#rag:2``, ``hr#summary``."""


RETRIEVAL_TOOLS = (RAG_TOOL, LOG_TOOL, CHANGES_TOOL)
"""Tools the company's own sources are read with: an agent that cannot has failed, others only explain themselves."""
_DIGESTING_TOOLS = (SUMMARY_TOOL, MATH_TOOL)


def answers_a_query(tool: str) -> bool:
    """Whether a tool answers one query; the n-th such step of an agent takes the agent's n-th. The others work on what
    was found before."""
    return tool not in _DIGESTING_TOOLS
