"""Rows of ``model_calls`` and ``model_usage``: tokens reserved before a model is asked, settled after.

Counts are checked and written in one transaction, so processes share a budget. Days are UTC.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from app.storage.database import Transaction

Limit = Literal["run_tokens", "run_calls", "user_tokens", "tenant_tokens"]

_LOCK_RUN = "select pg_advisory_xact_lock(hashtextextended($1::uuid::text, 5))"
_SPENT = """
select count(*) as calls,
       coalesce(sum(case when outcome is null then reserved_tokens
                         else prompt_tokens + completion_tokens end), 0)::bigint as tokens
from model_calls where tenant_id = $1 and user_id = $2 and run_id = $3
"""
_COUNT_IN = """
insert into model_usage as known (tenant_id, subject, day, calls, tokens)
values ($1, $2, (now() at time zone 'utc')::date, 1, $3)
on conflict (tenant_id, day, subject) do update set calls = known.calls + 1, tokens = known.tokens + excluded.tokens
returning tokens
"""
_RESERVE = """
insert into model_calls (tenant_id, user_id, call_id, run_id, task_id, agent, purpose, model, reserved_tokens)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_SETTLE = """
update model_calls set outcome = $4, prompt_tokens = $5, completion_tokens = $6, cost_micros = $7, duration_ms = $8
where tenant_id = $1 and user_id = $2 and call_id = $3 and outcome is null
returning reserved_tokens, (created_at at time zone 'utc')::date as day
"""
_CORRECT = """
update model_usage set tokens = tokens + $4, cost_micros = cost_micros + $5
where tenant_id = $1 and subject = $2 and day = $3
"""


@dataclass(frozen=True)
class Limits:
    """What may be spent; 0 = without limit."""

    run_tokens: int
    run_calls: int
    user_tokens_per_day: int
    tenant_tokens_per_day: int


@dataclass(frozen=True)
class Reservation:
    """One call before it is made."""

    call_id: UUID
    run_id: UUID
    task_id: UUID | None
    agent: str
    purpose: str
    model: str
    tokens: int
    """The most it may take: prompt and completion."""


class LimitReached(Exception):
    """A limit would be passed; undoes the transaction."""

    def __init__(self, limit: Limit):
        self.limit: Limit = limit
        super().__init__(limit)


async def reserve(tx: Transaction, wanted: Reservation, limits: Limits) -> None:
    """Count a call in before it is made. Raises `LimitReached`; the transaction must then be undone."""
    tenant_id, user_id = tx.whose
    await tx.driver.execute(_LOCK_RUN, wanted.run_id)
    spent = await tx.driver.fetchrow(_SPENT, tenant_id, user_id, wanted.run_id)
    assert spent is not None
    _demand(spent["tokens"] + wanted.tokens, limits.run_tokens, "run_tokens")
    _demand(spent["calls"] + 1, limits.run_calls, "run_calls")
    # Always the user first: two processes never wait for each other.
    mine = await tx.driver.fetchval(_COUNT_IN, tenant_id, user_id, wanted.tokens)
    _demand(mine, limits.user_tokens_per_day, "user_tokens")
    everybodys = await tx.driver.fetchval(_COUNT_IN, tenant_id, tenant_id, wanted.tokens)
    _demand(everybodys, limits.tenant_tokens_per_day, "tenant_tokens")
    await tx.driver.execute(
        _RESERVE, tenant_id, user_id, wanted.call_id, wanted.run_id, wanted.task_id, wanted.agent, wanted.purpose,
        wanted.model, wanted.tokens,
    )  # fmt: skip


async def settle(
    tx: Transaction, call_id: UUID, *, outcome: str, prompt_tokens: int, completion_tokens: int, cost_micros: int,
    duration_ms: int,
) -> None:  # fmt: skip
    """Put what a call took in the place of what was reserved for it; a second time changes nothing."""
    tenant_id, user_id = tx.whose
    settled = await tx.driver.fetchrow(
        _SETTLE, tenant_id, user_id, call_id, outcome, prompt_tokens, completion_tokens, cost_micros, duration_ms
    )
    if settled is None:
        return
    difference = prompt_tokens + completion_tokens - settled["reserved_tokens"]
    for subject in (user_id, tenant_id):  # in the order of `reserve`
        await tx.driver.execute(_CORRECT, tenant_id, subject, settled["day"], difference, cost_micros)


def _demand(total: int, limit: int, name: Limit) -> None:
    if limit and total > limit:
        raise LimitReached(name)
