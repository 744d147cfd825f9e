"""Budgets of model calls: reserved before, settled after, shared by everybody who draws on them."""

import asyncio
from dataclasses import replace
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.principal import Principal
from app.reasoning.budget import Account, LimitReached, Limits, Spent, StoredLedger
from app.storage.database import Database
from tests.factories import principal
from tests.postgres.running import JANE, LAN, MINH

NO_LIMITS = Limits(0, 0, 0, 0)
SPENT = Spent("hr", "compose", "m", "done", 60, 20, 7, 5)
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


def account(database: Database, who: Principal = LAN, run_id: UUID | None = None, **limits: int) -> Account:
    ledger = StoredLedger(database, replace(NO_LIMITS, **limits))
    return Account(who, run_id or uuid4(), asyncio.get_running_loop().time() + 60, ledger)


async def used(superuser: Connection, subject: UUID) -> dict[str, Any]:
    row = await superuser.fetchrow("select calls, tokens, cost_micros from model_usage where subject = $1", subject)
    return dict(row) if row else {}


class TestRun:
    async def test_may_spend_what_is_left_and_no_more(self, database: Database) -> None:
        run = account(database, run_tokens=250)
        await run.settle(await run.reserve("plan", "m", 200), SPENT)  # 80 spent
        call = await run.reserve("compose", "m", 170)
        with pytest.raises(LimitReached, match="run_tokens"):
            await run.reserve("compose", "m", 1)
        await run.settle(call, SPENT)
        await run.reserve("compose", "m", 90)
        assert [spent.purpose for spent in run.doings.calls] == ["compose", "compose"]

    async def test_may_make_so_many_calls(self, database: Database) -> None:
        run = account(database, run_calls=2)
        for _ in range(2):
            await run.settle(await run.reserve("plan", "m", 10), SPENT)
        with pytest.raises(LimitReached, match="run_calls"):
            await run.reserve("plan", "m", 10)

    async def test_calls_side_by_side_share_one_budget(self, database: Database) -> None:
        run = account(database, run_tokens=1_000)
        asked = await asyncio.gather(*(run.reserve("answer", "m", 100) for _ in range(25)), return_exceptions=True)
        assert sum(isinstance(one, UUID) for one in asked) == 10
        assert sum(isinstance(one, LimitReached) for one in asked) == 15

    async def test_finds_what_was_spent_before_it_was_taken_up_again(self, database: Database) -> None:
        before = account(database, run_tokens=100)
        await before.reserve("plan", "m", 90)  # and its process dies
        again = account(database, run_id=before.run_id, run_tokens=100)
        with pytest.raises(LimitReached):
            await again.reserve("plan", "m", 20)

    async def test_a_refused_call_leaves_no_trace(self, database: Database, superuser: Connection) -> None:
        who = principal(user="careful")
        run = account(database, who, run_tokens=5)
        with pytest.raises(LimitReached):
            await run.reserve("plan", "m", 6)
        assert await used(superuser, who.user_id) == {}
        assert await superuser.fetchval("select count(*) from model_calls where run_id = $1", run.run_id) == 0


class TestQuotas:
    async def test_count_what_calls_took_and_cost(self, database: Database, superuser: Connection) -> None:
        who = principal(user="spender")
        run = account(database, who)
        call = await run.reserve("compose", "m", 500)
        assert (await used(superuser, who.user_id))["tokens"] == 500
        await run.settle(call, SPENT)
        await run.ledger.settle(who, call, SPENT)  # a second time changes nothing
        assert await used(superuser, who.user_id) == {"calls": 1, "tokens": 80, "cost_micros": 7}

    async def test_of_a_person_hold_over_runs(self, database: Database) -> None:
        who = principal(user="eager")
        await account(database, who, user_tokens_per_day=100).reserve("plan", "m", 60)
        with pytest.raises(LimitReached, match="user_tokens"):
            await account(database, who, user_tokens_per_day=100).reserve("plan", "m", 60)
        await account(database, MINH, user_tokens_per_day=100).reserve("plan", "m", 60)

    async def test_of_a_tenant_hold_over_people(self, database: Database) -> None:
        one, other = principal("initech", "one"), principal("initech", "other")
        await account(database, one, tenant_tokens_per_day=100).reserve("plan", "m", 60)
        with pytest.raises(LimitReached, match="tenant_tokens"):
            await account(database, other, tenant_tokens_per_day=100).reserve("plan", "m", 60)
        await account(database, JANE, tenant_tokens_per_day=100).reserve("plan", "m", 60)

    async def test_a_first_call_of_the_day_may_be_too_large(self, database: Database) -> None:
        with pytest.raises(LimitReached, match="user_tokens"):
            await account(database, principal(user="new"), user_tokens_per_day=10).reserve("plan", "m", 11)

    async def test_many_people_at_once_do_not_wait_for_each_other_for_ever(self, database: Database) -> None:
        people = [principal("umbrella", f"user-{number}") for number in range(6)]
        runs = [account(database, who, tenant_tokens_per_day=10_000) for who in people for _ in range(5)]

        async def call(run: Account) -> None:
            for _ in range(4):
                await run.settle(await run.reserve("plan", "m", 10), SPENT)

        await asyncio.gather(*map(call, runs))


class TestRows:
    async def test_name_agent_step_and_outcome(self, database: Database, superuser: Connection) -> None:
        step = replace(account(database), agent="hr", task_id=uuid4())
        await step.settle(await step.reserve("answer", "m", 10), SPENT)
        row = await superuser.fetchrow("select * from model_calls where run_id = $1", step.run_id)
        assert row is not None
        assert (row["agent"], row["task_id"], row["purpose"], row["outcome"]) == ("hr", step.task_id, "answer", "done")
        assert (row["prompt_tokens"], row["completion_tokens"], row["cost_micros"]) == (60, 20, 7)
