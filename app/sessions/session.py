"""Conversations of one person: listing, history, erasure. Nobody else sees them, administrators neither."""

import time
from uuid import UUID

from pydantic import AwareDatetime, TypeAdapter

from app.domain.principal import Principal
from app.domain.tasks import Session
from app.errors import AppError, ErrorCode
from app.storage import sessions, tenants
from app.storage.database import Database
from app.storage.encoding import cut_page, read_cursor

_MAX_TURNS = 500
"""Turns of a conversation that are shown: 1,000 messages."""
_PLACE: TypeAdapter[tuple[AwareDatetime, UUID]] = TypeAdapter(tuple[AwareDatetime, UUID])
"""When a session was last used, and its id."""


class SessionStore:
    """The caller's conversations; every method does I/O."""

    def __init__(self, database: Database):
        self._database = database

    async def list_sessions(
        self, principal: Principal, cursor: str | None, limit: int
    ) -> tuple[tuple[Session, ...], str | None]:
        """A page of sessions, last used first, and the next cursor. Raises `AppError` (422) for a foreign cursor."""
        behind = read_cursor(_PLACE, cursor)
        async with self._database.principal_scope(principal) as tx:
            found = await sessions.page(tx, behind, limit + 1)
        return cut_page(_PLACE, found, limit, lambda last: (last.updated_at, last.session_id))

    async def get(self, principal: Principal, session_id: UUID) -> Session:
        """A session with its messages. Raises `AppError` (404) for unknown and foreign ids alike."""
        async with self._database.principal_scope(principal) as tx:
            found = await sessions.find(tx, session_id)
            messages = await sessions.history(tx, session_id, _MAX_TURNS)
            speaking = await sessions.speaking(tx, session_id)
        if found is None:
            raise _not_found()
        return found.model_copy(update={"messages": messages, "speaking": speaking})

    async def running(self, principal: Principal, session_id: UUID) -> UUID | None:
        """The last run of a session that has not ended; None when there is none, or no such session."""
        async with self._database.principal_scope(principal) as tx:
            return await sessions.running(tx, session_id)

    async def delete(self, principal: Principal, session_id: UUID) -> None:
        """Erase a session with its runs, journals and memory; a run going on is lost. Raises `AppError` (404)."""
        async with self._database.principal_scope(principal) as tx:
            if not await sessions.delete(tx, session_id):
                raise _not_found()


def _not_found() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "There is no such session.", status=404)


_KNOWN_SECONDS = 60
"""How long a tenant's zone is believed without asking again."""


class TenantClock:
    """The time zones of tenants, by IANA name."""

    def __init__(self, database: Database):
        self._database = database
        self._known: dict[UUID, tuple[float, str]] = {}

    async def zone_of(self, principal: Principal) -> str:
        """The zone of the caller's tenant. At most one query a minute and tenant; the last answer while the database is
        away. Raises `AppError` (503) when there is none."""
        until, zone = self._known.get(principal.tenant_id, (0.0, ""))
        if time.monotonic() < until:
            return zone
        try:
            async with self._database.principal_scope(principal, durable=False) as tx:
                zone = await tenants.own_zone(tx)
        except AppError as away:
            if not zone or away.code is not ErrorCode.DATABASE_UNAVAILABLE:
                raise
            return zone
        self._known[principal.tenant_id] = (time.monotonic() + _KNOWN_SECONDS, zone)
        return zone
