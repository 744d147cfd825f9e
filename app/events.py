"""Facts about a task, appended to the journal with a gapless ``seq``; the only thing that is streamed.

A closed union: ``type`` is the SSE event name, the record is its JSON data.
"""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter, model_serializer, model_validator

from app.domain.record import Record


class TaskAvailable(Record):
    """A question was accepted. The first event of every run: names the task and its session."""

    type: Literal["task_available"] = "task_available"
    task_id: UUID
    session_id: UUID
    query: str


class StartProcess(Record):
    """An agent takes the floor."""

    type: Literal["start_process"] = "start_process"
    agent: str
    active: Literal[True] = True
    """The agent's speaking status from now on."""


class EndProcess(Record):
    """An agent yields the floor."""

    type: Literal["end_process"] = "end_process"
    agent: str
    active: Literal[False] = False
    """The agent's speaking status from now on."""


class PlanReady(Record):
    """The plan of §2.1; nothing was executed yet."""

    type: Literal["plan_ready"] = "plan_ready"
    plan: dict[str, Any]


class Interrupt(Record):
    """The run waits for a person, who approves the plan or refuses it. Nobody works on it before that, and it is
    cancelled when nobody decides; a decision is told as `VerificationDone` or `RenavigateRequest` of the planner."""

    type: Literal["interrupt"] = "interrupt"
    plan: dict[str, Any]
    """As in `PlanReady`."""
    attempt: int
    """Names this question: a decision may say that it answers this one and no later one."""
    expires_at: datetime


class Progress(Record):
    """The seed's progress object (§9.2): ``output`` holds processing_status, progress_percentage, progress_message …"""

    type: Literal["progress"] = "progress"
    node: str
    output: dict[str, Any]


class AgentTask(Record):
    """A step was given to an agent (topic ``{pool}_task``)."""

    type: Literal["agent_task"] = "agent_task"
    task_id: UUID
    agent: str
    node_id: str
    tool: str
    attempt: int
    agent_type: str = ""
    """Which of the agent's types the tool makes it (``sum``); empty where it has none."""
    token_limit: int | None = None
    """Tokens the instruction may have."""
    deadline: datetime | None = None
    context_hash: str | None = None
    """Names the context the agent restores; see `PrivateContext`."""


class ToolRequest(Record):
    """A tool is about to be called."""

    type: Literal["tool_request"] = "tool_request"
    agent: str
    node_id: str
    tool: str
    input_hash: str
    task_id: UUID | None = None
    """The step's; None in journals of old."""


class ToolResponse(Record):
    """A tool answered or failed."""

    type: Literal["tool_response"] = "tool_response"
    agent: str
    node_id: str
    tool: str
    status: Literal["ok", "failed", "timeout"]
    duration_ms: int
    output_hash: str | None
    task_id: UUID | None = None
    """The step's; None in journals of old."""


class AgentResult(Record):
    """A step ended (topic ``{pool}_result``)."""

    type: Literal["agent_result"] = "agent_result"
    task_id: UUID
    agent: str
    node_id: str
    status: Literal["completed", "failed"]
    answer: str
    agent_type: str = ""
    """As in the step's `AgentTask`."""


class Heartbeat(Record):
    """The task is still being worked on."""

    type: Literal["heartbeat"] = "heartbeat"
    attempt: int


class Redispatched(Record):
    """The task was given out again because its holder fell silent; text streamed before this is void."""

    type: Literal["redispatched"] = "redispatched"
    attempt: int


class VerificationDone(Record):
    """A result was reviewed and accepted."""

    type: Literal["verification_done"] = "verification_done"
    node_id: str
    confidence: float


class RenavigateRequest(Record):
    """A plan or result was refused; the leader is asked for another."""

    type: Literal["renavigate_request"] = "renavigate_request"
    node_id: str
    reason: str


class NavigationError(Record):
    """A step failed for good."""

    type: Literal["navigation_error"] = "navigation_error"
    node_id: str
    error_code: str
    message: str


class Handover(Record):
    """The floor passes from one agent to another."""

    type: Literal["handover"] = "handover"
    from_agent: str
    to_agent: str
    reason: str
    """``better_match``, ``no_evidence`` or ``next_stage``: the plan's next tier is another's."""
    speaking: dict[str, bool] = {}
    """Speaking status of both from now on."""

    @model_validator(mode="before")
    @classmethod
    def _tell_who_speaks(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("speaking"):
            return value
        return {**value, "speaking": {str(value.get("from_agent")): False, str(value.get("to_agent")): True}}


class ConflictResolved(Record):
    """Sources disagreed and were weighed."""

    type: Literal["conflict_resolved"] = "conflict_resolved"
    conflicts: list[dict[str, Any]]
    policy: str


class TextDelta(Record):
    """A piece of the answer's text, in order."""

    type: Literal["text_delta"] = "text_delta"
    text: str
    agent: str | None = None
    """Who speaks: the one agent whose answer this is, ``orchestrator`` when several have a part in it."""
    metadata: dict[str, bool] = {}
    """The seed's ``{"streaming": true}`` on pieces that are told while the text is written."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_said(self, handler: Any) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {name: value for name, value in written.items() if name in ("type", "text") or value}


class FinalReport(Record):
    """Terminal: the final answer (§5) with session_id, task_id and outcome."""

    type: Literal["final_report"] = "final_report"
    answer: dict[str, Any]
    report: str = ""
    """Markdown of what the pools computed, a section a pool; empty when none was asked."""
    sources: list[Any] = []
    """Of the report; what is computed has none."""


class TaskFailed(Record):
    """Terminal: the error answer (§6) with session_id and task_id."""

    type: Literal["task_failed"] = "task_failed"
    answer: dict[str, Any]


class TaskCancelled(Record):
    """Terminal: somebody stopped the task."""

    type: Literal["task_cancelled"] = "task_cancelled"
    reason: str


Event = Annotated[
    TaskAvailable | StartProcess | EndProcess | PlanReady | Interrupt | Progress | AgentTask | ToolRequest
    | ToolResponse | AgentResult | Heartbeat | Redispatched | VerificationDone | RenavigateRequest | NavigationError
    | Handover | ConflictResolved | TextDelta | FinalReport | TaskFailed | TaskCancelled,
    Field(discriminator="type"),
]  # fmt: skip

TERMINAL_EVENTS = frozenset({"final_report", "task_failed", "task_cancelled"})
"""Exactly one of these ends every root task."""
RESTING_EVENTS = TERMINAL_EVENTS | {"interrupt"}
"""Behind one of these nothing follows by itself: the run has ended, or waits for a person."""

_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


def read_event(value: Any) -> Event:
    """The event a stored JSON object stands for; raises ``ValidationError`` when it is none."""
    return _EVENTS.validate_python(value)


class JournalEntry(Record):
    """An event at its place in a task's journal."""

    seq: int
    """1, 2, 3 … per root task, without gaps."""
    event: Event

    @property
    def is_terminal(self) -> bool:
        """Whether this entry ends the journal."""
        return self.event.type in TERMINAL_EVENTS
