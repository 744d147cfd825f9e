"""What a tenant asked of models, by day and person: sums that agree with the ledger, and nothing of another tenant."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TypeAlias
from uuid import uuid4

import asyncpg
import pytest

from app.domain.oversight import Spent
from app.domain.principal import Principal
from app.storage.database import Database
from app.tasks.oversight import Oversight
from tests.factories import principal
from tests.postgres.running import JANE, LAN, MINH, rooms_on

ADMIN = principal(user="admin", roles=("admin",))
OTHER_ADMIN = principal("globex", "admin", roles=("admin",))
NOW = datetime(2026, 11, 22, 0, 30, tzinfo=UTC)
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def oversight(database: Database, superuser: Connection) -> AsyncIterator[Oversight]:
    await superuser.execute("delete from model_calls")
    await superuser.execute("delete from sessions")
    yield Oversight(database, rooms_on(database).registry)


async def call(
    superuser: Connection, who: Principal, at: datetime, tokens: tuple[int, int] | None, cost: int = 0
) -> None:
    """A call as the ledger keeps it; without tokens one that never ended."""
    spent = (None, None, None) if tokens is None else ("done", *tokens)
    await superuser.execute(
        "insert into model_calls (tenant_id, user_id, call_id, run_id, purpose, model, reserved_tokens, outcome,"
        " prompt_tokens, completion_tokens, cost_micros, created_at) values ($1, $2, $3, $4, 'plan', 'm', 1000, $5, $6,"
        " $7, $8, $9)",
        who.tenant_id, who.user_id, uuid4(), uuid4(), *spent, cost, at,
    )  # fmt: skip


class TestSpending:
    @pytest.mark.parametrize("seed", range(5))
    async def test_sums_are_those_of_the_ledger(self, oversight: Oversight, superuser: Connection, seed: int) -> None:
        chance = Random(seed)
        by_day: dict[date, list[int]] = {}
        by_user: dict[Principal, int] = {}
        days = chance.randint(1, 20)
        first = (NOW - timedelta(days=days - 1)).date()
        for _ in range(60):
            who = chance.choice((LAN, MINH, ADMIN, JANE))
            at = NOW - timedelta(minutes=chance.randint(0, 30 * 24 * 60))
            tokens = None if chance.random() < 0.2 else (chance.randint(0, 900), chance.randint(0, 300))
            cost = chance.randint(0, 50)
            await call(superuser, who, at, tokens, cost)
            if who is JANE or at.date() < first:
                continue
            taken = [1, *(tokens or (0, 0)), 0 if tokens else 1000, cost]
            by_day[at.date()] = [a + b for a, b in zip(by_day.get(at.date(), [0] * 5), taken, strict=True)]
            by_user[who] = by_user.get(who, 0) + sum(taken[1:4])
        found = await oversight.spending(ADMIN, NOW, days)
        assert {one.day: _told(one) for one in found.days} == by_day
        assert [one.day for one in found.days] == sorted(by_day) and found.since == first and found.until == NOW.date()
        assert _told(found.total) == [sum(column) for column in zip(*by_day.values(), strict=True)] or not by_day
        taken_by = {one.user_id: one.prompt_tokens + one.completion_tokens + one.open_tokens for one in found.users}
        assert taken_by == {who.user_id: taken for who, taken in by_user.items()}
        assert list(taken_by.values()) == sorted(taken_by.values(), reverse=True)
        assert found.user_count == len(by_user)

    async def test_runs_are_counted_with_their_askers(self, oversight: Oversight, database: Database) -> None:
        rooms = rooms_on(database)
        for who in (LAN, LAN, MINH, JANE):
            await rooms.register(who)
        found = await oversight.spending(ADMIN, datetime.now(UTC), 1)
        assert (found.total.runs, found.total.failed, found.total.calls) == (3, 0, 0)
        assert [(one.user_id, one.runs) for one in found.users] == [(LAN.user_id, 2), (MINH.user_id, 1)]

    async def test_whoever_is_no_administrator_sees_nothing(
        self, oversight: Oversight, superuser: Connection, database: Database
    ) -> None:
        await call(superuser, LAN, NOW, (1, 1))
        await call(superuser, MINH, NOW, (1, 1))
        found = await oversight.spending(LAN, NOW, 5)
        assert (found.days, found.users, found.total) == ((), (), Spent())
        async with database.principal_scope(LAN) as tx:
            assert await tx.driver.fetchval("select count(*) from model_calls") == 1
        async with database.principal_scope(ADMIN) as tx:
            assert await tx.driver.fetchval("select count(*) from model_calls") == 2
            assert await tx.driver.execute("update model_calls set cost_micros = 0") == "UPDATE 0"
        async with database.principal_scope(OTHER_ADMIN) as tx:
            assert await tx.driver.fetchval("select count(*) from model_calls") == 0

    async def test_a_cost_means_something_once_prices_are_set(
        self, oversight: Oversight, superuser: Connection, database: Database
    ) -> None:
        await call(superuser, LAN, NOW, (10, 1))
        assert not (await oversight.spending(ADMIN, NOW, 5)).is_priced
        assert (
            await Oversight(database, rooms_on(database).registry, is_priced=True).spending(ADMIN, NOW, 5)
        ).is_priced
        await call(superuser, LAN, NOW, (10, 1), cost=7)
        found = await oversight.spending(ADMIN, NOW, 5)
        assert found.is_priced and found.total.cost_micros == 7


def _told(spent: Spent) -> list[int]:
    return [spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.open_tokens, spent.cost_micros]
