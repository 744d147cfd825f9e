"""Bringing the demo companies in: tenants, users, documents, and what plug-ins find. What is there already stays."""

import asyncio
import fcntl
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

from app.domain.record import Record
from app.ingestion.pipeline import Ingestion
from app.ingestion.seed import SeedTenant, read_seed
from app.plugins import SEEDS, entries_of
from app.storage import tenants
from app.storage.database import Database

Seen = Callable[[int, int, str], None]
"""How many documents are in, of how many, and the last one's title."""


class SeedReport(Record):
    """What a seeding did."""

    tenants: int
    users: int
    documents: int
    """New or changed ones."""
    unchanged: int
    further: dict[str, int]
    """What plug-ins brought in, by their names."""


async def plant_once(data_dir: Path, state: str, plant: Callable[[], Awaitable[SeedReport]]) -> None:
    """Run `plant` when this data directory was never seeded, or with another `state` (the space its vectors lie in).

    Other processes of the data directory wait meanwhile and then skip it.
    """
    mark = data_dir / "postgres" / ".seeded"
    if _is_marked(mark, state):
        return
    with (data_dir / ".seed.lock").open("wb") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        if not _is_marked(mark, state):
            await plant()
            mark.write_text(state)


def _is_marked(mark: Path, state: str) -> bool:
    return mark.exists() and mark.read_text() == state


async def plant_seed(
    folder: Path, operator: Database, database: Database, ingestion: Ingestion, now: datetime, on_progress: Seen | None
) -> SeedReport:
    """Bring the seed folder in; what goes on goes on until `now`. Raises `AppError` for what cannot be read."""
    seed = await asyncio.to_thread(read_seed, folder)
    total = sum(len(tenant.documents) for tenant in seed)
    done = documents = unchanged = 0
    further: Counter[str] = Counter()
    for tenant in seed:
        await _people(operator, tenant)
        before = done

        def tell(count: int, _of: int, title: str, before: int = before) -> None:
            if on_progress is not None:
                on_progress(before + count, total, title)

        report = await ingestion.ingest(tenant.admin.principal, tenant.documents, tell)
        done += len(tenant.documents)
        documents, unchanged = documents + report.published, unchanged + report.unchanged
        further += await _further(tenant, database, now, is_first=True)
    users = sum(len(tenant.users) for tenant in seed)
    return SeedReport(tenants=len(seed), users=users, documents=documents, unchanged=unchanged, further=further)


async def _people(operator: Database, tenant: SeedTenant) -> None:
    async with operator.operator_scope() as tx:
        made = await tenants.add_tenant(tx, tenant.name, language=tenant.language, time_zone=tenant.time_zone)
        for user in tenant.users:
            await tenants.add_user(
                tx,
                made.tenant_id,
                user.name,
                department=user.department,
                departments=frozenset(user.departments),
                scopes=frozenset(user.scopes),
                roles=frozenset(user.roles),
            )


async def keep_up(folder: Path, data_dir: Path, database: Database, now: datetime) -> None:
    """Bring what goes on in the demo companies up to `now`, once an hour at most.

    A demo whose logs end in the past has nothing to say about yesterday. Companies that were removed stay away.
    """
    mark, hour = data_dir / "postgres" / ".kept_up", f"{now:%Y-%m-%dT%H}"
    if _is_marked(mark, hour):
        return
    for tenant in await asyncio.to_thread(lambda: read_seed(folder) if folder.is_dir() else ()):
        async with database.principal_scope(tenant.admin.principal) as tx:
            is_there = bool(await tenants.tenants(tx))
        if is_there:
            await _further(tenant, database, now, is_first=False)
    mark.write_text(hour)


async def _further(tenant: SeedTenant, database: Database, now: datetime, *, is_first: bool) -> Counter[str]:
    return Counter({one.name: await one.load()(tenant, database, now, is_first) for one in entries_of(SEEDS)})
