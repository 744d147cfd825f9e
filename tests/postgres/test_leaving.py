"""A tenant leaves: nothing of it is in any table afterwards, and nothing of another one is missing."""

import json
import random
from collections.abc import Sequence
from uuid import UUID

import asyncpg
import pytest

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.storage import tenants
from app.storage.database import Database
from tests.postgres.test_catalogue import TABLES
from tests.postgres.world import principals, write_world

EVERY_TABLE = """
select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
"""
ENQUEUE = "insert into pgqueuer (priority, status, entrypoint, payload) values (0, 'queued', 'run_task', $1)"


@pytest.fixture
async def world(superuser: "asyncpg.Connection[asyncpg.Record]") -> Sequence[Principal]:
    """Two companies with rows in every table, and jobs in the queue."""
    callers = principals(random.Random(7), ("leaver", "stayer"), 6)
    await write_world(superuser, callers, documents_each=1)
    for one in callers:
        for row in await superuser.fetch("select task_id, user_id from tasks where user_id = $1", one.user_id):
            job = {"tenant_id": str(one.tenant_id), "user_id": str(row["user_id"]), "task_id": str(row["task_id"])}
            await superuser.execute(ENQUEUE, json.dumps(job).encode())
    return callers


async def traces(superuser: "asyncpg.Connection[asyncpg.Record]", tenant_id: UUID) -> dict[str, int]:
    """How many rows name a tenant anywhere, by table; bytes are read as text."""
    found = {}
    for (table,) in await superuser.fetch(EVERY_TABLE):
        said = "convert_from(payload, 'UTF8')" if table == "pgqueuer" else "t::text"
        found[table] = await superuser.fetchval(
            f"select count(*) from {table} t where strpos({said}, $1) > 0", str(tenant_id)
        )
    return found


class TestATenantThatLeaves:
    async def test_is_in_no_table_any_more_and_takes_nothing_of_others(
        self, superuser: "asyncpg.Connection[asyncpg.Record]", world: Sequence[Principal], maintenance_url: str
    ) -> None:
        leaver, stayer = world[0].tenant_id, world[1].tenant_id
        held, kept = await traces(superuser, leaver), await traces(superuser, stayer)
        assert all(held[table] for table in (TABLES | {"pgqueuer"})), held
        operator = await Database.connect(maintenance_url, pool_size=1)
        try:
            await superuser.execute("update users set legal_hold = true where user_id = $1", world[0].user_id)
            with pytest.raises(AppError, match="legal hold") as refused:
                async with operator.operator_scope() as tx:
                    await tenants.remove_tenant(tx, leaver)
            assert (refused.value.code, refused.value.status) == (ErrorCode.VALIDATION_FAILED, 409)
            await superuser.execute("update users set legal_hold = false where user_id = $1", world[0].user_id)
            async with operator.operator_scope() as tx:
                gone = await tenants.remove_tenant(tx, leaver)
                assert await tenants.remove_tenant(tx, leaver) == {}
        finally:
            await operator.dispose()
        assert gone["tenants"] == 1 and gone["audit"] > 0
        assert {table: count for table, count in (await traces(superuser, leaver)).items() if count} == {}
        assert await traces(superuser, stayer) == kept

    async def test_is_removed_by_nobody_but_the_operator(
        self, superuser: "asyncpg.Connection[asyncpg.Record]", database: Database, app_url: str, owner_url: str
    ) -> None:
        admin = principals(random.Random(8), ("staying",), 1)[0]
        await write_world(superuser, [admin], documents_each=1)
        before = await traces(superuser, admin.tenant_id)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(admin) as tx:
                await tx.driver.execute("select * from remove_tenant($1)", admin.tenant_id)
        async with database.principal_scope(admin) as tx:  # nor does the setting open anything by itself
            await tx.driver.execute("select set_config('app.leaving', $1, true)", str(admin.tenant_id))
            assert await tx.driver.fetchval("select app_leaving()") is None
        owner = await asyncpg.connect(owner_url)
        try:
            assert await owner.fetchval("select count(*) from documents") == 0
        finally:
            await owner.close()
        assert await traces(superuser, admin.tenant_id) == before

    async def test_needs_a_way_out_of_every_table(self, superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
        policies = "select tablename from pg_policies where policyname = $1 and cmd = $2"
        for name, command in (("leaving", "DELETE"), ("leaving_is_seen", "SELECT")):
            found = {row[0] for row in await superuser.fetch(policies, name, command)}
            assert found == TABLES, "a migration that makes a table calls let_leave"
