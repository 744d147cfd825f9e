"""Rows of ``tasks`` and ``idempotency_keys``. A person sees and changes only own tasks; an administrator of the tenant
may look at every task of it, and a worker learns of those of all tenants, ids only, to carry them to their end.

Leases are told by the database's clock, so claimants on different machines agree. A write that names an attempt
changes nothing once another attempt was claimed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.principal import Principal
from app.domain.tasks import NewTask, Origin, Task, TaskStatus
from app.storage.database import OperatorTransaction, Transaction, dump

COLUMNS = (
    "task_id", "session_id", "parent_task_id", "root_task_id", "kind", "title", "description", "status",
    "assignee_agent_id", "request", "plan", "result", "flow_action", "metadata", "error_message", "attempt",
    "claimed_by", "lease_until", "deadline", "created_at", "updated_at", "completed_at", "waiting_for", "expires_at",
    "parked_attempt",
)  # fmt: skip
"""Of a `Task`, but for the principal."""
_COLUMNS = ", ".join(COLUMNS)
ROWS = """
insert into tasks (tenant_id, user_id, task_id, session_id, parent_task_id, root_task_id, kind, title, description,
                   assignee_agent_id, request, deadline, principal, token_limit)
select $1, $2, rows.* from {source} unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::jsonb[], $12::timestamptz[], $13::jsonb[], $14::integer[]) rows
on conflict do nothing
"""
_REGISTER = f"""
with opened as (
    insert into sessions (tenant_id, user_id, session_id, title, user_input, metadata, origin)
    values ($1, $2, $15, $16, $17, case when $18 = '' then '{{}}' else jsonb_build_object('kind', $18::text) end, $19)
    on conflict (tenant_id, user_id, session_id) do update
        set user_input = excluded.user_input, status = 'running', completed_at = null, updated_at = clock_timestamp()
), root as ({ROWS.format(source="")} returning {_COLUMNS}, principal), told as (
    insert into events (tenant_id, user_id, root_task_id, attempt, seq, type, event)
    select $1, $2, task_id, 0, 1, $20, $21 from root
)
select * from root
"""
_CLAIM = f"""
update tasks set status = 'in_progress', attempt = attempt + 1, claimed_by = $4,
    lease_until = clock_timestamp() + make_interval(secs => $5), updated_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3
    and ((status = 'pending' and waiting_for is null)
        or (status = 'in_progress' and lease_until < clock_timestamp()))
returning {_COLUMNS}, principal, (
    select event from events where tenant_id = $1 and user_id = $2 and root_task_id = $3 and seq = 1
) as first_event
"""
_RENEW = """
with held as (
    update tasks t set lease_until = clock_timestamp() + make_interval(secs => $5), updated_at = clock_timestamp()
    where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
        and (root_attempt is null or exists (
            select from tasks r
            where r.tenant_id = t.tenant_id and r.user_id = t.user_id and r.task_id = t.root_task_id
                and r.attempt = t.root_attempt and r.status = 'in_progress'))
    returning task_id
), steps as (
    update tasks t set lease_until = clock_timestamp() + make_interval(secs => $5), updated_at = clock_timestamp()
    from held
    where t.tenant_id = $1 and t.user_id = $2 and t.root_task_id = $3 and t.parent_task_id is not null
        and t.root_attempt is null and t.status = 'in_progress'
)
select true from held
"""
_RELEASE = """
update tasks set lease_until = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
"""
_CONCLUDE = """
update tasks set status = $5, result = $6, error_message = $7, lease_until = null, updated_at = clock_timestamp(),
    completed_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
returning true
"""
_CANCEL = """
update tasks set status = 'cancelled', error_message = $4, lease_until = null, waiting_for = null,
    updated_at = clock_timestamp(), completed_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and parent_task_id is null
    and status in ('pending', 'in_progress')
returning attempt, session_id
"""


async def register(
    tx: Transaction, root: NewTask, question: str, kind: str, origin: Origin, first: tuple[str, str]
) -> Task | None:
    """Write the pending row of a root task, which keeps the principal it will run as, with its `first` event (type,
    JSON), and make its session or note its next question; None when the id is taken: the transaction must be undone.

    The first question, cut to 200 characters, names a session; one with a `kind` is no conversation and is not listed.
    `origin` is that of a session that is made.
    """
    session = root.session_id, question[:200], question, kind, origin
    row = await tx.driver.fetchrow(_REGISTER, *tx.whose, *row_columns(tx, [root]), *session, *first)
    return None if row is None else task_of(dict(row))


def row_columns(tx: Transaction, tasks: Sequence[NewTask]) -> tuple[list[object], ...]:
    """The parameters $3 to $14 of `ROWS`."""
    whose = tx.principal.model_dump_json()
    rows = [
        (
            one.task_id, one.session_id, one.parent_task_id, one.root_task_id, one.kind, one.title, one.description,
            one.assignee_agent_id, dump(one.request), one.deadline, whose if one.parent_task_id is None else None,
            one.token_limit,
        )
        for one in tasks
    ]  # fmt: skip
    return tuple(map(list, zip(*rows, strict=True))) or ([],) * 12


async def claim(tx: Transaction, task_id: UUID, claimant: str, lease_seconds: float) -> Task | None:
    """Take a pending task, or one whose lease ran out, under the next attempt number; None when it cannot be had: it
    ended, is held, or waits for a person."""
    row = await tx.driver.fetchrow(_CLAIM, *tx.whose, task_id, claimant, lease_seconds)
    return None if row is None else task_of(dict(row))


async def renew(tx: Transaction, task_id: UUID, attempt: int, lease_seconds: float) -> bool:
    """Prolong a lease, and those of a run's steps in the same process; False when the attempt no longer holds the task,
    or the run a handed out step belongs to is not where it was."""
    return await tx.driver.fetchval(_RENEW, *tx.whose, task_id, attempt, lease_seconds) is not None


async def release(tx: Transaction, task_id: UUID, attempt: int) -> None:
    """Let the lease run out now, so that the next claimant need not wait."""
    await tx.driver.execute(_RELEASE, *tx.whose, task_id, attempt)


async def conclude(
    tx: Transaction, task_id: UUID, attempt: int, status: TaskStatus, *, result: Mapping[str, Any] | None,
    error_message: str | None,
) -> bool:  # fmt: skip
    """End a step; False, and nothing changed, when the attempt no longer holds it."""
    told = status.value, json_of(result), error_message
    return await tx.driver.fetchval(_CONCLUDE, *tx.whose, task_id, attempt, *told) is not None


async def cancel(tx: Transaction, task_id: UUID, reason: str) -> tuple[int, UUID] | None:
    """Stop a root task that has not ended; its attempt and session, or None when it has ended or is somebody else's."""
    row = await tx.driver.fetchrow(_CANCEL, *tx.whose, task_id, reason)
    return None if row is None else (row["attempt"], row["session_id"])


async def find(tx: Transaction, task_id: UUID) -> Task | None:
    """A task of the caller, or of anybody in the tenant for an administrator."""
    row = await tx.driver.fetchrow(
        f"select {_COLUMNS}, principal from tasks where tenant_id = $1 and task_id = $2"
        " and (user_id = $3 or app_is_admin()) order by user_id <> $3 limit 1",
        tx.tenant_id,
        task_id,
        tx.principal.user_id,
    )
    return None if row is None else task_of(dict(row))


async def lease_remaining(tx: Transaction, task_id: UUID) -> float | None:
    """Seconds until another attempt may be claimed (0 = now); None when the task has ended, waits for a person or does
    not exist."""
    left: float | None = await tx.driver.fetchval(
        "select greatest(coalesce(extract(epoch from lease_until - clock_timestamp()), 0), 0)::float8 from tasks"
        " where tenant_id = $1 and user_id = $2 and task_id = $3 and status in ('pending', 'in_progress')"
        " and waiting_for is null",
        *tx.whose,
        task_id,
    )
    return left


async def children_of(tx: Transaction, task_id: UUID) -> list[Task]:
    """The steps of a task the caller may see, oldest first."""
    rows = await tx.driver.fetch(
        f"select {_COLUMNS}, principal from tasks where tenant_id = $1 and parent_task_id = $2"
        " and (user_id = $3 or app_is_admin()) order by created_at, attempt, task_id",
        tx.tenant_id,
        task_id,
        tx.principal.user_id,
    )
    return [task_of(dict(row)) for row in rows]


async def take_key(tx: Transaction, key: str, request_hash: str, task_id: UUID) -> tuple[str, UUID] | None:
    """Take an idempotency key for a task. None = it is ours; else the hash and task it was taken with before.

    Waits for a concurrent transaction that is taking the same key.
    """
    taken = await tx.driver.fetchval(
        "insert into idempotency_keys (tenant_id, user_id, key, request_hash, task_id) values ($1, $2, $3, $4, $5)"
        " on conflict do nothing returning true",
        *tx.whose, key, request_hash, task_id,
    )  # fmt: skip
    if taken:
        return None
    row = await tx.driver.fetchrow(
        "select request_hash, task_id from idempotency_keys where tenant_id = $1 and user_id = $2 and key = $3",
        *tx.whose,
        key,
    )
    assert row is not None  # nobody but its owner removes a key, together with its session
    return row["request_hash"], row["task_id"]


def json_of(value: object) -> str | None:
    """See `dump`; None stays None."""
    return None if value is None else dump(value)


def task_of(values: dict[str, Any]) -> Task:
    """The task in a row of `COLUMNS` and the principal."""
    whose = values["principal"]
    values["principal"] = None if whose is None else Principal.model_validate(whose)
    return Task.model_validate(values)


_ONE_RECOVERS = "select pg_try_advisory_xact_lock(hashtextextended('conclave recovery', 0))"


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
    free: bool = await tx.driver.fetchval(_ONE_RECOVERS)
    return free


async def runs_without_job(tx: OperatorTransaction, quiet_seconds: float, most: int) -> list[Forgotten]:
    """Runs nobody works on and nobody will be told of, oldest first."""
    rows = await tx.driver.fetch("select * from runs_without_job(make_interval(secs => $1), $2)", quiet_seconds, most)
    return [Forgotten(row["tenant_id"], row["user_id"], row["task_id"], row["kind"]) for row in rows]


async def past_waiting(tx: OperatorTransaction, most: int) -> list[dict[str, UUID]]:
    """Tenant, user and task id of the runs of all tenants that waited for too long, oldest first."""
    return [dict(row) for row in await tx.driver.fetch("select * from runs_past_waiting($1)", most)]


async def drop_waiting(tx: Transaction, job_ids: Sequence[int]) -> None:
    """Take jobs that nobody began out of their line."""
    await tx.driver.execute("delete from pgqueuer where id = any($1) and status = 'queued'", list(job_ids))
