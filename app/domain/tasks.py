"""Units of work and conversations as they are stored."""

import hashlib
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from app.domain.deep import AnswerStyle
from app.domain.principal import Principal
from app.domain.record import Record


class TaskStatus(StrEnum):
    """pending → in_progress → completed | failed | cancelled; nothing leaves the last three. A run that is parked, to
    wait for a person, goes back to pending."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether the task will never change again."""
        return self in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


TaskKind = Literal["chat", "step", "ingest"]


class NewTask(Record):
    """What must be known to register a task."""

    task_id: UUID
    session_id: UUID
    parent_task_id: UUID | None = None
    root_task_id: UUID
    """The chat turn this belongs to; its own id for a root task. Events are numbered per root task."""
    kind: TaskKind
    title: str
    description: str = ""
    assignee_agent_id: str | None = None
    request: dict[str, Any] = {}
    """JSON the handler needs: the chat request of a root task, the planned step of a child."""
    token_limit: int | None = None
    """Tokens the description may have, for a step: its compact instruction."""
    deadline: datetime | None = None


class PrivateContext(Record):
    """What an agent needs to carry out an instruction: kept in ``agent_contexts`` of its session, named by its hash."""

    message: str
    queries: tuple[tuple[int, str], ...]
    refined_query: str
    language: Literal["vi", "en"]
    as_of: date | None = None

    @property
    def context_hash(self) -> str:
        """16 hex digits; equal contexts have equal hashes."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class ClaimedStep(Record):
    """A step somebody took, as it was dispatched."""

    attempt: int
    instruction: str
    context: PrivateContext | None
    """Restored by the hash in the step's request; None when the session has forgotten it."""


class TaskHead(Record):
    """What is told of a task to whoever may know of it."""

    task_id: UUID
    session_id: UUID
    root_task_id: UUID
    kind: TaskKind
    status: TaskStatus
    attempt: int
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    waiting_for: Literal["approval"] | None = None
    """The plan waits for ``POST /tasks/{task_id}/approve``; the task is pending, and nobody works on it."""


class TaskState(TaskHead):
    """What the row of a task and its owner's view of it have in common."""

    parent_task_id: UUID | None
    title: str
    description: str
    plan: dict[str, Any] | None
    """§2.1 of the flow: agents, queries, tiers of steps."""
    result: dict[str, Any] | None
    """The answer of §5 or the error answer of §6; None before the end, and of a run that was stopped."""
    flow_action: list[dict[str, Any]] | None
    metadata: dict[str, Any]
    error_message: str | None
    expires_at: datetime | None = None
    """When a parked run stops waiting, or the time of a handed out step is over."""


class Task(TaskState):
    """A task row. `attempt` is the fence: a writer must name the attempt it was claimed with."""

    assignee_agent_id: str | None
    request: dict[str, Any]
    claimed_by: str | None
    lease_until: datetime | None
    deadline: datetime | None
    parked_attempt: int = 0
    """The attempt that parked the run last; 0 = none did."""
    principal: Principal | None
    """The caller a root task runs as; None on rows where it was not asked for."""
    first_event: dict[str, Any] | None = None
    """Of its journal; known where it was claimed."""


class HandedStep(ClaimedStep):
    """A step of a remote agent as a worker took it up."""

    task: Task
    """With the principal of the run: the worker has exactly the asker's rights."""
    root_attempt: int
    """The attempt at the run that handed it out; the step is void once another holds the run."""
    order: str
    """What the leader ordered, as it was packed."""
    seconds_left: float
    """Until the time given for the step is over, by the database's clock."""


class StepSight(Record):
    """How a handed out step stood when its leader looked."""

    status: TaskStatus
    attempt: int
    is_silent: bool
    """Somebody began it and gave no sign of life for a whole lease."""
    entries: tuple[tuple[int, int, dict[str, Any]], ...]
    """(seq, attempt that wrote it, event) of its own journal, in order."""
    has_more: bool = False


class Message(Record):
    """One turn of a conversation, oldest first in a history."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime | None = None
    meaning: str = ""
    """What a question was understood as, complete on its own; empty where that is not known."""
    task_id: UUID | None = None
    is_recalled: bool = False
    """Brought back from further up the conversation, because it bears on what is asked now."""


Origin = Literal["page", "api"]
"""Made by a person (page, command line), or by a program."""


class Session(Record):
    """A conversation as listed to its owner."""

    session_id: UUID
    title: str
    """The first question, cut to 200 characters."""
    status: str
    active_agent: str | None
    summary: str | None
    created_at: datetime
    updated_at: datetime
    messages: tuple[Message, ...] = ()
    speaking: tuple[str, ...] = ()
    """Agents that have the floor at this moment; empty when nothing runs, and in listings."""
    pinned: bool = False
    archived: bool = False
    origin: Origin = "page"
    snippet: str | None = None
    """Of a search: where the words stand."""


class Recollection(Record):
    """What is known of a conversation when its next question comes."""

    history: tuple[Message, ...] = ()
    """Oldest first. Recalled turns stand before the last ones, and before those the summary, as the assistant's."""
    active_agent: str | None = None
    """Whose answer counted last; follow-up questions go there first."""


class RememberedTurn(Record):
    """A turn as the memory of its session keeps it."""

    task_id: UUID
    agent: str | None
    question: str
    """Complete on its own where that is known."""
    gist: str
    """Of the answer, a few sentences; may be empty."""


class ChatRequest(Record):
    """A chat turn as it is stored in its root task (§1.1 of the flow, already checked against the token)."""

    query: str
    history_chat: tuple[Message, ...] = ()
    """Given by the caller; the session's own history is used when this is empty."""
    agents: dict[str, Any] | None = None
    """The optional narrowing of agents and tools, as sent."""
    mode: Literal["auto", "department", "deep"] = "auto"
    as_of: date | None = None
    files: tuple[UUID, ...] = ()
    """Files the asker attached, in order; checked to be the asker's own."""
    language: Literal["vi", "en"] | None = None
    """Forces the language of the answer; None = the language of the question."""
    answer_style: AnswerStyle = "sentence"
    approve_plan: bool = False
    """Whether a deep run waits for a person's approval before its plan runs."""


class TaskView(TaskState):
    """A task as its owner sees it."""

    agent: str | None
    children: tuple["TaskView", ...] = ()
    """One task a plan step, in the order they were registered."""
