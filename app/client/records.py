"""What the client gives back."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.answer import FinalAnswer, Outcome
from app.domain.documents import DocumentStatus
from app.domain.record import Record
from app.domain.tasks import Message
from app.errors import AppError, ErrorCode


class Answer(FinalAnswer):
    """The answer of a run, and where it is kept."""

    outcome: Outcome
    session_id: UUID
    """To go on with the conversation."""
    task_id: UUID


class Streamed(NamedTuple):
    """One event of a run."""

    seq: int
    type: str
    """``text_delta``, ``progress``, ``plan_ready``, ``interrupt`` …; the last one is ``final_report``, ``task_failed``
    or ``task_cancelled``."""
    data: dict[str, Any]

    @property
    def text(self) -> str:
        """The piece of the answer it brings; mostly none."""
        return str(self.data["text"]) if self.type == "text_delta" else ""


class WaitingPlan(Record):
    """A plan that waits for a decision; nobody works on the question before that."""

    task_id: UUID
    plan: dict[str, Any]
    """§2.1 of the flow: agents, queries, tiers of steps."""
    attempt: int
    """Names this plan: a decision may say that it is about this one and no later one."""
    expires_at: datetime
    """The question is cancelled when nobody decides before."""


class Ingested(Record):
    """A document that was brought in."""

    document_id: UUID
    task_id: UUID
    version: int | None
    status: DocumentStatus


class Conversation(Record):
    """A session of the caller."""

    session_id: UUID
    title: str
    status: str
    active_agent: str | None = None
    messages: tuple[Message, ...] = ()
    """Oldest first; empty in listings."""


class AskFailed(AppError):
    """A run that gave no answer; `answer` is the error answer (§6), with what could be saved of it."""

    def __init__(self, code: ErrorCode, detail: str, answer: dict[str, Any]):
        super().__init__(code, detail, status=502)
        self.answer = answer


class IngestFailed(AppError):
    """A document that could not be brought in; the message says why."""


def code_named(name: str) -> ErrorCode:
    """The error code of that name; ``INTERNAL`` for one this release does not know."""
    try:
        return ErrorCode(name)
    except ValueError:
        return ErrorCode.INTERNAL
