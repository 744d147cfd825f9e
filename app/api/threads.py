"""Conversations that are named by the client: a thread is one of the caller's sessions, opened with its first question.

Its history is ours; earlier messages a client sends along are not read.
"""

from datetime import date
from typing import Literal
from uuid import UUID, uuid5

from pydantic import ValidationError

from app.api.openai_compat.shapes import Received
from app.api.problem import describe_validation
from app.api.schemas import ChatBody, Label
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode


class Wishes(Received):
    """How a question is to be answered."""

    mode: Literal["auto", "department", "deep"] = "auto"
    agent: Label | None = None
    """Ask this department agent alone."""
    as_of: date | None = None
    """Answer by the rules in force on this day."""
    approve_plan: bool = False
    """With ``mode: deep``: the run waits until its plan was approved."""


def session_of(caller: Principal, thread_id: str) -> UUID:
    """The session of a thread: the one of this id, else always the same one for the same caller and name."""
    try:
        return UUID(thread_id)
    except ValueError:
        return uuid5(caller.user_id, thread_id)


def question_body(question: str, session_id: UUID | None, wishes: Wishes) -> ChatBody:
    """The question as the native API takes it. Raises `AppError` (422)."""
    is_narrow = wishes.agent is not None and wishes.mode == "auto"
    try:
        return ChatBody(
            query=question, session_id=session_id, as_of=wishes.as_of, approve_plan=wishes.approve_plan,
            agents=None if wishes.agent is None else {wishes.agent: {}},
            mode="department" if is_narrow else wishes.mode,
        )  # fmt: skip
    except ValidationError as invalid:
        raise AppError(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()), status=422) from None
