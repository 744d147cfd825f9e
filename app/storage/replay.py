"""Writes that waited in the spool, made up for. Every statement may be repeated: what was done is not done again.

Whoever uses these holds the row of the root task (`lock_root`) until the transaction ends.
"""

from typing import Any, NamedTuple
from uuid import UUID

from app.domain.tasks import TaskStatus
from app.storage.database import Transaction, dump

_LOCK = """
select t.session_id, t.status, t.attempt, t.claimed_by, t.waiting_for is not null as waits,
    t.metadata -> 'brought_in' as brought_in, (
    select coalesce(max(seq), 0) from events e
    where e.tenant_id = t.tenant_id and e.user_id = t.user_id and e.root_task_id = t.task_id
) as last_seq
from tasks t where t.tenant_id = $1 and t.user_id = $2 and t.task_id = $3 and t.parent_task_id is null
for update
"""
_HOLD = """
update tasks set status = 'in_progress', attempt = $4, claimed_by = $5, updated_at = clock_timestamp(),
    waiting_for = null, lease_until = clock_timestamp() + make_interval(secs => $6)
where tenant_id = $1 and user_id = $2 and task_id = $3 and status in ('pending', 'in_progress') and attempt <= $4
returning true
"""
_IS_WRITTEN = """
select exists (select from events
    where tenant_id = $1 and user_id = $2 and root_task_id = $3 and seq = $4 and attempt = $5 and event = $6::jsonb)
"""
_HOLD_STEP = """
update tasks set status = 'in_progress', attempt = $4, claimed_by = $5, updated_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and parent_task_id is not null
    and status in ('pending', 'in_progress') and attempt <= $4
"""
_MARK = """
update tasks set metadata = metadata || jsonb_build_object(
    'brought_in', coalesce(metadata -> 'brought_in', '{}') || jsonb_build_object($4::text, $5::bigint))
where tenant_id = $1 and user_id = $2 and task_id = $3
"""
_KEEP_LATE = """
update tasks set metadata = metadata
    || jsonb_build_object('late_answers', coalesce(metadata -> 'late_answers', '[]') || jsonb_build_array($4::jsonb))
where tenant_id = $1 and user_id = $2 and task_id = $3
"""


class RootState(NamedTuple):
    """A root task as it stands when its writes are brought in."""

    session_id: UUID
    status: TaskStatus
    attempt: int
    claimed_by: str | None
    waits: bool
    """It was parked and waits for a person."""
    brought_in: dict[str, int] | None
    """Of each spool file the number up to which its entries are in."""
    last_seq: int


async def lock_root(tx: Transaction, root_task_id: UUID) -> RootState | None:
    """The root task, kept from everybody else until the transaction ends; None when the caller has no such task."""
    row = await tx.driver.fetchrow(_LOCK, *tx.whose, root_task_id)
    return None if row is None else RootState(**{**row, "status": TaskStatus(row["status"])})


async def claim_root(tx: Transaction, root_task_id: UUID, attempt: int, claimant: str, lease_seconds: float) -> bool:
    """Hold an unfinished root task by this attempt, which no claim after it has; False when that is not possible."""
    return await tx.driver.fetchval(_HOLD, *tx.whose, root_task_id, attempt, claimant, lease_seconds) is not None


async def is_written(tx: Transaction, root_task_id: UUID, attempt: int, seq: int, event: str) -> bool:
    """Whether this very event (JSON) of this attempt stands at that place."""
    return bool(await tx.driver.fetchval(_IS_WRITTEN, *tx.whose, root_task_id, seq, attempt, event))


async def claim_step(tx: Transaction, task_id: UUID, attempt: int, claimant: str) -> None:
    """Let an unfinished step be held by this attempt, unless a later one has it."""
    await tx.driver.execute(_HOLD_STEP, *tx.whose, task_id, attempt, claimant)


async def mark(tx: Transaction, root_task_id: UUID, origin: str, upto: int) -> None:
    """Note in the root task that the entries of a spool file up to a number are in."""
    await tx.driver.execute(_MARK, *tx.whose, root_task_id, origin, upto)


async def store_late_answer(tx: Transaction, root_task_id: UUID, answer: dict[str, Any]) -> None:
    """Keep an answer that came too late in the task's metadata."""
    await tx.driver.execute(_KEEP_LATE, *tx.whose, root_task_id, dump(answer))
