"""Conversations of the caller."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.deps import Caller, Services
from app.api.schemas import MessageView, Problem, SessionPage, SessionView
from app.domain.tasks import Session

router = APIRouter(prefix="/sessions", tags=["sessions"])


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
    messages = tuple(
        MessageView(role=message.role, content=message.content, timestamp=message.timestamp, task_id=message.task_id)
        for message in found.messages
    )
    return SessionView(
        session_id=found.session_id,
        title=found.title,
        status=found.status,
        active_agent=found.active_agent,
        speaking=found.speaking if with_messages else None,
        summary=found.summary,
        created_at=found.created_at,
        updated_at=found.updated_at,
        messages=messages if with_messages else None,
    )
