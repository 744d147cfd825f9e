"""Conversations of the caller."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.deps import Caller, Services
from app.api.schemas import Problem, View
from app.domain.tasks import Session

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
    messages: tuple[MessageView, ...] | None = None
    """Absent in listings."""


class SessionPage(View):
    """Conversations, last used first."""

    sessions: tuple[SessionView, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


@router.get("", summary="Your conversations")
async def sessions(
    caller: Caller,
    services: Services,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> SessionPage:
    """Last used first, a page at a time."""
    page, next_cursor = await services.sessions.list_sessions(caller, cursor, limit)
    return SessionPage(sessions=tuple(_view(found, with_messages=False) for found in page), next_cursor=next_cursor)


@router.get("/{session_id}", summary="A conversation with its messages", responses={404: {"model": Problem}})
async def session(session_id: UUID, caller: Caller, services: Services) -> SessionView:
    """Messages oldest first, and who speaks while a run goes on."""
    return _view(await services.sessions.get(caller, session_id), with_messages=True)


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


def _view(found: Session, *, with_messages: bool) -> SessionView:
    return SessionView.model_validate(found.model_dump(exclude=None if with_messages else {"messages", "speaking"}))
