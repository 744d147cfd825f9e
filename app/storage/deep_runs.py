"""Keep how far deep runs have come, and the root tasks that wait for a person.

A deep run has one row of ``deep_states``, with text of documents in it, overwritten at every step; the database removes
it in the commit that ends the run. A root task that waits is pending, but nobody may claim it before there is a
decision. The time of the deadline stands still meanwhile: nothing else changes the row of a parked task, so that
`updated_at` is when it was parked.
"""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.storage.database import Transaction, dump

_KEEP = """
with holder as materialized (
    select from tasks
    where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
    for share
)
insert into deep_states as known (tenant_id, user_id, task_id, attempt, state)
select $1, $2, $3, $4, $5 from holder
on conflict (tenant_id, user_id, task_id) do update
    set attempt = excluded.attempt, state = excluded.state, kept_at = clock_timestamp()
returning true
"""
_CHANGE = "update deep_states set state = $4 where tenant_id = $1 and user_id = $2 and task_id = $3"
_LAST = "select state from deep_states where tenant_id = $1 and user_id = $2 and task_id = $3"
_FORGET = "delete from deep_states where tenant_id = $1 and user_id = $2 and task_id = $3"
_ARE_READABLE = """
select (select count(*) from chunks where tenant_id = $1 and chunk_id = any ($3::uuid[])) = cardinality($3::uuid[])
    and (
        select count(*) from attachments
        where tenant_id = $1 and user_id = $2 and file_id = any ($4::uuid[]) and expires_at > clock_timestamp()
    ) = cardinality($4::uuid[])
"""


async def store_state(tx: Transaction, task_id: UUID, attempt: int, state: Mapping[str, Any]) -> bool:
    """Keep the state of a running attempt; False, and nothing changed, when the attempt no longer holds the task."""
    return await tx.driver.fetchval(_KEEP, *tx.whose, task_id, attempt, dump(state)) is not None


async def change_state(tx: Transaction, task_id: UUID, state: Mapping[str, Any]) -> None:
    """Put another state in the place of a parked run's; the caller's transaction must hold the task's row."""
    await tx.driver.execute(_CHANGE, *tx.whose, task_id, dump(state))


async def last_state(tx: Transaction, task_id: UUID) -> dict[str, Any] | None:
    """The state of a run of the caller, whichever attempt kept it; None when there is none."""
    found = await tx.driver.fetchval(_LAST, *tx.whose, task_id)
    return None if found is None else dict(json.loads(found))


async def forget_state(tx: Transaction, task_id: UUID) -> None:
    """Remove the state of a run; it begins anew then."""
    await tx.driver.execute(_FORGET, *tx.whose, task_id)


async def are_readable(tx: Transaction, chunk_ids: Collection[UUID], file_ids: Collection[UUID]) -> bool:
    """Whether the caller may read all of these passages and own files at this moment. A passage of a document that was
    deleted, brought in anew or put out of the caller's reach is none."""
    return bool(await tx.driver.fetchval(_ARE_READABLE, *tx.whose, list(set(chunk_ids)), list(set(file_ids))))


_PARK = """
update tasks set status = 'pending', waiting_for = 'approval', expires_at = $5, parked_attempt = attempt,
    lease_until = null, updated_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
    and parent_task_id is null
returning true
"""
_LOCK = """
select attempt, session_id, waiting_for is not null as waits, expires_at <= clock_timestamp() as is_late,
    metadata -> 'approval' as decision
from tasks where tenant_id = $1 and user_id = $2 and task_id = $3 and parent_task_id is null
for update
"""
_NOTE = """
update tasks set metadata = metadata || jsonb_build_object('approval', $4::jsonb)
where tenant_id = $1 and user_id = $2 and task_id = $3
"""
_RESUME = """
update tasks set waiting_for = null, expires_at = null, deadline = deadline + (clock_timestamp() - updated_at),
    updated_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and waiting_for is not null
"""


class Parked(NamedTuple):
    """A root task of the caller, and whether it waits."""

    attempt: int
    session_id: UUID
    waits: bool
    is_late: bool | None
    """It waits, and has done so for too long."""
    decision: dict[str, Any] | None
    """What was decided last."""


async def park(tx: Transaction, task_id: UUID, attempt: int, expires_at: datetime) -> bool:
    """Let a running attempt end without ending the task; False, and nothing changed, when it no longer holds it."""
    return await tx.driver.fetchval(_PARK, *tx.whose, task_id, attempt, expires_at) is not None


async def lock_parked(tx: Transaction, task_id: UUID) -> Parked | None:
    """A root task of the caller, kept from everybody else until the transaction ends; None for every other id."""
    row = await tx.driver.fetchrow(_LOCK, *tx.whose, task_id)
    return None if row is None else Parked(*row)


async def note_decision(tx: Transaction, task_id: UUID, decision: Mapping[str, Any]) -> None:
    """Write what was decided into the task."""
    await tx.driver.execute(_NOTE, *tx.whose, task_id, dump(decision))


async def resume(tx: Transaction, task_id: UUID) -> None:
    """Let a parked task be claimed again; its deadline moves by the time it waited."""
    await tx.driver.execute(_RESUME, *tx.whose, task_id)
