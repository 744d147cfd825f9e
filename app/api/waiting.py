"""What is said about a run that waits for a person: that it waits, and what was decided."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from app.api.schemas import Body, Text, View


class DecisionBody(Body):
    """What is decided about a plan."""

    approved: Annotated[bool, Field(strict=True)]
    feedback: Text = Field("", max_length=2_000)
    """What to plan differently. A plan that is refused without it ends the run."""
    attempt: int | None = Field(None, ge=1, le=2**31 - 1)
    """``attempt`` of the `interrupt` event that is answered; another plan that waits by now is not decided by it."""

    @model_validator(mode="after")
    def _say_what_counts(self) -> Self:
        if self.approved and self.feedback.strip():
            raise ValueError("feedback: belongs to a plan that is not approved")
        return self


class WaitingView(View):
    """A run that waits for its plan to be approved."""

    session_id: UUID
    task_id: UUID
    outcome: Literal["waiting"] = "waiting"
    waiting_for: Literal["approval"] = "approval"
    plan: dict[str, Any]
    """§2.1 of the flow."""
    attempt: int
    """To be named in the decision."""
    expires_at: datetime
    """The run is cancelled when nobody decides before."""
