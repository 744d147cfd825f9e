"""Finding conversations again: the list with its search, and what their owner says of one: title, pinned, archived."""

from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AfterValidator, Field, model_validator

from app.api.deps import Caller, Services
from app.api.schemas import Body, Problem, Text, View
from app.api.sessions import SessionView, view_of
from app.domain.tasks import Origin
from app.identity.keys import KEY_MARK
from app.sessions.history import change_session, list_sessions
from app.storage.history import Shelf
from app.text.language import clean

router = APIRouter(prefix="/sessions", tags=["sessions"])
_MAX_TITLE_CHARS = 200
Switch = Annotated[bool, Field(strict=True)]


def origin_of(request: Request) -> Origin:
    """Who makes a conversation through the native API: a program where the caller signed in with a key."""
    return "api" if f" {KEY_MARK}" in request.headers.get("authorization", "") else "page"


OriginOfCall = Annotated[Origin, Depends(origin_of)]


def _as_title(text: str) -> str:
    title = " ".join(clean(text).split())
    if not 1 <= len(title) <= _MAX_TITLE_CHARS:
        raise ValueError(f"must have 1 to {_MAX_TITLE_CHARS} characters")
    return title


class SessionPage(View):
    """Conversations: pinned ones first, then last used first."""

    sessions: tuple[SessionView, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` (and the same other parameters) for the next page; null at the end."""


class SessionChange(Body):
    """What to change of a conversation; what is not named stays."""

    title: Annotated[Text, Field(max_length=2_000), AfterValidator(_as_title)] | None = None
    """1 to 200 characters, on one line; spaces around it and invisible characters are taken out."""
    pinned: Switch | None = None
    """Stands before all others."""
    archived: Switch | None = None
    """Is put away: listed with ``?archived=true`` alone. It can be gone on with, and stays archived."""

    @model_validator(mode="after")
    def _change_something(self) -> Self:
        if self.title is None and self.pinned is None and self.archived is None:
            raise ValueError("give title, pinned or archived")
        return self


@router.get("", summary="Your conversations")
async def sessions(
    caller: Caller,
    services: Services,
    q: Annotated[
        str | None, Query(max_length=200, description="Words to find; case and accents do not matter.")
    ] = None,
    archived: Annotated[bool, Query(description="Those you put away, instead of those you did not.")] = False,
    origin: Annotated[Origin | None, Query(description="Made on the page (`page`) or by a program (`api`).")] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> SessionPage:
    """Pinned first, then last used first, a page at a time. `q` finds those in whose title, or in one of whose turns
    (question or answer), all its words stand; the last word may be a beginning."""
    text = q.replace("\x00", " ") if q and q.strip() else None
    page, next_cursor = await list_sessions(services.database, caller, text, Shelf(archived, origin), cursor, limit)
    return SessionPage(sessions=tuple(view_of(found, with_messages=False) for found in page), next_cursor=next_cursor)


@router.patch("/{session_id}", summary="Rename, pin or archive a conversation", responses={404: {"model": Problem}})
async def change(session_id: UUID, body: SessionChange, caller: Caller, services: Services) -> SessionView:
    """Changes what is named of an own conversation; its place in the list changes by pinning alone."""
    changed = await change_session(services.database, caller, session_id, body.title, body.pinned, body.archived)
    return view_of(changed, with_messages=False)
