"""Figures of many runs out of ``tasks.metadata``, reckoned where they lie: nothing but sums leaves the database."""

from datetime import datetime
from typing import Any

from app.storage.database import Transaction

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
    row = await tx.driver.fetchrow(_PICTURE, tx.principal.tenant_id, tx.principal.user_id, of_tenant, since)
    assert row is not None
    return dict(row)
