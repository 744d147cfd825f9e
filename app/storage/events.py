"""Rows of ``events``: the journal's truth. A person sees only the events of own tasks; administrators see no others'.

``seq`` is 1, 2, 3 … per root task without gaps: only the holder of the task's lease appends, and the row of the task
is locked against a new claim until the events are committed.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.errors import StaleAttempt
from app.storage.database import Transaction

_APPEND = """
with holder as materialized (
    select from tasks
    where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
    for share
)
insert into events (tenant_id, user_id, root_task_id, attempt, seq, type, event)
select $1, $2, $3, $4, written.seq, written.type, written.event
from holder, unnest($5::integer[], $6::text[], $7::jsonb[]) written (seq, type, event)
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


async def append(tx: Transaction, root_task_id: UUID, attempt: int, entries: Sequence[tuple[int, str, str]]) -> None:
    """Append (seq, type, JSON) entries of the attempt that holds the task. Raises `StaleAttempt` when it does not."""
    done = await tx.driver.execute(
        _APPEND,
        tx.principal.tenant_id,
        tx.principal.user_id,
        root_task_id,
        attempt,
        [seq for seq, _, _ in entries],
        [kind for _, kind, _ in entries],
        [event for _, _, event in entries],
    )
    if done != f"INSERT 0 {len(entries)}":
        raise StaleAttempt(f"attempt {attempt} no longer holds task {root_task_id}")


async def append_next(tx: Transaction, root_task_id: UUID, attempt: int, kind: str, event: str) -> int:
    """Append one event (JSON) at the next free place; its seq. The caller's transaction must hold the task's row."""
    seq: int = await tx.driver.fetchval(
        _APPEND_NEXT, tx.principal.tenant_id, tx.principal.user_id, root_task_id, attempt, kind, event
    )
    return seq


async def last_seq(tx: Transaction, root_task_id: UUID) -> int:
    """The highest seq so far, 0 for an empty journal."""
    seq: int = await tx.driver.fetchval(
        "select coalesce(max(seq), 0) from events where tenant_id = $1 and user_id = $2 and root_task_id = $3",
        tx.principal.tenant_id,
        tx.principal.user_id,
        root_task_id,
    )
    return seq


async def read(tx: Transaction, root_task_id: UUID, after: int, limit: int) -> list[tuple[int, dict[str, Any]]] | None:
    """(seq, event) of at most `limit` events behind `after`, in order; None when the caller has no such root task."""
    rows = await tx.driver.fetch(_READ, tx.principal.tenant_id, tx.principal.user_id, root_task_id, after, limit)
    if not rows:
        return None
    return [(row["seq"], row["event"]) for row in rows if row["seq"] is not None]
