"""Decide whether one more question is taken in, and where it stands in the line.

The decision is made in the transaction that registers the question, before anything is written. Runs of a person and of
a tenant are counted under a lock of the tenant, so no crowd of requests slips through between the counting and the
commit. Those of the whole service are counted without one: as many more may come in as transactions are open.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.storage.database import Transaction

_TENANT_STEPS = 1_000
"""A place in the line is the person's open runs, and below that the tenant's: so many of these are told apart."""
_PACE_SECONDS = 5.0
"""How long a measured pace is believed."""
_MOST_WAIT_SECONDS = 60
"""Nobody is told to stay away for longer."""
_AT_ONCE = 2
"""Registrations of one person that hold a connection of this process at a time; the next ones wait without one."""
_ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('runs ' || $1::uuid::text, 0))"
# The queue's table has no row security: it holds ids alone. A tenant's id is looked for as bytes, because a job that
# cannot be read must not keep everybody out.
_LINE = """
with jobs as materialized (
    select status, priority, position(convert_to($1::uuid::text, 'UTF8') in payload) > 0 as is_own
    from pgqueuer where entrypoint = $3 and status in ('queued', 'picked')
), person as (
    select count(*) as runs from tasks where tenant_id = $1 and user_id = $2 and parent_task_id is null
        and kind <> 'ingest' and status in ('pending', 'in_progress') and waiting_for is null
), own as (select person.runs, count(*) filter (where is_own) as jobs from person left join jobs on true group by runs)
select own.runs as of_person, own.jobs as of_tenant, count(jobs.status) as of_all,
    count(*) filter (where status = 'picked') as running,
    count(*) filter (where status = 'queued' and priority >= -(own.runs * $6 + least(own.jobs / $4, $5))) as ahead
from own left join jobs on true group by own.runs, own.jobs
"""
# The log is read through its index on `created`, a few rows of it.
_PACE = """
select percentile_cont(0.5) within group (order by extract(epoch from ended.created - picked.created))::float8
from (select job_id, created from pgqueuer_log
      where created > now() - interval '10 minutes' and status = 'successful' and entrypoint = $1
      order by created desc limit 50) ended
join lateral (select created from pgqueuer_log p
              where p.job_id = ended.job_id and p.status = 'picked' and p.created <= ended.created
              order by p.created desc limit 1) picked on true
"""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """How many questions may be open at a time, and how long one may have to wait."""

    per_person: int = 10
    per_tenant: int = 200
    in_all: int = 1_000
    wait_seconds: float = 0
    """A question that would wait longer before it begins is refused; 0 = its own deadline decides."""
    slots: int = 20
    """Runs one worker does at a time: at least so many are taken to be done at once."""
    weights: Mapping[UUID, int] = field(default_factory=dict)
    """How often a tenant's turn comes, for those whose is not 1."""


class _Line(NamedTuple):
    """The queue as it stands for one more question."""

    of_person: int
    of_tenant: int
    of_all: int
    running: int
    ahead: int
    """Jobs that wait and would be taken before it."""


class Admission:
    """Decides for one process, by what all processes have in the database."""

    def __init__(self, limits: RunLimits, line: str, on_refusal: Callable[[str], object] = lambda _: None):
        """`line`: where questions wait, as the queue's table names it. `on_refusal` is told by which limit somebody was
        refused: ``person``, ``tenant``, ``service``, ``wait``."""
        self.limits = limits
        self._line, self._on_refusal = line, on_refusal
        self._pace: float | None = None
        self._pace_until = float("-inf")
        self._turns = Turns(_AT_ONCE)

    def turn(self, principal: Principal) -> AbstractAsyncContextManager[None]:
        """Wait until few enough registrations of this person hold a connection, so that one person's crowd does not
        take all of them from the others."""
        return self._turns.of(principal.tenant_id, principal.user_id)

    async def place(self, tx: Transaction, deadline_at: datetime | None, now: datetime) -> int:
        """Where one more question of the caller stands in the line: 0 is the front. Nothing may be written before.

        Raises `AppError` with the seconds after which to come back: 429 when the caller or the tenant has too many open
        runs, 503 when the service has, or when the question would not begin in time.
        """
        await tx.driver.execute(_ONE_AT_A_TIME, tx.tenant_id)
        weight = self.limits.weights.get(tx.tenant_id, 1)
        steps = _TENANT_STEPS - 1, _TENANT_STEPS
        line = _Line(*(await tx.driver.fetchrow(_LINE, *tx.whose, self._line, weight, *steps) or ()))
        pace = await self._measured_pace(tx)
        if line.of_person >= self.limits.per_person:
            detail = f"{line.of_person} of your questions are still being answered; ask again when one of them is."
            raise self._refusal("person", ErrorCode.RATE_LIMITED, detail, pace)
        if line.of_tenant >= self.limits.per_tenant:
            detail = f"{line.of_tenant} questions of your organisation are still being answered; ask again shortly."
            raise self._refusal("tenant", ErrorCode.RATE_LIMITED, detail, pace)
        if line.of_all >= self.limits.in_all:
            raise self._refusal("service", ErrorCode.OVERLOADED, "The service has no room; ask again shortly.", pace)
        wait = line.ahead * pace / max(line.running, self.limits.slots)
        if wait > (most := self._longest_wait(deadline_at, now)) >= 0:
            detail = f"A question would wait about {wait:.0f} seconds before it begins; ask again later."
            raise self._refusal("wait", ErrorCode.OVERLOADED, detail, wait - most)
        return line.of_person * _TENANT_STEPS + min(line.of_tenant // weight, _TENANT_STEPS - 1)

    def _longest_wait(self, deadline_at: datetime | None, now: datetime) -> float:
        left = math.inf if deadline_at is None else (deadline_at - now).total_seconds()
        return min(left, self.limits.wait_seconds or math.inf)

    def _refusal(self, limit: str, code: ErrorCode, detail: str, seconds: float) -> AppError:
        self._on_refusal(limit)
        status = 429 if code is ErrorCode.RATE_LIMITED else 503
        wait = min(max(math.ceil(seconds), 1), _MOST_WAIT_SECONDS)
        return AppError(code, detail, status=status, retry_after_seconds=wait)

    async def _measured_pace(self, tx: Transaction) -> float:
        """Seconds half of the latest runs took from their claim to their end; 0 while none is known."""
        if time.monotonic() > self._pace_until:
            self._pace = await tx.driver.fetchval(_PACE, self._line)
            self._pace_until = time.monotonic() + _PACE_SECONDS
        return max(self._pace or 0.0, 0.0)


class Turns:
    """How many things of one person are done at a time in this process; the next ones wait, first come first served."""

    def __init__(self, most: int):
        """`most`: of each person, at least 1."""
        self.most = most
        self._people: dict[tuple[Hashable, ...], tuple[asyncio.Semaphore, int]] = {}

    def __len__(self) -> int:
        """How many people have something going on or waiting; nobody else is remembered."""
        return len(self._people)

    @asynccontextmanager
    async def of(self, *whose: Hashable) -> AsyncIterator[None]:
        """Wait for this person's turn, by whatever tells people apart, and hold it inside."""
        turns, users = self._people.get(whose) or (asyncio.Semaphore(self.most), 0)
        self._people[whose] = turns, users + 1
        try:
            async with turns:
                yield
        finally:
            turns, users = self._people.pop(whose)
            if users > 1:
                self._people[whose] = turns, users - 1
