"""System log lines as they are stored, and the months they lie in; `reading` finds them.

Months are made ahead and as lines come in, dropped whole when they are too old.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from app.domain.principal import Principal, Scope
from app.domain.record import Record
from app.storage.database import Database, OperatorTransaction, Transaction

_BATCH = 5_000
_AHEAD = timedelta(days=10)
"""In the last days of a month the next one is made, too."""
_INSERT = """
insert into system_logs (tenant_id, logged_at, source, level, department, scope, message, occurrence)
select $1, line.* from unnest(
    $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[]) as line
on conflict do nothing
"""


class LogLine(Record):
    """One line of a system log."""

    logged_at: datetime
    """Aware."""
    source: str
    """The machine or service that wrote it: ``vpn-gw-01``."""
    level: str
    """``INFO``, ``WARN``, ``ERROR`` …, upper case."""
    department: str
    scope: Scope
    message: str


async def store_logs(database: Database, principal: Principal, lines: Sequence[LogLine]) -> int:
    """Store lines under an administrator's tenant; gives back how many are new. Their months are made first."""
    if not lines:
        return 0
    moments = [line.logged_at for line in lines]
    async with database.principal_scope(principal) as tx:
        await make_months(tx, min(moments), max(moments) + _AHEAD)
    async with database.principal_scope(principal) as tx:
        return await insert_logs(tx, lines)


async def insert_logs(tx: Transaction, lines: Iterable[LogLine]) -> int:
    """Store lines under the principal's tenant; gives back how many are new. Only an administrator may, or asyncpg
    raises.

    A line that is stored already is left alone. Equal lines of one call (`_BATCH` at a time) are told apart by their
    order, so the same call again stores nothing.
    """
    remaining, stored = iter(lines), 0
    while batch := list(islice(remaining, _BATCH)):
        # From arrays: COPY is not possible on tables with row policies.
        rows = [(line.logged_at, line.source, line.level, line.department, line.scope, line.message) for line in batch]
        columns = [list(column) for column in zip(*rows, strict=True)]
        done = await tx.driver.execute(_INSERT, tx.tenant_id, *columns, _occurrences(rows))
        stored += int(done.rsplit(" ", 1)[1])
    return stored


async def make_months(tx: Transaction | OperatorTransaction, since: datetime, until: datetime) -> int:
    """Make the months from `since` to `until` that are not there; gives back how many were made.

    Call it in a short transaction of its own: it locks out everybody for its length. A month that is not made, because
    it lies too far away or somebody reads for long, is no loss: its lines are kept with others that have no month.
    """
    made: int = await tx.driver.fetchval("select make_log_months($1, $2)", since, until)
    return made


def _occurrences(rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """For each row how many equal ones came before it."""
    seen: Counter[tuple[Any, ...]] = Counter()
    numbers = []
    for row in rows:
        numbers.append(seen[row])
        seen[row] += 1
    return numbers
