"""Bringing the demo companies in: tenants, users, documents, log lines. What is there already stays."""

import asyncio
import fcntl
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path

from app.domain.principal import Principal
from app.domain.record import Record
from app.ingestion.pipeline import Ingestion
from app.ingestion.seed import SeedTenant, read_seed, repeat_last_day
from app.storage import tenants
from app.storage.database import Database
from app.storage.logs import LogLine, store_logs

Seen = Callable[[int, int, str], None]
"""How many documents are in, of how many, and the last one's title."""


class SeedReport(Record):
    """What a seeding did."""

    tenants: int
    users: int
    documents: int
    """New or changed ones."""
    unchanged: int
    log_lines: int


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
    """Bring the seed folder in; log lines go on until `now`. Raises `AppError` for what cannot be read."""
    seed = await asyncio.to_thread(read_seed, folder)
    total = sum(len(tenant.documents) for tenant in seed)
    done = documents = unchanged = lines = 0
    for tenant in seed:
        await _people(operator, tenant)
        before = done

        def tell(count: int, _of: int, title: str, before: int = before) -> None:
            if on_progress is not None:
                on_progress(before + count, total, title)

        report = await ingestion.ingest(tenant.admin.principal, tenant.documents, tell)
        done += len(tenant.documents)
        documents, unchanged = documents + report.published, unchanged + report.unchanged
        days = [tenant.logs, *repeat_last_day(tenant.logs, now)]
        lines += await _store_days(database, tenant.admin.principal, days)
    users = sum(len(tenant.users) for tenant in seed)
    return SeedReport(tenants=len(seed), users=users, documents=documents, unchanged=unchanged, log_lines=lines)


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


async def retell_logs(folder: Path, data_dir: Path, database: Database, now: datetime) -> int:
    """Bring the demo companies' logs up to `now`, once an hour at most; gives how many lines came in.

    A demo whose logs end in the past has nothing to say about yesterday. Companies that were removed stay away.
    """
    mark, hour = data_dir / "postgres" / ".logs_retold", f"{now:%Y-%m-%dT%H}"
    if _is_marked(mark, hour):
        return 0
    lines = 0
    for tenant in await asyncio.to_thread(lambda: read_seed(folder) if folder.is_dir() else ()):
        admin = tenant.admin.principal
        async with database.principal_scope(admin) as tx:
            is_there = bool(await tenants.tenants(tx))
        if is_there:
            lines += await _store_days(database, admin, repeat_last_day(tenant.logs, now))
    mark.write_text(hour)
    return lines


async def _store_days(database: Database, admin: Principal, days: Sequence[Sequence[LogLine]]) -> int:
    """A day at a time, so that equal lines are numbered alike every time, and those that are there not stored again."""
    return sum([await store_logs(database, admin, lines) for lines in days])
