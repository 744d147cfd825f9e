"""What time it is where a tenant works."""

import time
from uuid import UUID

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.storage import tenants
from app.storage.database import Database

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
