"""What administrators see of their tenant's tasks: figures of every person's, not a word of a question or an answer.

Every statement names the tenant and asks for the role; row security demands both as well.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from app.domain.oversight import OWNER_STOPPED, Failure, Line, TaskFigures, Wanted
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


class KeptArrival(NamedTuple):
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
        _PAGE, tx.principal.tenant_id, wanted.kind, status, wanted.user_id, *(behind or (None, None, None)), limit
    )
    return [_figures(row) for row in rows]


async def find(tx: Transaction, task_id: UUID) -> TaskFigures | None:
    """The figures of one task of the tenant; None unless an administrator asks."""
    row = await tx.driver.fetchrow(_FIND, tx.principal.tenant_id, task_id)
    return None if row is None else _figures(row)


async def lines(tx: Transaction) -> list[Line]:
    """Every line with jobs of the tenant; empty unless an administrator asks."""
    return [Line(**row) for row in await tx.driver.fetch(_LINES, tx.principal.tenant_id)]


async def failures(tx: Transaction, since: datetime) -> Sequence[Failure]:
    """What steps of the tenant failed with since then, by agent and tool, the latest first."""
    return [Failure(**row) for row in await tx.driver.fetch(_FAILURES, tx.principal.tenant_id, since)]


async def arrival(tx: Transaction, task_id: UUID) -> KeptArrival | None:
    """What the ingestion of this task was given, where the caller may see it."""
    row = await tx.driver.fetchrow(_ARRIVAL, tx.principal.tenant_id, task_id)
    return None if row is None else KeptArrival(*row)


def _figures(row: "asyncpg.Record") -> TaskFigures:
    return TaskFigures.model_validate(dict(row))
