"""What a tenant asked of models, for its administrators: sums over ``model_calls`` and ``tasks``; days are UTC."""

from datetime import date

import asyncpg

from app.domain.oversight import DaySpent, Spent, UserSpent
from app.storage.database import Transaction

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
    return [DaySpent.model_validate(dict(row)) for row in await tx.driver.fetch(_DAYS, tx.principal.tenant_id, since)]


async def by_user(tx: Transaction, since: date, most: int) -> tuple[list[UserSpent], int]:
    """Who took most since then, and how many people took anything; empty unless an administrator asks."""
    rows: list[asyncpg.Record] = await tx.driver.fetch(_USERS, tx.principal.tenant_id, since, most)
    counts = {row["user_count"] for row in rows}
    shown = UserSpent.model_fields
    return [UserSpent.model_validate({name: row[name] for name in shown}) for row in rows], max(counts, default=0)


def total_of(days: list[DaySpent]) -> Spent:
    """All days together."""
    return Spent(**{name: sum(getattr(day, name) for day in days) for name in Spent.model_fields})
