"""Rows of ``events``: the journal's truth. A person sees only the events of own tasks; administrators see no others'.

``seq`` is 1, 2, 3 … per root task without gaps: only the holder of the task's lease appends, and the row of the task
is locked against a new claim until the events are committed.
"""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from app.errors import StaleAttempt
from app.events import TERMINAL_EVENTS
from app.storage.database import Transaction

_APPEND = """
with holder as materialized (
    select from tasks
    where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
    for share
), appended as (
    insert into events (tenant_id, user_id, root_task_id, attempt, seq, type, event)
    select $1, $2, $3, $4, written.seq, written.type, written.event
    from holder, unnest($5::integer[], $6::text[], $7::jsonb[]) written (seq, type, event)
    where $8 <= 1 or exists (
        select from events e where e.tenant_id = $1 and e.user_id = $2 and e.root_task_id = $3 and e.seq = $8 - 1
    )
    on conflict do nothing
    returning true
)
select exists (select from holder), (select count(*) from appended)
"""
_APPEND_NEXT = """
insert into events (tenant_id, user_id, root_task_id, attempt, seq, type, event)
select $1, $2, $3, $4, 1 + coalesce(max(seq), 0), $5, $6
from events where tenant_id = $1 and user_id = $2 and root_task_id = $3
returning seq
"""
_READ = """
select e.seq, e.event
from tasks t left join events e
    on e.tenant_id = t.tenant_id and e.user_id = t.user_id and e.root_task_id = t.task_id and e.seq > $4
where t.tenant_id = $1 and t.user_id = $2 and t.task_id = $3 and t.parent_task_id is null
order by e.seq limit $5
"""

_END = """
select (
    select coalesce(max(seq), 0) from events where tenant_id = $1 and user_id = $2 and root_task_id = $3
) as seq, (select event from events where tenant_id = $1 and user_id = $2 and root_task_id = $3 and seq = 1) as first
from tasks where tenant_id = $1 and user_id = $2 and task_id = $3
"""

_LAST = """
select e.type, e.event
from tasks t left join lateral (
    select type, event from events
    where tenant_id = $1 and user_id = $2 and root_task_id = $3 order by seq desc limit 1
) e on true
where t.tenant_id = $1 and t.user_id = $2 and t.task_id = $3 and t.parent_task_id is null
"""


async def append(tx: Transaction, root_task_id: UUID, attempt: int, entries: Sequence[tuple[int, str, str]]) -> None:
    """Append (seq, type, JSON) entries of the attempt that holds the task. Raises `StaleAttempt` when it does not, or
    when the entry before them is missing: the server crashed and lost what it had not written to the disk."""
    if await _append(tx, root_task_id, attempt, entries, entries[0][0]) != (True, len(entries)):
        raise StaleAttempt(f"attempt {attempt} no longer holds task {root_task_id}")


async def fill(tx: Transaction, root_task_id: UUID, attempt: int, entries: Sequence[tuple[int, str, str]]) -> None:
    """Write those entries of the attempt that holds the task which are not there yet. Raises `StaleAttempt`."""
    if not (await _append(tx, root_task_id, attempt, entries, 0))[0]:
        raise StaleAttempt(f"attempt {attempt} no longer holds task {root_task_id}")


async def _append(
    tx: Transaction, root_task_id: UUID, attempt: int, entries: Sequence[tuple[int, str, str]], behind: int
) -> tuple[bool, int]:
    columns = ([entry[at] for entry in entries] for at in range(3))
    row = await tx.driver.fetchrow(_APPEND, *tx.whose, root_task_id, attempt, *columns, behind)
    assert row is not None
    return row[0], row[1]


async def append_next(tx: Transaction, root_task_id: UUID, attempt: int, kind: str, event: str) -> int:
    """Append one event (JSON) at the next free place; its seq. The caller's transaction must hold the task's row."""
    seq: int = await tx.driver.fetchval(_APPEND_NEXT, *tx.whose, root_task_id, attempt, kind, event)
    return seq


async def end_of(tx: Transaction, root_task_id: UUID) -> tuple[int, dict[str, Any] | None] | None:
    """How far the journal of a task has come, 0 = it is empty, and its first event; None when the caller has no such
    task."""
    row = await tx.driver.fetchrow(_END, *tx.whose, root_task_id)
    return None if row is None else (row["seq"], row["first"])


async def last_of(
    tx: Transaction, root_task_id: UUID, kinds: Collection[str] = TERMINAL_EVENTS
) -> tuple[bool, dict[str, Any] | None]:
    """Whether the caller has such a root task, and its last event when that is of these kinds: terminal, if it has
    ended."""
    row = await tx.driver.fetchrow(_LAST, *tx.whose, root_task_id)
    if row is None:
        return False, None
    return True, row["event"] if row["type"] in kinds else None


async def read(tx: Transaction, root_task_id: UUID, after: int, limit: int) -> list[tuple[int, dict[str, Any]]] | None:
    """(seq, event) of at most `limit` events behind `after`, in order; None when the caller has no such root task."""
    rows = await tx.driver.fetch(_READ, *tx.whose, root_task_id, after, limit)
    if not rows:
        return None
    return [(row["seq"], row["event"]) for row in rows if row["seq"] is not None]
