"""What goes after its time, in batches and as the maintenance role, and what a legal hold keeps."""

from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from typing import TypeAlias
from uuid import uuid4

import asyncpg
import pytest

from app.domain.principal import Principal, user_id_of
from app.errors import AppError
from app.sessions.session import SessionStore
from app.storage import audit, documents, tenants
from app.storage.audit import Wanted
from app.storage.database import Database
from app.trust.chain import verify
from app.trust.retention import Days, sweep
from tests.factories import NOW, principal

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_numbers = count(1)
OLD, NEW = NOW - timedelta(days=40), NOW - timedelta(days=20)


@pytest.fixture(scope="module")
async def operator(maintenance_url: str) -> AsyncIterator[Database]:
    operator = await Database.connect(maintenance_url, pool_size=1)
    yield operator
    await operator.dispose()


@pytest.fixture
async def boss(operator: Database) -> Principal:
    """An administrator of a company of its own, in which there are kim and lan."""
    name = f"kept-{next(_numbers)}"
    async with operator.operator_scope() as tx:
        tenant = await tenants.add_tenant(tx, name)
        for one in ("kim", "lan"):
            await tenants.add_user(tx, tenant.tenant_id, one, department="hr", scopes={"public"})
    return principal(name, "boss", "general", ("public",), ("admin",))


async def talk(superuser: Superuser, who: Principal, name: str, moments: list[object]) -> None:
    user_id = user_id_of(who.tenant_id, name)
    for moment in moments:
        session_id, task_id = uuid4(), uuid4()
        await superuser.execute(
            "insert into sessions (tenant_id, user_id, session_id, user_input, updated_at) values ($1, $2, $3, '', $4)",
            who.tenant_id, user_id, session_id, moment,
        )  # fmt: skip
        await superuser.execute(
            "insert into tasks (tenant_id, user_id, task_id, root_task_id, session_id, kind, title)"
            " values ($1, $2, $3, $3, $4, 'chat', '')",
            who.tenant_id, user_id, task_id, session_id,
        )  # fmt: skip
        await superuser.execute(
            "insert into attachments (tenant_id, user_id, file_id, name, kind, byte_count, sha256, content, expires_at,"
            " created_at) values ($1, $2, $3, 'a.csv', 'csv', 1, '', '{}', 'infinity', $4)",
            who.tenant_id, user_id, session_id, moment,
        )  # fmt: skip


async def left(superuser: Superuser, who: Principal, name: str) -> list[int]:
    return [
        await superuser.fetchval(
            f"select count(*) from {table} where tenant_id = $1 and user_id = $2",
            who.tenant_id, user_id_of(who.tenant_id, name),
        )
        for table in ("sessions", "tasks", "attachments")
    ]  # fmt: skip


class TestSweep:
    async def test_takes_what_is_too_old_in_batches_and_keeps_what_is_held(
        self, operator: Database, superuser: Superuser, boss: Principal
    ) -> None:
        for name in ("kim", "lan"):
            await talk(superuser, boss, name, [OLD, OLD, OLD, NEW])
        async with operator.operator_scope() as tx:
            assert await audit.hold(tx, boss.tenant_id, user_id_of(boss.tenant_id, "lan"), held=True)
            assert not await audit.hold(tx, boss.tenant_id, uuid4(), held=True)
        assert set((await sweep(operator, Days(), NOW)).values()) == {0}
        gone = await sweep(operator, Days(conversations=30, files=30), NOW, batch=2)
        assert (gone["conversations"], gone["files"]) == (3, 3)
        assert await left(superuser, boss, "kim") == [1, 1, 1]
        assert await left(superuser, boss, "lan") == [4, 4, 4]

    async def test_takes_the_oldest_acts_and_the_chain_holds(
        self, operator: Database, database: Database, superuser: Superuser, boss: Principal
    ) -> None:
        for number in range(7):
            async with database.principal_scope(boss) as tx:
                await documents.note(tx, "tried", str(number), {})
        later = await superuser.fetchval("select now() + interval '31 days'")
        assert (await sweep(operator, Days(audit=60), later))["audit"] == 0
        assert (await sweep(operator, Days(audit=30), later, batch=3))["audit"] >= 8
        found = await verify(database, boss)
        assert found.rows + found.removed == found.head_seq and found.rows < 5
        async with database.principal_scope(boss) as tx:
            assert (await audit.page(tx, Wanted(), None, 10))[0].action == "audit_removed"


class TestLegalHold:
    async def test_refuses_erasure_until_it_is_lifted(
        self, operator: Database, database: Database, superuser: Superuser, boss: Principal
    ) -> None:
        await talk(superuser, boss, "kim", [NEW])
        kim, store = principal("", "kim", "hr", ("public",)), SessionStore(database)
        kim = kim.model_copy(update={"tenant_id": boss.tenant_id, "user_id": user_id_of(boss.tenant_id, "kim")})
        session_id = await superuser.fetchval("select session_id from sessions where user_id = $1", kim.user_id)
        async with operator.operator_scope() as tx:
            await audit.hold(tx, boss.tenant_id, kim.user_id, held=True)
        for refused in (store.erase(boss, kim.user_id), store.erase(kim, kim.user_id), store.delete(kim, session_id)):
            with pytest.raises(AppError, match="legal hold") as told:
                await refused
            assert told.value.status == 409
        assert await left(superuser, boss, "kim") == [1, 1, 1]
        async with operator.operator_scope() as tx:
            await audit.hold(tx, boss.tenant_id, kim.user_id, held=False)
        await store.erase(boss, kim.user_id)
        assert await left(superuser, boss, "kim") == [0, 0, 0]
        async with database.principal_scope(boss) as tx:
            acts = [one.action for one in await audit.page(tx, Wanted(), None, 20)]
        assert acts.count("data_erased") == 1 and acts.count("user_changed") == 2

    async def test_is_the_operators_to_set_and_to_lift(
        self, operator: Database, database: Database, boss: Principal
    ) -> None:
        lan = user_id_of(boss.tenant_id, "lan")
        async with operator.operator_scope() as tx:
            await audit.hold(tx, boss.tenant_id, lan, held=True)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(boss) as tx:
                await tx.driver.execute("update users set legal_hold = false where user_id = $1", lan)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(boss) as tx:
                await tx.driver.execute("delete from users where user_id = $1", lan)
