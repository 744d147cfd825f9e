"""People of a company: erasing what somebody asked and was told."""

from uuid import UUID

from fastapi import APIRouter

from app.api.deps import Caller, Services
from app.api.schemas import Problem, View

router = APIRouter(prefix="/users", tags=["users"])


class ErasedView(View):
    """What was erased of a person."""

    conversations: int
    files: int
    remaining: int
    """Rows with words of theirs that are left: 0."""


@router.delete("/{user_id}/data", summary="Erase a person's data", responses={403: {"model": Problem}})
async def erase_person(user_id: UUID, caller: Caller, services: Services) -> ErasedView:
    """Deletes every conversation and attached file of yourself, or as an administrator of anybody of your company. A
    run going on is lost. What they cost and did stays in the records, without a word of theirs."""
    return ErasedView.model_validate((await services.sessions.erase(caller, user_id))._asdict())
