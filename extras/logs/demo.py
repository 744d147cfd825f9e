"""The logs of the demonstration companies: ``<folder>/<tenant>/logs.jsonl``, whose last day is told anew every day."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.ingestion.seed import SeedTenant, naming
from app.storage.database import Database
from extras.logs.lines import LogLine, store_logs

_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_RETOLD_DAYS = 30


async def bring_in(tenant: SeedTenant, database: Database, now: datetime, is_first: bool) -> int:
    """Store a company's lines, and what its last day would be on every day since; gives back how many are new.

    Where it is not the `is_first` time, only those days. Raises `AppError` that names the line that cannot be read.
    """
    logs = await asyncio.to_thread(lambda: tuple(read_logs(tenant.folder / "logs.jsonl")))
    days = [*([logs] if is_first else []), *repeat_last_day(logs, now)]
    # A day at a time, so that equal lines are numbered alike every time, and those that are there not stored again.
    return sum([await store_logs(database, tenant.admin.principal, lines) for lines in days])


def repeat_last_day(logs: Sequence[LogLine], now: datetime) -> list[list[LogLine]]:
    """What the last day of `logs` would be on every day since, until `now`: a list a day, of the last 30 at most.

    So "yesterday" tells the same on whatever day the demo is asked. Lines that name a date stay where they are.
    """
    last = max((line.logged_at.astimezone(UTC).date() for line in logs), default=None)
    if last is None:
        return []
    told = [line for line in logs if line.logged_at.astimezone(UTC).date() == last and not _DATE.search(line.message)]
    first = max(1, (now.date() - last).days - _RETOLD_DAYS)
    days = []
    for back in range(first, (now.date() - last).days + 1):
        moved = (line.model_copy(update={"logged_at": line.logged_at + timedelta(days=back)}) for line in told)
        days.append([line for line in moved if line.logged_at <= now])
    return days


def read_logs(path: Path) -> Iterator[LogLine]:
    """The lines of a file; none where there is none. Raises `AppError` (`DOCUMENT_REJECTED`) that names a bad one."""
    lines = path.read_text("utf-8").split("\n") if path.exists() else []
    for number, line in enumerate(lines, 1):
        with naming(path, f"line {number}: "):
            if line:
                yield LogLine.model_validate_json(line)
