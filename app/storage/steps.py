"""Rows of steps: claimed in the leader's process, or handed out to a remote agent through ``handoffs``, and ended with
their run.

A handed out step is worked on only while the attempt at the run that handed it out holds the run: claiming, renewing
and writing look at the root's row too. Times are the database's.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.domain.tasks import ClaimedStep, HandedStep, NewTask, PrivateContext, StepSight, TaskStatus
from app.storage.database import Transaction, dump
from app.storage.tasks import COLUMNS, ROWS, json_of, row_columns, task_of

_CONTEXT = """(
    select c.context_data -> (t.request ->> 'context_hash') -> 'context' from agent_contexts c
    where c.tenant_id = t.tenant_id and c.user_id = t.user_id and c.session_id = t.session_id
        and c.agent_id = t.assignee_agent_id
) as context"""
_REGISTER = f"""
with leader as (
    update tasks set plan = coalesce($17::jsonb, plan), updated_at = clock_timestamp()
    where tenant_id = $1 and user_id = $2 and task_id = $15 and attempt = $16 and status = 'in_progress'
    returning session_id
), steps as ({ROWS.format(source="leader,")}), contexts as (
    insert into agent_contexts as known (tenant_id, user_id, session_id, agent_id, context_data)
    select $1, $2, leader.session_id, given.* from leader, unnest($18::text[], $19::jsonb[]) given
    on conflict (tenant_id, user_id, session_id, agent_id) do update set
        updated_at = clock_timestamp(),
        context_data = excluded.context_data || coalesce((
            select jsonb_object_agg(kept.key, kept.value) from (
                select key, value from jsonb_each(known.context_data) order by value ->> 'at' desc limit $20
            ) kept where not excluded.context_data ? kept.key
        ), '{{}}')
)
select true from leader
"""
_KEPT = 20
"""Contexts of one agent in one session; the oldest go first."""
_CLAIM = f"""
update tasks t set status = 'in_progress', attempt = attempt + 1, claimed_by = $4,
    lease_until = clock_timestamp() + make_interval(secs => $5), updated_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and root_attempt is null
    and (status = 'pending' or (status = 'in_progress' and lease_until < clock_timestamp()))
returning attempt, description, {_CONTEXT}
"""
_HAND_OUT = """
with leader as (
    select from tasks
    where tenant_id = $1 and user_id = $2 and task_id = $4 and attempt = $5 and status = 'in_progress'
), step as (
    update tasks set root_attempt = $5, expires_at = clock_timestamp() + make_interval(secs => $6),
        updated_at = clock_timestamp()
    from leader where tenant_id = $1 and user_id = $2 and task_id = $3 and status = 'pending'
    returning tenant_id, user_id, task_id
)
insert into handoffs (tenant_id, user_id, task_id, task_order) select tenant_id, user_id, task_id, $7 from step
returning true
"""
_TAKE_UP = f"""
update tasks t set status = 'in_progress', attempt = t.attempt + 1, claimed_by = $4,
    lease_until = clock_timestamp() + make_interval(secs => $5), updated_at = clock_timestamp()
from tasks r, handoffs h
where t.tenant_id = $1 and t.user_id = $2 and t.task_id = $3 and t.attempt <= $6
    and (t.status = 'pending' or (t.status = 'in_progress' and t.lease_until < clock_timestamp()))
    and t.expires_at > clock_timestamp()
    and r.tenant_id = $1 and r.user_id = $2 and r.task_id = t.root_task_id
    and r.attempt = t.root_attempt and r.status = 'in_progress'
    and h.tenant_id = $1 and h.user_id = $2 and h.task_id = t.task_id
returning {", ".join(f"t.{name}" for name in COLUMNS)}, r.principal, h.task_order, t.root_attempt,
    extract(epoch from t.expires_at - clock_timestamp())::float8 as seconds_left, {_CONTEXT}
"""
_LOOK = """
select t.status, t.attempt, t.status = 'in_progress' and t.lease_until < clock_timestamp() as is_silent,
    e.seq, e.attempt as written_by, e.event
from tasks t left join events e
    on e.tenant_id = t.tenant_id and e.user_id = t.user_id and e.root_task_id = t.task_id and e.seq > $4
where t.tenant_id = $1 and t.user_id = $2 and t.task_id = $3
order by e.seq limit $5
"""
_GIVE_UP = """
update tasks set status = case status when 'pending' then 'cancelled' else 'failed' end, error_message = $4,
    lease_until = null, updated_at = clock_timestamp(), completed_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and task_id = $3 and status in ('pending', 'in_progress')
returning true
"""
_COUNT_LATE = """
update tasks set metadata = jsonb_set(metadata, '{late_results}',
    to_jsonb(coalesce((metadata ->> 'late_results')::integer, 0) + 1))
where tenant_id = $1 and user_id = $2 and task_id = $3
"""
# The count comes first, so steps are locked before what was handed out for them, as whoever finishes a step does.
_LEFT = """
stopped as (
    update tasks set status = 'cancelled', lease_until = null, updated_at = clock_timestamp(),
        completed_at = clock_timestamp()
    where tenant_id = $1 and user_id = $2 and root_task_id = $3 and parent_task_id is not null
        and status in ('pending', 'in_progress') and exists (select from ended)
    returning task_id
), forgotten as (
    delete from handoffs
    where (select count(*) from stopped) >= 0 and tenant_id = $1 and user_id = $2 and task_id in (
        select task_id from tasks
        where tenant_id = $1 and user_id = $2 and root_task_id = $3 and parent_task_id is not null
    ) and exists (select from ended)
)
"""
_END = f"""
with ended as (
    update tasks set status = $5, result = $6, error_message = $7, flow_action = coalesce($8::jsonb, flow_action),
        metadata = metadata || coalesce($9::jsonb, '{{}}'), plan = coalesce($10::jsonb, plan), lease_until = null,
        updated_at = clock_timestamp(), completed_at = clock_timestamp()
    where tenant_id = $1 and user_id = $2 and task_id = $3 and attempt = $4 and status = 'in_progress'
        and ($11::integer <= 1 or exists (
            select from events e where e.tenant_id = $1 and e.user_id = $2 and e.root_task_id = $3 and e.seq = $11 - 1))
    returning session_id
), told as (
    insert into events (tenant_id, user_id, root_task_id, attempt, seq, type, event)
    select $1, $2, $3, $4, written.* from ended, unnest($12::integer[], $13::text[], $14::jsonb[]) written
), closed as (
    update sessions s set status = $5, final_output = coalesce($15, final_output),
        active_agent = coalesce($16, active_agent), updated_at = clock_timestamp(), completed_at = clock_timestamp()
    from ended where s.tenant_id = $1 and s.user_id = $2 and s.session_id = ended.session_id
), weighed as (
    insert into conflicts (tenant_id, user_id, root_task_id, topic, details)
    select $1, $2, $3, kept.* from ended, unnest($17::text[], $18::jsonb[]) kept
), {_LEFT}
select true from ended
"""
_PAGE = 500


async def register(
    tx: Transaction, root_task_id: UUID, attempt: int, new_tasks: Sequence[NewTask], plan: Mapping[str, Any] | None,
    contexts: Mapping[str, list[PrivateContext]], at: str,
) -> bool:  # fmt: skip
    """Write pending rows of steps in one statement, with what each agent will need, and keep the run's plan unless it
    is None; False, and nothing changed, when the attempt no longer holds the run. `at` is an ISO time in UTC."""
    given = {
        agent: dump({one.context_hash: {"at": at, "context": one.model_dump(mode="json")} for one in own})
        for agent, own in sorted(contexts.items())
    }
    run = root_task_id, attempt, json_of(plan), list(given), list(given.values()), _KEPT
    return await tx.driver.fetchval(_REGISTER, *tx.whose, *row_columns(tx, new_tasks), *run) is not None


async def end_run(
    tx: Transaction, task_id: UUID, attempt: int, ended: Sequence[object], turn: tuple[str | None, str | None],
    entries: Sequence[tuple[int, str, str]], weighed: tuple[list[str], list[str]],
) -> bool:  # fmt: skip
    """End a root task with its last events (seq, type, JSON), the steps that were never finished, its session's turn
    and what it weighed; False, and nothing changed, when the attempt no longer holds it or the event before is missing.

    `ended`: status, result, error, flow action, metadata and plan; `turn`: answer and agent; None keeps what was there.
    """
    status, result, error, *others = ended
    told = status, json_of(result), error, *map(json_of, others), entries[0][0] if entries else 0
    columns = ([entry[at] for entry in entries] for at in range(3))
    return await tx.driver.fetchval(_END, *tx.whose, task_id, attempt, *told, *columns, *turn, *weighed) is not None


async def stop_children(tx: Transaction, root_task_id: UUID) -> None:
    """Cancel the steps of a run that were never finished, and forget what was handed out for any of them."""
    await tx.driver.execute(f"with ended as (select), {_LEFT} select", *tx.whose, root_task_id)


async def claim(tx: Transaction, task_id: UUID, claimant: str, lease_seconds: float) -> ClaimedStep | None:
    """Take a step of this process with its instruction and the agent's own context; None when it cannot be had."""
    row = await tx.driver.fetchrow(_CLAIM, *tx.whose, task_id, claimant, lease_seconds)
    if row is None:
        return None
    return ClaimedStep(attempt=row["attempt"], instruction=row["description"], context=_context(row["context"]))


async def hand_out(
    tx: Transaction, task_id: UUID, root_task_id: UUID, root_attempt: int, seconds: float, order: str
) -> bool:
    """Let a pending step be taken by workers, for so long; False when the attempt no longer holds the run or the step
    was begun already."""
    done = await tx.driver.fetchval(_HAND_OUT, *tx.whose, task_id, root_task_id, root_attempt, seconds, order)
    return done is not None


async def take_up(
    tx: Transaction, task_id: UUID, claimant: str, lease_seconds: float, max_redispatches: int
) -> HandedStep | None:
    """Take a handed out step under the next attempt number, with everything that is needed to do it; None when it
    cannot be had: held, ended, over its time, given out too often, or its run is not where it was."""
    row = await tx.driver.fetchrow(_TAKE_UP, *tx.whose, task_id, claimant, lease_seconds, max_redispatches)
    if row is None:
        return None
    values = dict(row)
    order, left, root_attempt = values.pop("task_order"), values.pop("seconds_left"), values.pop("root_attempt")
    context, task = _context(values.pop("context")), task_of(values)
    return HandedStep(
        attempt=task.attempt, instruction=task.description, context=context, task=task, order=order, seconds_left=left,
        root_attempt=root_attempt,
    )  # fmt: skip


async def look(tx: Transaction, task_id: UUID, after: int) -> StepSight | None:
    """How a handed out step stands, and what its journal says behind `after`; None when there is no such step."""
    rows = await tx.driver.fetch(_LOOK, *tx.whose, task_id, after, _PAGE)
    if not rows:
        return None
    entries = tuple((row["seq"], row["written_by"], row["event"]) for row in rows if row["seq"] is not None)
    return StepSight(
        status=TaskStatus(rows[0]["status"]), attempt=rows[0]["attempt"], is_silent=bool(rows[0]["is_silent"]),
        entries=entries, has_more=len(entries) == _PAGE,
    )  # fmt: skip


async def give_up(tx: Transaction, task_id: UUID, reason: str) -> bool:
    """End a step nobody finished in time; False when it has ended."""
    return await tx.driver.fetchval(_GIVE_UP, *tx.whose, task_id, reason) is not None


async def bring_back(tx: Transaction, task_id: UUID, outcome: str) -> None:
    """Put the outcome in the place of the order; the caller's transaction ends the step."""
    await tx.driver.execute(
        "update handoffs set outcome = $4, task_order = '' where tenant_id = $1 and user_id = $2 and task_id = $3",
        *tx.whose,
        task_id,
        outcome,
    )


async def collect(tx: Transaction, task_id: UUID) -> str | None:
    """Take the outcome of a step away; None when there is none."""
    outcome: str | None = await tx.driver.fetchval(
        "delete from handoffs where tenant_id = $1 and user_id = $2 and task_id = $3 returning outcome",
        *tx.whose,
        task_id,
    )
    return outcome


async def count_late(tx: Transaction, task_id: UUID) -> None:
    """Remember that a result came too late."""
    await tx.driver.execute(_COUNT_LATE, *tx.whose, task_id)


def _context(value: object) -> PrivateContext | None:
    return None if value is None else PrivateContext.model_validate(value)
