"""What the company asked of models, by day and person."""

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from app.api.admin.access import Administrator
from app.api.deps import TheRooms
from app.api.schemas import View

router = APIRouter(prefix="/admin")


class SpentView(View):
    """What was asked of models in some time."""

    runs: int
    """Questions; those of conversations erased since are not among them."""
    failed: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    open_tokens: int
    """Reserved for calls that have not ended, or whose process died: they count as taken."""
    cost_micros: int
    """Millionths of the operator's currency, by the prices that were set when a call ended."""


class DayView(SpentView):
    """Of one day, UTC."""

    day: date


class UserView(SpentView):
    """Of one person."""

    user_id: UUID
    user: str | None
    """Null for people who are known by their tokens alone, or not any more."""


class UsageView(View):
    """What the company asked of models."""

    since: date
    until: date
    is_priced: bool
    """Whether prices are set, or were: else nobody knows what was spent, and `cost_micros` says nothing."""
    total: SpentView
    days: tuple[DayView, ...]
    """In order, those without anything left out."""
    users: tuple[UserView, ...]
    """Who took most first; at most 100."""
    user_count: int


@router.get("/usage", summary="Tokens, runs and cost, by day and person")
async def usage(caller: Administrator, rooms: TheRooms, days: Annotated[int, Query(ge=1, le=366)] = 30) -> UsageView:
    """Of the whole company, today included; days are UTC. Who asked how much, never what. Tokens outlive the
    conversation they were taken for."""
    found = await rooms.oversight.spending(caller, rooms.now(), days)
    return UsageView.model_validate(found.model_dump())
