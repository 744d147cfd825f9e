"""Migrations: up, down, up again; from a shell and in process; the tables as the code describes them."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.health import Ruling
from app.domain.principal import Principal
from app.ingestion.catalogue import Catalogue
from app.ingestion.health import Health
from app.reasoning.local.terms import concepts_in
from app.storage import tenants
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import current, downgrade, is_current, upgrade
from tests.chaos.machines import until
from tests.databases import create_database
from tests.factories import principal
from tests.limits import limit
from tests.postgres.running import LAN, rooms_on
from tests.postgres.test_health import LEAVE_12, LEAVE_14, SPACE, TODAY, Shelf

ROOT = Path(__file__).parents[2]
_WAITS = "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')"


@pytest.fixture
def empty(embedded_server: EmbeddedServer, request: pytest.FixtureRequest) -> str:
    """The name of a database nobody migrated yet."""
    name = f"empty_{abs(hash(request.node.name))}"
    create_database(embedded_server, name)
    return name


async def _objects(url: str) -> set[str]:
    """Everything in the schema: tables, columns, indexes, policies, functions, triggers, constraints, grants."""
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("""
        select 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable as what
            from information_schema.columns where table_schema = 'public'
        union all select 'index ' || indexdef from pg_indexes where schemaname = 'public'
        union all select 'policy ' || tablename || '.' || policyname || ' ' || cmd || coalesce(qual, '') || roles::text
            from pg_policies
        union all select 'function ' || proname from pg_proc p where pronamespace = 'public'::regnamespace
            and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
        union all select 'trigger ' || tgname from pg_trigger where not tgisinternal
        union all select 'constraint ' || conname from pg_constraint where connamespace = 'public'::regnamespace
        union all select 'grant ' || grantee || ' ' || table_name || ' ' || privilege_type
            from information_schema.table_privileges where table_schema = 'public'
    """)
    await connection.close()
    return {row["what"] for row in rows}


class TestMigrations:
    async def test_go_up_down_and_up_to_the_same_schema(self, embedded_server: EmbeddedServer, empty: str) -> None:
        owner = embedded_server.url("conclave_owner", empty)
        assert await current(owner) is None
        await asyncio.to_thread(upgrade, owner)
        first = await _objects(owner)
        assert await is_current(embedded_server.url("conclave_app", empty))
        downgrade(owner, "base")
        left = {line for line in await _objects(owner) if "alembic_version" not in line}
        assert left == set()
        assert not await is_current(owner)
        upgrade(owner)
        assert await _objects(owner) == first

    async def test_change_nothing_when_run_again(self, embedded_server: EmbeddedServer, empty: str) -> None:
        owner = embedded_server.url("conclave_owner", empty)
        await asyncio.gather(*(asyncio.to_thread(upgrade, owner) for _ in range(3)))
        upgrade(owner)
        assert await is_current(owner)

    async def test_let_an_older_version_go_on(self, embedded_server: EmbeddedServer, empty: str) -> None:
        """While machines are replaced one by one, those not yet replaced stand on the new version's schema."""
        owner = embedded_server.url("conclave_owner", empty)
        await asyncio.to_thread(upgrade, owner)
        connection = await asyncpg.connect(owner)
        await connection.execute("update alembic_version set version_num = '9999'")
        assert await is_current(owner)
        await connection.execute("update alembic_version set version_num = '0001'")
        assert not await is_current(owner)
        await connection.close()

    async def test_step_back_from_a_table_in_use(self, embedded_server: EmbeddedServer, empty: str) -> None:
        """While somebody holds a table that a migration wants, those it has are given back to who waits for them."""
        owner = embedded_server.url("conclave_owner", empty)
        await asyncio.to_thread(upgrade, owner, "0024")
        holding, asking = await asyncio.gather(asyncpg.connect(owner), asyncpg.connect(owner))
        try:
            async with asyncio.timeout(limit(20)), holding.transaction():
                await holding.execute("lock table feedback in row exclusive mode")
                migrating = asyncio.ensure_future(asyncio.to_thread(upgrade, owner))
                await until(lambda: asking.fetchval(_WAITS), limit(20))
                async with asking.transaction():
                    await asking.execute("lock table tasks in row exclusive mode")
            await migrating
            assert await is_current(owner)
        finally:
            await asyncio.gather(holding.close(), asking.close())

    async def test_run_from_a_shell(self, embedded_server: EmbeddedServer, empty: str) -> None:
        owner = embedded_server.url("conclave_owner", empty)
        environment = {**os.environ, "CONCLAVE_DATABASE_OWNER_URL": owner}
        done = await asyncio.to_thread(
            subprocess.run, (sys.executable, "-m", "alembic", "upgrade", "head"), cwd=ROOT, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert await is_current(owner)

    async def test_leave_no_half_schema_behind_when_they_fail(
        self, embedded_server: EmbeddedServer, empty: str
    ) -> None:
        owner = embedded_server.url("conclave_owner", empty)
        connection = await asyncpg.connect(owner)
        await connection.execute("create table idempotency_keys (in_the_way int)")
        with pytest.raises(asyncpg.DuplicateTableError):
            upgrade(owner)
        tables = "select tablename from pg_tables where schemaname = 'public' and tablename <> 'alembic_version'"
        assert [row[0] for row in await connection.fetch(tables)] == ["idempotency_keys"]
        await connection.execute("drop table idempotency_keys")
        await connection.close()
        upgrade(owner)
        assert await is_current(owner)


class TestDocumentsThatAreThere:
    """What an installation holds that was made before versions arrived in stages."""

    async def test_are_kept_on_the_way_up_and_down(self, embedded_server: EmbeddedServer, empty: str) -> None:
        owner, reader = embedded_server.url("conclave_owner", empty), principal(scopes=("public",))
        await asyncio.to_thread(upgrade, owner, "0001")
        superuser = await asyncpg.connect(embedded_server.url("postgres", empty))
        service = await Database.connect(embedded_server.url("conclave_app", empty))
        try:
            document_id = await _write_old_document(superuser, reader)
            await asyncio.to_thread(upgrade, owner)
            catalogue = Catalogue(service)
            seen = await catalogue.find(reader, document_id)
            assert (seen.status, seen.current_version, seen.latest_version) == ("ready", 2, 2)
            assert seen.effective_to == date(2026, 12, 31)
            assert seen.url == f"/api/v1/documents/{document_id}"  # what was there opened nothing anybody may open
            assert [one.version for one in await catalogue.versions(reader, document_id, 10)] == [2, 1]
            # A version that has not come to its end, and one that stands for days of its own.
            await superuser.execute(
                "insert into document_versions (tenant_id, document_id, version, content_hash, department, scope,"
                " created_by, status) values ($1, $2, 3, '', 'hr', 'public', $1, 'parsing')",
                reader.tenant_id, document_id,
            )  # fmt: skip
            await superuser.execute(
                "insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded,"
                " department, scope) values ($1, $1, $2, 1, 0, 'old', '', '', 'hr', 'public')",
                reader.tenant_id, document_id,
            )  # fmt: skip
            await asyncio.to_thread(downgrade, owner, "0001")
            versions = "select array_agg(version order by version) from {} where document_id = $1"
            assert await superuser.fetchval(versions.format("document_versions"), document_id) == [1, 2]
            assert await superuser.fetchval(versions.format("chunks"), document_id) == [2]
            await asyncio.to_thread(upgrade, owner)
            assert (await catalogue.find(reader, document_id)).current_version == 2
        finally:
            await service.dispose()
            await superuser.close()


class TestFindingsThatAreThere:
    """What was found before findings were known by their sentences."""

    async def test_become_open_rows_an_examination_finds_again(
        self, embedded_server: EmbeddedServer, empty: str
    ) -> None:
        owner = embedded_server.url("conclave_owner", empty)
        await asyncio.to_thread(upgrade, owner, "0014")
        superuser = await asyncpg.connect(embedded_server.url("postgres", empty))
        service = await Database.connect(embedded_server.url("conclave_app", empty))
        admin = principal(roles=("admin",))
        try:
            await superuser.execute("insert into tenants (tenant_id, name) values ($1, 'acme')", admin.tenant_id)
            shelf = Shelf(superuser, admin.tenant_id)
            for name, text in (("policy", LEAVE_14), ("other", LEAVE_12)):
                await shelf.publish(name, text)
            for one, other in ((("policy", "14"), ("other", "12")), (("other", "12"), ("policy", "14"))):
                await _write_old_finding(superuser, shelf, one, other)
            await asyncio.to_thread(upgrade, owner)
            before = await superuser.fetch("select finding_id, status, judge, version from document_findings")
            assert [tuple(row)[1:] for row in before] == [("open", "rule", 1)]
            health = Health(service, SPACE, concepts=concepts_in, today=lambda _zone: TODAY)
            one = before[0]["finding_id"]
            await health.act(admin, one, "decide", Ruling(verdict="different_cases"))
            assert await health.examine(admin, shelf.ids["policy"]) == 1
            after = await superuser.fetch("select finding_id, status from document_findings")
            assert [tuple(row) for row in after] == [(one, "decided")]
            await asyncio.to_thread(downgrade, owner, "0014")
            assert await superuser.fetchval("select count(*) from document_findings") == 1
        finally:
            await service.dispose()
            await superuser.close()


async def _write_old_finding(
    superuser: "asyncpg.Connection[asyncpg.Record]", shelf: Shelf, one: tuple[str, str], other: tuple[str, str]
) -> None:
    """As it was written until 0014, when the same could stand there twice."""
    sides = []
    for name, days in (one, other):
        chunk = await superuser.fetchval("select chunk_id from chunks where document_id = $1", shelf.ids[name])
        sides.append((shelf.ids[name], chunk, f"{days} ngày", LEAVE_14 if name == "policy" else LEAVE_12))
    mine, theirs = sides
    await superuser.execute(
        "insert into document_findings (tenant_id, finding_id, kind, document_id, chunk_id, value, sentence,"
        " other_document_id, other_chunk_id, other_value, other_sentence, unit, similarity, score)"
        " values ($1, $2, 'contradiction', $3, $4, $5, $6, $7, $8, $9, $10, 'day', 1, 0.9)",
        shelf.tenant, uuid4(), *mine, *theirs,
    )  # fmt: skip


async def _write_old_document(superuser: "asyncpg.Connection[asyncpg.Record]", reader: Principal) -> UUID:
    document_id, tenant = uuid4(), reader.tenant_id
    await superuser.execute("insert into tenants (tenant_id, name) values ($1, 'acme')", tenant)
    await superuser.execute(
        "insert into documents (tenant_id, document_id, external_id, title, url, department, scope, created_at,"
        " effective_to, status, current_version)"
        " values ($1, $2, 'd', 'd', 'javascript:alert(1)', 'hr', 'public', now(), '2026-12-31', 'ready', 2)",
        tenant, document_id,
    )  # fmt: skip
    for version in (1, 2):
        await superuser.execute(
            "insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope,"
            " created_by) values ($1, $2, $3, '', '', 'hr', 'public', $1)",
            tenant, document_id, version,
        )  # fmt: skip
    await superuser.execute(
        "insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded, department,"
        " scope, is_current) values ($1, $2, $2, 2, 0, 'new', '', '', 'hr', 'public', true)",
        tenant, document_id,
    )  # fmt: skip
    return document_id


class TestSomebodyElsesServer:
    """An operator's PostgreSQL: its own role names, and no superuser for us."""

    async def test_makes_the_missing_roles_and_serves_through_a_member_of_them(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="conclave-theirs-"))
        server = start_embedded(folder, durable=False)
        superuser = await asyncpg.connect(server.url("postgres", "postgres"))
        try:
            await superuser.execute("drop database conclave")
            await superuser.execute("drop role conclave_owner, conclave_app, conclave_maintenance")
            await superuser.execute("create role their_dba login createrole")
            await superuser.execute("create database theirs owner their_dba")
            inside = await asyncpg.connect(server.url("postgres", "theirs"))
            await inside.execute("create extension vector")
            await inside.close()
            await asyncio.to_thread(upgrade, server.url("their_dba", "theirs"))
            await superuser.execute("create role their_service login in role conclave_app")
            await self._use(server)
        finally:
            await superuser.close()
            server.stop()
            shutil.rmtree(folder)

    async def _use(self, server: EmbeddedServer) -> None:
        operator = await Database.connect(server.url("their_dba", "theirs"))
        service = await Database.connect(server.url("their_service", "theirs"))
        try:
            async with operator.operator_scope() as tx:
                await tenants.add_tenant(tx, "acme")
            await service.check_row_security()
            task = await rooms_on(service).register()
            async with service.principal_scope(LAN) as tx:
                assert [one.name for one in await tenants.tenants(tx)] == ["acme"]
                assert await tx.driver.fetchval("select count(*) from tasks where task_id = $1", task.task_id) == 1
        finally:
            await service.dispose()
            await operator.dispose()
