"""Bringing the demo companies in: tenants, users, documents, log lines. What is there already stays."""

import asyncio
import fcntl
from collections.abc import Awaitable, Callable
from pathlib import Path

from app.domain.record import Record
from app.ingestion.pipeline import Ingestion
from app.ingestion.seed import SeedTenant, read_seed
from app.storage import logs, tenants
from app.storage.database import Database

Progress = Callable[[int, int, str], None]
"""How many documents are in, of how many, and the last one's title."""
_LANGUAGES = {"acme": "vi", "globex": "en"}


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
    folder: Path, database: Database, operator: Database, ingestion: Ingestion, on_progress: Progress | None
) -> SeedReport:
    """Bring the seed folder in. Raises `AppError` for a folder or file that cannot be read."""
    seed = await asyncio.to_thread(read_seed, folder)
    total = sum(len(tenant.documents) for tenant in seed.tenants)
    done = documents = unchanged = lines = 0
    for tenant in seed.tenants:
        await _people(operator, tenant)
        before = done

        def tell(count: int, _of: int, title: str, before: int = before) -> None:
            if on_progress is not None:
                on_progress(before + count, total, title)

        report = await ingestion.ingest(tenant.admin.principal, tenant.documents, tell)
        done += len(tenant.documents)
        documents, unchanged = documents + report.published, unchanged + report.unchanged
        lines += await _log_lines(database, tenant)
    users = sum(len(tenant.users) for tenant in seed.tenants)
    return SeedReport(tenants=len(seed.tenants), users=users, documents=documents, unchanged=unchanged, log_lines=lines)


async def _people(operator: Database, tenant: SeedTenant) -> None:
    async with operator.operator_scope() as tx:
        made = await tenants.add_tenant(tx, tenant.name, language=_LANGUAGES.get(tenant.name, "vi"))
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


async def _log_lines(database: Database, tenant: SeedTenant) -> int:
    """Log lines have no identity of their own, so they come in once or not at all."""
    async with database.principal_scope(tenant.admin.principal) as tx:
        counts = await logs.count_by(tx, logs.LogFilter())
        return 0 if counts.total else await logs.insert_logs(tx, tenant.logs)
