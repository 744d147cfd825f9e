"""Root tasks that wait for a person: pending, but nobody may claim them before there is a decision.

The time of the deadline stands still meanwhile: nothing else changes the row of a parked task, so that `updated_at` is
when it was parked.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.storage.database import OperatorTransaction, Transaction
from app.storage.encoding import dump
from app.storage.tasks import whose

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


class Waiter(NamedTuple):
    """A run that waited in vain."""

    tenant_id: UUID
    user_id: UUID
    task_id: UUID


async def park(tx: Transaction, task_id: UUID, attempt: int, expires_at: datetime) -> bool:
    """Let a running attempt end without ending the task; False, and nothing changed, when it no longer holds it."""
    return await tx.driver.fetchval(_PARK, *whose(tx), task_id, attempt, expires_at) is not None


async def lock(tx: Transaction, task_id: UUID) -> Parked | None:
    """A root task of the caller, kept from everybody else until the transaction ends; None for every other id."""
    row = await tx.driver.fetchrow(_LOCK, *whose(tx), task_id)
    return None if row is None else Parked(*row)


async def note(tx: Transaction, task_id: UUID, decision: Mapping[str, Any]) -> None:
    """Write what was decided into the task."""
    await tx.driver.execute(_NOTE, *whose(tx), task_id, dump(decision))


async def resume(tx: Transaction, task_id: UUID) -> None:
    """Let a parked task be claimed again; its deadline moves by the time it waited."""
    await tx.driver.execute(_RESUME, *whose(tx), task_id)


async def in_vain(tx: OperatorTransaction, most: int) -> list[Waiter]:
    """Runs of all tenants that waited for too long, oldest first."""
    return [Waiter(*row) for row in await tx.driver.fetch("select * from runs_past_waiting($1)", most)]
