"""Indexes for tenants that grew, made in the background after documents came in."""

import asyncio
from uuid import UUID

import structlog

from app.storage import large_tenants

_SETTLE_SECONDS = 1.0
"""Documents come in crowds; their tenant is looked at once."""
_log = structlog.get_logger(__name__)


class Balancing:
    """Looks at tenants whose documents changed, one round at a time; does nothing without the owner's address."""

    def __init__(self, owner_url: str, settle_seconds: float = _SETTLE_SECONDS):
        self._owner_url, self._settle_seconds = owner_url, settle_seconds
        self._waiting: set[UUID] = set()
        self._round: asyncio.Task[None] | None = None

    def nudge(self, tenant_id: UUID) -> None:
        """Have the tenant looked at soon."""
        if not self._owner_url:
            return
        self._waiting.add(tenant_id)
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._go_round())

    async def aclose(self) -> None:
        """Stop; an index on its way is removed by the next one who balances."""
        if self._round is not None:
            self._round.cancel()
            await asyncio.gather(self._round, return_exceptions=True)

    async def _go_round(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._settle_seconds)
            tenants = sorted(self._waiting)
            self._waiting.clear()
            try:
                for change in await large_tenants.balance(self._owner_url, tenants):
                    _log.info("tenant_" + change.action, tenant_id=change.tenant_id, chunks=change.chunks)
            except Exception as error:  # the tenant is searched exactly meanwhile, which is right, only slower
                _log.warning("tenants_not_balanced", error_class=type(error).__name__)
