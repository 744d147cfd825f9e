"""A request as the AI SDK's chat transport writes it."""

from typing import Any, Literal

from pydantic import Field

from app.api.openai_compat.shapes import OtherPart, Received, TextPart
from app.api.threads import Wishes


class UIMessage(Received):
    """The last message of a chat."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[TextPart | OtherPart, ...] = Field(max_length=1_000)

    @property
    def question(self) -> str | None:
        """The text of a user's message; None for anything else, also for one that brings more than text."""
        if self.role != "user" or any(isinstance(part, OtherPart) for part in self.parts):
            return None
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


class UIChatBody(Wishes):
    """A question in a chat."""

    id: str = Field(min_length=1, max_length=200)
    """The conversation: a session's id, or any name of your own."""
    messages: tuple[dict[str, Any], ...] = Field(min_length=1, max_length=10_000)
    """The last one is the question and must be the user's; the history is kept here."""
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    """Both ask."""
