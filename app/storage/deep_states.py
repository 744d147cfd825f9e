"""Rows of ``deep_states``: how far a person's deep run has come, with text of documents in it. One a run, overwritten
at every step; the database removes it in the commit that ends the run.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from app.storage.database import Transaction
from app.storage.encoding import dump
from app.storage.tasks import whose

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


async def keep(tx: Transaction, task_id: UUID, attempt: int, state: Mapping[str, Any]) -> bool:
    """Keep the state of a running attempt; False, and nothing changed, when the attempt no longer holds the task."""
    return await tx.driver.fetchval(_KEEP, *whose(tx), task_id, attempt, dump(state)) is not None


async def change(tx: Transaction, task_id: UUID, state: Mapping[str, Any]) -> None:
    """Put another state in the place of a parked run's; the caller's transaction must hold the task's row."""
    await tx.driver.execute(_CHANGE, *whose(tx), task_id, dump(state))


async def last(tx: Transaction, task_id: UUID) -> dict[str, Any] | None:
    """The state of a run of the caller, whichever attempt kept it; None when there is none."""
    found = await tx.driver.fetchval(_LAST, *whose(tx), task_id)
    return None if found is None else dict(json.loads(found))


async def forget(tx: Transaction, task_id: UUID) -> None:
    """Remove the state of a run; it begins anew then."""
    await tx.driver.execute(_FORGET, *whose(tx), task_id)


async def are_readable(tx: Transaction, chunk_ids: Collection[UUID], file_ids: Collection[UUID]) -> bool:
    """Whether the caller may read all of these passages and own files at this moment. A passage of a document that was
    deleted, brought in anew or put out of the caller's reach is none."""
    return bool(await tx.driver.fetchval(_ARE_READABLE, *whose(tx), list(set(chunk_ids)), list(set(file_ids))))
