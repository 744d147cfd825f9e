"""What administrators see of their tenant's tasks: figures of every person's, not a word of a question or an answer.

Every statement names the tenant and asks for the role; row security demands both as well.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from app.domain.oversight import OWNER_STOPPED, DaySpent, Failure, Line, TaskFigures, UserSpent, Wanted
from app.storage.database import Transaction

Place = tuple[datetime, UUID, UUID]
"""Where a task stands in the listing: when it was registered, its id, and whose it is."""

_FIGURES = f"""
select t.task_id, t.root_task_id, t.session_id, t.user_id, u.name as user, t.kind, t.request ->> 'mode' as mode,
    case when t.kind = 'ingest' then (t.request ->> 'document_id')::uuid end as document_id,
    t.status, t.waiting_for, t.assignee_agent_id as agent, t.attempt, t.claimed_by as holder, t.lease_until,
    t.status = 'in_progress' and t.lease_until < clock_timestamp() as is_lost,
    t.deadline, t.created_at, t.updated_at, t.completed_at,
    coalesce(t.metadata ->> 'outcome', t.result ->> 'outcome') as outcome,
    case when t.status = 'failed' then coalesce(t.result ->> 'error_code', t.result ->> 'code') end as error_code,
    case when t.kind = 'ingest' then t.error_message end as error_message,
    coalesce(t.error_message = '{OWNER_STOPPED}', false) as is_stopped_by_owner,
    (select count(*) from tasks s where s.tenant_id = t.tenant_id and s.parent_task_id = t.task_id
        and s.user_id = t.user_id) as steps,
    (select count(*) from tasks s where s.tenant_id = t.tenant_id and s.parent_task_id = t.task_id
        and s.user_id = t.user_id and s.status = 'completed') as steps_done
from tasks t left join users u on u.tenant_id = t.tenant_id and u.user_id = t.user_id
where t.tenant_id = $1 and app_is_admin()
"""
_PAGE = f"""{_FIGURES}
    and case when $2::text is null then t.parent_task_id is null else t.kind = $2 end
    and ($3::text is null or t.status = $3) and ($4::uuid is null or t.user_id = $4)
    and ($5::timestamptz is null or (t.created_at, t.task_id, t.user_id) < ($5::timestamptz, $6::uuid, $7::uuid))
order by t.created_at desc, t.task_id desc, t.user_id desc limit $8
"""
_FIND = f"{_FIGURES} and t.task_id = $2 order by t.created_at limit 1"
# The queue's table has no row security: it holds ids alone. Which tenant a job is for stands in the job.
_LINES = """
select entrypoint as line, count(*) filter (where status = 'queued') as waiting,
    count(*) filter (where status = 'picked') as running, min(created) filter (where status = 'queued') as oldest
from pgqueuer
where app_is_admin() and status in ('queued', 'picked')
    and convert_from(payload, 'UTF8')::jsonb ->> 'tenant_id' = $1::uuid::text
group by entrypoint order by entrypoint
"""
_FAILURES = """
select assignee_agent_id as agent, result ->> 'tool' as tool,
    case when result ->> 'error_type' in ('timeout', 'deadline') then 'TOOL_TIMEOUT' else 'TOOL_FAILED' end as code,
    count(*) as count, max(completed_at) as last_at
from tasks
where tenant_id = $1 and app_is_admin() and kind = 'step' and status = 'failed' and created_at >= $2
    and assignee_agent_id is not null
group by 1, 2, 3 order by last_at desc
"""
_ARRIVAL = """
select v.document_id, d.external_id, d.latest_version = v.version as is_latest, v.draft, v.text, v.file_name, o.content
from document_versions v
join documents d on d.tenant_id = v.tenant_id and d.document_id = v.document_id
left join document_originals o
    on o.tenant_id = v.tenant_id and o.document_id = v.document_id and o.version = v.version
where v.tenant_id = $1 and v.task_id = $2
"""


class StoredArrival(NamedTuple):
    """What an ingestion was given, as far as it is still there."""

    document_id: UUID
    external_id: str
    is_latest: bool
    """Whether no newer version came since."""
    draft: dict[str, Any]
    text: str
    file_name: str
    content: bytes | None
    """The file; None for a document that came as text."""


async def page(tx: Transaction, wanted: Wanted, behind: Place | None, limit: int) -> list[TaskFigures]:
    """The tenant's tasks that match, newest first, behind a place; empty unless an administrator asks."""
    status = None if wanted.status is None else wanted.status.value
    rows = await tx.driver.fetch(
        _PAGE, tx.tenant_id, wanted.kind, status, wanted.user_id, *(behind or (None, None, None)), limit
    )
    return [TaskFigures.model_validate(dict(row)) for row in rows]


async def find(tx: Transaction, task_id: UUID) -> TaskFigures | None:
    """The figures of one task of the tenant; None unless an administrator asks."""
    row = await tx.driver.fetchrow(_FIND, tx.tenant_id, task_id)
    return None if row is None else TaskFigures.model_validate(dict(row))


async def lines(tx: Transaction) -> list[Line]:
    """Every line with jobs of the tenant; empty unless an administrator asks."""
    return [Line(**row) for row in await tx.driver.fetch(_LINES, tx.tenant_id)]


async def failures(tx: Transaction, since: datetime) -> Sequence[Failure]:
    """What steps of the tenant failed with since then, by agent and tool, the latest first."""
    return [Failure(**row) for row in await tx.driver.fetch(_FAILURES, tx.tenant_id, since)]


async def arrival(tx: Transaction, task_id: UUID) -> StoredArrival | None:
    """What the ingestion of this task was given, where the caller may see it."""
    row = await tx.driver.fetchrow(_ARRIVAL, tx.tenant_id, task_id)
    return None if row is None else StoredArrival(*row)


# A call says what it took once it is settled; until then, and for good when its process died, the reservation counts.
_SUMS = """
with calls as (
    select user_id, (created_at at time zone 'utc')::date as day, 0 as runs, 0 as failed, 1 as calls,
        coalesce(prompt_tokens, 0) as prompt, coalesce(completion_tokens, 0) as completion,
        case when outcome is null then reserved_tokens else 0 end as open, cost_micros
    from model_calls
    where tenant_id = $1 and app_is_admin() and created_at >= ($2::date)::timestamp at time zone 'utc'
), asked as (
    select user_id, (created_at at time zone 'utc')::date as day, 1 as runs,
        case when status = 'failed' then 1 else 0 end as failed, 0, 0, 0, 0, 0
    from tasks
    where tenant_id = $1 and app_is_admin() and kind = 'chat' and parent_task_id is null
        and created_at >= ($2::date)::timestamp at time zone 'utc'
), both_of_them as (select * from calls union all select * from asked)
"""
_WHAT = """sum(runs)::bigint as runs, sum(failed)::bigint as failed, sum(calls)::bigint as calls,
    sum(prompt)::bigint as prompt_tokens, sum(completion)::bigint as completion_tokens,
    sum(open)::bigint as open_tokens, sum(cost_micros)::bigint as cost_micros"""
_DAYS = f"{_SUMS} select day, {_WHAT} from both_of_them group by day order by day"
_USERS = f"""{_SUMS}, told as (select user_id, {_WHAT} from both_of_them group by user_id)
select told.*, u.name as user, count(*) over () as user_count
from told left join users u on u.tenant_id = $1 and u.user_id = told.user_id
order by prompt_tokens + completion_tokens + open_tokens desc, runs desc, told.user_id limit $3
"""


async def by_day(tx: Transaction, since: date) -> list[DaySpent]:
    """Every day from `since` on which anything was asked, in order; empty unless an administrator asks."""
    return [DaySpent.model_validate(dict(row)) for row in await tx.driver.fetch(_DAYS, tx.tenant_id, since)]


async def by_user(tx: Transaction, since: date, most: int) -> tuple[list[UserSpent], int]:
    """Who took most since then, and how many people took anything; empty unless an administrator asks."""
    rows: list[asyncpg.Record] = await tx.driver.fetch(_USERS, tx.tenant_id, since, most)
    counts = {row["user_count"] for row in rows}
    shown = UserSpent.model_fields
    return [UserSpent.model_validate({name: row[name] for name in shown}) for row in rows], max(counts, default=0)


_PICTURE = """
with runs as materialized (
    select metadata->'performance_metrics' as m from tasks
    where tenant_id = $1 and ($3 or user_id = $2) and kind = 'chat' and parent_task_id is null
        and status in ('completed', 'failed') and completed_at >= $4 and metadata ? 'performance_metrics'
), agents as (
    select a.key, round(avg(a.value::numeric))::bigint as ms
    from runs, jsonb_each_text(m->'agent_execution_times') a group by a.key
), tools as (
    select t.key, sum((t.value->>'calls')::bigint) as calls,
        round(sum((t.value->>'calls')::numeric * (t.value->>'avg_time_ms')::numeric)
            / greatest(sum((t.value->>'calls')::numeric), 1))::bigint as ms
    from runs, jsonb_each(m->'tool_usage_stats') t group by t.key
), quality as (
    select q.key, mode() within group (order by q.value->>'completeness') as completeness,
        mode() within group (order by q.value->>'recency') as recency,
        mode() within group (order by q.value->>'domain_match') as domain_match
    from runs, jsonb_each(m->'content_quality_metrics') q group by q.key
)
select count(*)::bigint as runs,
    coalesce(round(avg((m->>'query_processing_time_ms')::numeric)), 0)::bigint as query_processing_time_ms,
    coalesce(round(avg((m->>'conflict_resolution_time_ms')::numeric)), 0)::bigint as conflict_resolution_time_ms,
    coalesce(round(avg((m->>'cache_hit_ratio')::numeric), 4), 0)::float8 as cache_hit_ratio,
    (select coalesce(jsonb_object_agg(key, ms), '{}') from agents) as agent_execution_times,
    (select coalesce(jsonb_object_agg(key, jsonb_build_object('calls', calls, 'avg_time_ms', ms)), '{}') from tools)
        as tool_usage_stats,
    (select coalesce(jsonb_object_agg(key, to_jsonb(quality) - 'key'), '{}') from quality) as content_quality_metrics
from runs
"""


async def picture(tx: Transaction, since: datetime, *, of_tenant: bool) -> dict[str, Any]:
    """How many runs ended since then, and their figures: means over the runs, sums of calls, the most frequent quality.

    Own runs, or with `of_tenant` everybody's that row security lets the caller see: the tenant's for an administrator.
    """
    row = await tx.driver.fetchrow(_PICTURE, *tx.whose, of_tenant, since)
    assert row is not None
    return dict(row)
