"""Conversations of the caller."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from app.api.deps import Caller, Services
from app.api.schemas import Problem, View
from app.domain.tasks import Origin, Session

router = APIRouter(prefix="/sessions", tags=["sessions"])


class MessageView(View):
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime | None
    task_id: UUID | None = None
    """The run it belongs to: its plan, evidence and trace are in the run's journal."""


class SessionView(View):
    """A conversation."""

    session_id: UUID
    title: str
    status: str
    active_agent: str | None
    """Whose answer counted last; follow-up questions go there first."""
    speaking: tuple[str, ...] | None = None
    """Agents that have the floor at this moment. Absent in listings."""
    summary: str | None
    """What was spoken of, as far as you may still read it."""
    created_at: datetime
    updated_at: datetime
    pinned: bool
    archived: bool
    origin: Origin
    """``page``: made on the page or the command line; ``api``: by a program, through another protocol or with a key."""
    snippet: str | None = None
    """Of a search: where the words stand, at most 160 characters. Null where only the title holds them."""
    messages: tuple[MessageView, ...] | None = None
    """Absent in listings."""


@router.get("/{session_id}", summary="A conversation with its messages", responses={404: {"model": Problem}})
async def session(session_id: UUID, caller: Caller, services: Services) -> SessionView:
    """Messages oldest first, and who speaks while a run goes on. A question without an answer was stopped, or runs."""
    return view_of(await services.sessions.get(caller, session_id), with_messages=True)


@router.delete(
    "/{session_id}",
    summary="Erase a conversation",
    status_code=204,
    response_class=Response,
    responses={404: {"model": Problem}},
)
async def erase(session_id: UUID, caller: Caller, services: Services) -> None:
    """Deletes the conversation with its runs, their journals, its summary and everything remembered of it."""
    await services.sessions.delete(caller, session_id)


def view_of(found: Session, *, with_messages: bool) -> SessionView:
    """A conversation as it is shown."""
    return SessionView.model_validate(found.model_dump(exclude=None if with_messages else {"messages", "speaking"}))
