"""Conversations of one person: listing, history, erasure. Nobody else sees them, administrators neither."""

import base64
import binascii
from datetime import datetime
from uuid import UUID

from app.domain.principal import Principal
from app.domain.tasks import Message, Session
from app.errors import AppError, ErrorCode
from app.storage import sessions
from app.storage.database import Database

_MAX_TURNS = 200
"""Turns of a conversation that are shown."""


class SessionStore:
    """The caller's conversations; every method does I/O."""

    def __init__(self, database: Database):
        self._database = database

    async def history(self, principal: Principal, session_id: UUID, limit: int = 10) -> tuple[Message, ...]:
        """Questions and answers of the last `limit` finished turns, oldest first; empty for an unknown session."""
        async with self._database.principal_scope(principal) as tx:
            return await sessions.history(tx, session_id, limit)

    async def list_sessions(
        self, principal: Principal, cursor: str | None, limit: int
    ) -> tuple[tuple[Session, ...], str | None]:
        """A page of sessions, last used first, and the cursor of the next page (None at the end).

        Raises `AppError` (422) for a cursor that was not given out here.
        """
        behind = None if cursor is None else _read_cursor(cursor)
        async with self._database.principal_scope(principal) as tx:
            found = await sessions.page(tx, behind, limit + 1)
        page = tuple(found[:limit])
        return page, _cursor_behind(page[-1]) if len(found) > limit else None

    async def get(self, principal: Principal, session_id: UUID) -> Session:
        """A session with its messages. Raises `AppError` (404) for unknown and foreign ids alike."""
        async with self._database.principal_scope(principal) as tx:
            found = await sessions.find(tx, session_id)
            messages = await sessions.history(tx, session_id, _MAX_TURNS)
        if found is None:
            raise _not_found()
        return found.model_copy(update={"messages": messages})

    async def delete(self, principal: Principal, session_id: UUID) -> None:
        """Erase a session with its runs and journals; a run that is going on is lost. Raises `AppError` (404)."""
        async with self._database.principal_scope(principal) as tx:
            if not await sessions.delete(tx, session_id):
                raise _not_found()


def _cursor_behind(session: Session) -> str:
    return base64.urlsafe_b64encode(f"{session.updated_at.isoformat()}|{session.session_id}".encode()).decode()


def _read_cursor(cursor: str) -> tuple[datetime, UUID]:
    try:
        moment, _, session_id = base64.urlsafe_b64decode(cursor.encode()).decode().partition("|")
        when = datetime.fromisoformat(moment)
        if when.tzinfo is None:
            raise ValueError("no time zone")
        return when, UUID(session_id)
    except (ValueError, binascii.Error) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "cursor: not one of this list.", status=422) from error


def _not_found() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "There is no such session.", status=404)
