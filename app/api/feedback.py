"""Thumbs and corrections: what the asker thinks of an answer."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from app.api.deps import Caller, Services
from app.api.schemas import Body, Problem, Text, View

router = APIRouter(prefix="/tasks", tags=["tasks"])


class FeedbackBody(Body):
    """What the asker thinks of an answer."""

    rating: Annotated[int, Field(strict=True, ge=-1, le=1)]
    """-1 bad, 1 good, 0 takes back what was said."""
    correction: Text = Field("", max_length=2_000)
    """What the answer should have said."""


class FeedbackView(View):
    """Feedback as it is kept."""

    task_id: UUID
    rating: int
    correction: str
    created_at: datetime
    updated_at: datetime
    """When it last changed."""


@router.put("/{task_id}/feedback", summary="Say what you think of an answer", responses={404: {"model": Problem}})
async def feedback(task_id: UUID, body: FeedbackBody, caller: Caller, services: Services) -> FeedbackView:
    """Thumbs and a correction for an answer of yours, in place of what you said before. The same again changes nothing.

    Nobody else reads it over this interface; whoever operates the service may make test cases of corrections.
    """
    kept = await services.feedback.put(caller, task_id, body.rating, body.correction.strip())
    return FeedbackView(task_id=task_id, **kept.model_dump())
