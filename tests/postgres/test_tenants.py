"""Tenants are made by the operator; people by the operator or their administrator."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from app.domain.principal import tenant_id_of
from app.storage import tenants
from app.storage.database import Database
from tests.factories import principal

ADMIN = principal("acme", "admin", "general", ("public",), ("admin",))


@pytest.fixture(scope="module")
async def operator(maintenance_url: str) -> AsyncIterator[Database]:
    operator = await Database.connect(maintenance_url, pool_size=1)
    async with operator.operator_scope() as tx:
        for name in ("acme", "globex"):
            tenant = await tenants.add_tenant(tx, name, display_name=name.title())
            await tenants.add_user(tx, tenant.tenant_id, "lan", department="hr", scopes={"public", "private"})
    yield operator
    await operator.dispose()


class TestOperator:
    async def test_makes_tenants_and_people_again_without_doubling_them(self, operator: Database) -> None:
        async with operator.operator_scope() as tx:
            await tenants.add_tenant(tx, "acme", display_name="Acme JSC")
            assert [(one.name, one.display_name) for one in await tenants.tenants(tx)] == [
                ("acme", "Acme JSC"), ("globex", "Globex"),
            ]  # fmt: skip
            [lan] = await tenants.users(tx, tenant_id_of("acme"))
        assert lan.principal() == principal("acme", "lan", "hr", ("public", "private"))

    @pytest.mark.parametrize("table", ["documents", "chunks", "chunk_vectors", "document_versions", "audit"])
    async def test_reads_no_documents(self, operator: Database, table: str) -> None:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with operator.operator_scope() as tx:
                await tx.driver.fetch(f"select * from {table}")

    async def test_removes_old_rows_without_seeing_what_they_say(self, operator: Database) -> None:
        async with operator.operator_scope() as tx:
            await tx.driver.execute("delete from events where created_at < now() - interval '1 year'")
        for column, table in (("event", "events"), ("request", "tasks"), ("user_input", "sessions")):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with operator.operator_scope() as tx:
                    await tx.driver.fetch(f"select {column} from {table}")


class TestAdministrator:
    async def test_sees_the_own_tenant_and_its_people_only(self, operator: Database, database: Database) -> None:
        async with database.principal_scope(ADMIN) as tx:
            assert [tenant.name for tenant in await tenants.tenants(tx)] == ["acme"]
            assert await tenants.users(tx, tenant_id_of("globex")) == []
            [lan] = await tenants.users(tx, ADMIN.tenant_id)
            assert await tenants.user(tx, ADMIN.tenant_id, lan.user_id) == lan

    async def test_changes_a_persons_rights_in_the_own_tenant_only(
        self, operator: Database, database: Database
    ) -> None:
        async with database.principal_scope(ADMIN) as tx:
            an = await tenants.add_user(tx, ADMIN.tenant_id, "an", department="general", scopes={"public"})
            assert await tenants.user(tx, ADMIN.tenant_id, an.user_id) == an
            await tx.driver.execute("delete from users where user_id = $1", an.user_id)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(ADMIN) as tx:
                await tenants.add_user(tx, tenant_id_of("globex"), "spy", department="hr", scopes={"private"})

    async def test_alone_changes_rights(self, operator: Database, database: Database) -> None:
        lan = principal("acme", "lan", "hr", ("public",))
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(lan) as tx:
                await tenants.add_user(tx, lan.tenant_id, "lan", department="hr", scopes={"private"}, roles={"admin"})
