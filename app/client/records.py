"""What the client gives back."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.answer import ErrorAnswer, FinalAnswer, Outcome, in_seed_order
from app.domain.documents import DocumentStatus
from app.domain.record import Record
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

    @property
    def ending(self) -> dict[str, Any]:
        """The answer (§5) or error answer (§6) of a run's last event; of every other one nothing."""
        match self.type:
            case "final_report" | "task_failed":
                return in_seed_order(self.data["answer"])
            case "task_cancelled":
                return ErrorAnswer.bare(ErrorCode.TASK_CANCELLED.value, str(self.data["reason"])) | {
                    "outcome": "failed"
                }
            case _:
                return {}


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
    """How a document ended that was brought in."""

    document_id: UUID
    version: int | None = None
    """None = nothing had changed, or there is none."""
    status: DocumentStatus = DocumentStatus.FAILED
    code: str = ""
    """Why it failed or is partial, or ``UNCHANGED``."""
    detail: str = ""
    """What to do about it."""
    chunks: int = 0
    embedded: int = 0
    """Passages the model had to be asked for."""
    planted: int = 0
    """Sentences left out because they give orders to whatever answers."""


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
