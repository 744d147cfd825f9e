"""A run as AG-UI's clients ask for it. State, tools and context they bring have no meaning here and are ignored."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.openai_compat.shapes import OtherPart, Received, TextPart
from app.api.schemas import Text
from app.api.threads import Wishes

_NAME = Field(min_length=1, max_length=200)


class AskedMessage(Received):
    """The last message of a conversation."""

    role: Literal["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]
    content: Annotated[str, Text] | tuple[TextPart | OtherPart, ...] | dict[str, Any] | None = None

    @property
    def question(self) -> str | None:
        """The text of a user's message; None for anything else, also for one that brings more than text."""
        if self.role != "user":
            return None
        if isinstance(self.content, str):
            return self.content
        if not isinstance(self.content, tuple) or any(isinstance(part, OtherPart) for part in self.content):
            return None
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


class ResumeEntry(Received):
    """The answer to one interrupt."""

    interruptId: str = Field(max_length=200)
    status: Literal["resolved", "cancelled"]
    payload: Any = None
    """``{"approved": true}``, or ``{"approved": false, "feedback": "…"}`` for another plan."""


class RunInput(Received):
    """AG-UI's ``RunAgentInput``."""

    threadId: Annotated[str, _NAME]
    """The conversation: a session's id, or any name of your own."""
    runId: Annotated[str, _NAME]
    """Names the run: the same id again follows the same run from its beginning. A task's id follows that task."""
    messages: tuple[dict[str, Any], ...] = Field((), max_length=10_000)
    """The last one is the question and must be the user's; the history is kept here."""
    forwardedProps: Any = None
    """May hold ``mode``, ``agent``, ``as_of`` and ``approve_plan``."""
    resume: tuple[ResumeEntry, ...] | None = Field(None, max_length=1)
    """The decision about a plan an earlier run stopped at."""

    @property
    def wishes(self) -> Wishes:
        """What the caller asked for besides the question. Raises ``ValidationError``."""
        return Wishes.model_validate(self.forwardedProps if isinstance(self.forwardedProps, dict) else {})
