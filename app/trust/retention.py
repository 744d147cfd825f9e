"""Remove what is older than the operator wants to keep, in small batches, as the maintenance role.

Nothing of a person under legal hold goes, and of the audit only whole beginnings of a company's chain.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from app.storage import audit, tenants
from app.storage.database import Database

_BATCH = 500
_PAUSE_SECONDS = 3600.0
_BEAT_SECONDS = 5.0


class Days(NamedTuple):
    """How long each kind is kept, in days; 0 = for ever."""

    conversations: int = 0
    """Since their last use, with all that belongs to them."""
    files: int = 0
    """Attached to questions; they also end by themselves."""
    logs: int = 0
    """System log lines; whole months go."""
    audit: int = 0


async def sweep(
    operator: Database, days: Days, now: datetime, batch: int = _BATCH, beat: Callable[[], object] = lambda: None
) -> dict[str, int]:
    """Remove what is too old by `now`; how many rows of each kind went. Short transactions, so that nobody waits, and a
    `beat` after each, as the first sweep of a large installation takes long."""
    gone = dict.fromkeys(Days._fields, 0)
    for kind in ("conversations", "files"):
        if (most := getattr(days, kind)) > 0:
            while done := await _removed(operator, kind, now - timedelta(days=most), batch):
                gone[kind] += done
                beat()
    if days.logs > 0:
        async with operator.operator_scope() as tx:
            gone["logs"] = await audit.drop_logs(tx, now - timedelta(days=days.logs))
    if days.audit > 0:
        async with operator.operator_scope() as tx:
            known = await tenants.tenants(tx)
        for one in known:
            while True:
                async with operator.operator_scope() as tx:
                    done = await audit.remove(tx, one.tenant_id, now - timedelta(days=days.audit), batch)
                gone["audit"] += done
                beat()
                if done < batch:
                    break
    return gone


async def _removed(operator: Database, kind: str, before: datetime, batch: int) -> int:
    async with operator.operator_scope() as tx:
        return await audit.remove_old(tx, kind, before, batch)


async def keep_sweeping(
    beat: Callable[[], None], open_operator: Callable[[], Awaitable[Database]], days: Days, tell: Callable[..., object]
) -> None:
    """Sweep once an hour until cancelled; `beat` is a sign of life for the watchdog, `tell` gets what went."""
    operator: Database | None = None
    while True:
        try:
            operator = operator or await open_operator()
            gone = await sweep(operator, days, datetime.now(UTC), beat=beat)
            tell("retention_swept", count=sum(gone.values()))
        except Exception as error:  # the next hour tries again
            tell("retention_failed", error_class=type(error).__name__)
        for _ in range(int(_PAUSE_SECONDS / _BEAT_SECONDS)):
            beat()
            await asyncio.sleep(_BEAT_SECONDS)
