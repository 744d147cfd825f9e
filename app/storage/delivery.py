"""Who works on what, over all tenants: ids and counts only, for the workers that carry tasks to their end."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from app.storage.database import OperatorTransaction, Transaction

_LOCK = "select pg_try_advisory_xact_lock(hashtextextended('conclave recovery', 0))"


class Attempt(NamedTuple):
    """One claim on a task."""

    tenant_id: UUID
    user_id: UUID
    task_id: UUID
    number: int


class Forgotten(NamedTuple):
    """A run that has no job."""

    tenant_id: UUID
    user_id: UUID
    task_id: UUID
    kind: str


async def lost_attempts(tx: OperatorTransaction, held: Sequence[Attempt]) -> set[UUID]:
    """Tasks among `held` that are no longer theirs who hold them."""
    columns = [list(column) for column in zip(*held, strict=True)]
    rows = await tx.driver.fetch("select lost_attempts($1, $2, $3, $4) as task_id", *columns)
    return {row["task_id"] for row in rows}


async def may_recover(tx: OperatorTransaction) -> bool:
    """Whether no other process recovers at this moment; it stays so until the transaction ends."""
    free: bool = await tx.driver.fetchval(_LOCK)
    return free


async def runs_without_job(tx: OperatorTransaction, quiet_seconds: float, most: int) -> list[Forgotten]:
    """Runs nobody works on and nobody will be told of, oldest first."""
    rows = await tx.driver.fetch("select * from runs_without_job(make_interval(secs => $1), $2)", quiet_seconds, most)
    return [Forgotten(row["tenant_id"], row["user_id"], row["task_id"], row["kind"]) for row in rows]


async def drop_waiting(tx: Transaction, job_ids: Sequence[int]) -> None:
    """Take jobs that nobody began out of their line."""
    await tx.driver.execute("delete from pgqueuer where id = any($1) and status = 'queued'", list(job_ids))
