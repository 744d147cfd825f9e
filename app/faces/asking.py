"""Read questions as clients of other protocols write them."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.api.schemas import ChatBody, Label, Text
from app.errors import AppError, ErrorCode, describe_validation

QUESTION_MISSING = "messages: the last one must be the user's and hold text only; bring files by POST /api/v1/files."
ModelT = TypeVar("ModelT", bound=BaseModel)


class Received(BaseModel):
    """What a client sends; what is not named here has no meaning for us and is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class TextPart(Received):
    """A piece of a message's text."""

    type: Literal["text"]
    text: Text


class OtherPart(Received):
    """A piece of a message that cannot be read here: an image, a sound, a file."""

    type: str = Field(max_length=64)


class Wishes(Received):
    """How a question is to be answered."""

    mode: Literal["auto", "department", "deep"] = "auto"
    agent: Label | None = None
    """Ask this department agent alone."""
    as_of: date | None = None
    """Answer by the rules in force on this day."""
    approve_plan: bool = False
    """With ``mode: deep``: the run waits until its plan was approved."""


def validated(model: type[ModelT], value: Any) -> ModelT:
    """What a client sent, as a record. Raises `AppError` (422) that names the fields."""
    try:
        return model.model_validate(value)
    except ValidationError as invalid:
        raise AppError(ErrorCode.PAYLOAD_INVALID, describe_validation(invalid.errors()), status=422) from None


def text_of(parts: Iterable[TextPart | OtherPart]) -> str:
    """The text of a message's parts."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def question_of(role: str, content: str | tuple[TextPart | OtherPart, ...] | Mapping[str, Any] | None) -> str:
    """The text of a user's message. Raises `AppError` (422) for anything else, also for one that brings more."""
    parts = content if isinstance(content, tuple) else None
    if role == "user" and isinstance(content, str):
        return content
    if role != "user" or parts is None or any(isinstance(part, OtherPart) for part in parts):
        raise AppError(ErrorCode.PAYLOAD_INVALID, QUESTION_MISSING, status=422)
    return text_of(parts)


def question_body(question: str, session_id: UUID | None, wishes: Wishes) -> ChatBody:
    """The question as the native API takes it. Raises `AppError` (422)."""
    is_narrow = wishes.agent is not None and wishes.mode == "auto"
    return validated(ChatBody, {
        "query": question, "session_id": session_id, "as_of": wishes.as_of, "approve_plan": wishes.approve_plan,
        "agents": None if wishes.agent is None else {wishes.agent: {}},
        "mode": "department" if is_narrow else wishes.mode,
    })  # fmt: skip
