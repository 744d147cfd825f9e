"""What the database itself says about its tables: tenant column, policies, keys, roles."""

import re

import asyncpg
import pytest

from app.errors import AppError, ErrorCode
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer
from tests.databases import create_database

TABLES = {
    "tenants", "users", "sessions", "tasks", "events", "agent_contexts", "semantic_vectors", "documents",
    "document_versions", "chunks", "chunk_vectors", "embedding_cache", "conflicts", "feedback", "system_logs", "audit",
    "idempotency_keys", "document_originals", "document_findings", "document_examinations", "model_calls",
    "model_usage", "attachments", "handoffs", "deep_states", "api_keys", "audit_heads", "sign_ins",
    "connectors", "connector_documents", "desk_items", "desk_tellings", "accounts", "invitations",
    "sign_in_tries",
}  # fmt: skip
_OWN_TENANT = re.compile(r"tenant_id = (app_tenant\(\)|\( SELECT app_tenant\(\) AS app_tenant\))")
FOREIGN = {"pgqueuer", "pgqueuer_log", "pgqueuer_statistics", "pgqueuer_schedules", "alembic_version"}


async def _names(superuser: "asyncpg.Connection[asyncpg.Record]", query: str) -> set[str]:
    return {row[0] for row in await superuser.fetch(query)}


class TestEveryTable:
    async def test_is_known_here(self, superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
        query = (
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r','p','v','m')"
        )
        assert await _names(superuser, query) == TABLES | FOREIGN

    async def test_names_its_tenant(self, superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
        query = """select attrelid::regclass::text from pg_attribute where attname = 'tenant_id' and attnotnull
            and atttypid = 'uuid'::regtype
            and attrelid in (select oid from pg_class where relkind in ('r', 'p') and not relispartition)"""
        assert await _names(superuser, query) == TABLES

    async def test_enables_and_forces_row_security(self, superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
        query = "select relname from pg_class where relrowsecurity and relforcerowsecurity"
        assert await _names(superuser, query) == TABLES

    async def test_checks_what_the_app_reads_and_what_it_writes(
        self, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        rows = await superuser.fetch(
            "select tablename, cmd, qual, with_check from pg_policies where 'conclave_app' = any(roles)"
        )
        assert {row["tablename"] for row in rows} == TABLES
        for row in rows:
            reads, writes = row["cmd"] != "INSERT", row["cmd"] in ("ALL", "INSERT", "UPDATE")
            assert not reads or _OWN_TENANT.search(row["qual"]), row
            assert not writes or _OWN_TENANT.search(row["with_check"]), row

    async def test_grants_the_app_no_command_without_a_policy(
        self, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        query = """select table_name || ':' || privilege_type from information_schema.table_privileges g
            where grantee = 'conclave_app' and not exists (select from pg_policies p
                where p.tablename = g.table_name and 'conclave_app' = any(p.roles)
                    and p.cmd in ('ALL', g.privilege_type))"""
        ungoverned = await _names(superuser, query)
        assert {name.partition(":")[0] for name in ungoverned} == FOREIGN

    async def test_keeps_the_tenant_in_every_key_and_reference(
        self, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        rows = await superuser.fetch("""
            select c.conrelid::regclass::text as "table", c.conname, c.contype,
                'tenant_id' = any(select attname from pg_attribute a
                    where a.attrelid = c.conrelid and a.attnum = any(c.conkey)) as own,
                c.contype <> 'f' or 'tenant_id' = any(select attname from pg_attribute a
                    where a.attrelid = c.confrelid and a.attnum = any(c.confkey)) as referred
            from pg_constraint c where c.contype in ('p', 'u', 'f') and c.connamespace = 'public'::regnamespace
        """)
        keyed = [row for row in rows if row["table"] in TABLES]
        assert {row["table"] for row in keyed} == TABLES
        # A tenant's name is the operator's to give, and only the operator can collide with another one.
        loose = {row["conname"] for row in keyed if not (row["own"] and row["referred"])}
        assert loose == {"tenants_name_key"}

    async def test_belongs_to_the_owner_role_alone(self, superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
        query = "select distinct tableowner from pg_tables where schemaname = 'public'"
        assert await _names(superuser, query) == {"conclave_owner"}

    async def test_is_reached_through_its_parent_where_it_is_a_part(
        self, superuser: "asyncpg.Connection[asyncpg.Record]", app_url: str
    ) -> None:
        """Nobody but the owner may touch the parts of a table: policies are those of the whole."""
        await superuser.execute("select make_log_months(now() - interval '40 days', now())")
        rows = await superuser.fetch("select oid::regclass::text as part, relacl from pg_class where relispartition")
        parts = {row["part"] for row in rows if row["relacl"] is None}
        tables = {part for part in parts if not part.endswith("_pkey")}
        assert len(tables) >= 3
        assert {row["part"] for row in rows} == parts
        stranger = await asyncpg.connect(app_url)
        try:
            for part in sorted(tables):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await stranger.fetch(f"select * from {part}")
        finally:
            await stranger.close()

    async def test_keeps_vectors_inline_and_of_any_length(
        self, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        rows = await superuser.fetch("""
            select attrelid::regclass::text as "table", attstorage::text, atttypmod from pg_attribute
            where atttypid = 'vector'::regtype and attrelid in (select oid from pg_class where relkind = 'r')
        """)
        assert {row["table"] for row in rows} == {"semantic_vectors", "chunk_vectors", "embedding_cache"}
        assert {row["atttypmod"] for row in rows} == {-1}
        assert {row["attstorage"] for row in rows if row["table"] != "semantic_vectors"} == {"m"}


ROLES_TOO_STRONG = {
    "bypasser": "login bypassrls in role conclave_app",
    "owners_friend": "login noinherit in role conclave_owner",
    "sees_all_tenants": "login inherit in role conclave_app, conclave_maintenance",
    "may_become_maintenance": "login noinherit in role conclave_app, conclave_maintenance",
    "a_group_of_operators": "nologin in role conclave_maintenance",
    "far_from_maintenance": "login in role conclave_app, a_group_of_operators",
    "may_take_it": "login in role conclave_app",
    "a_superusers_group": "nologin superuser",
    "may_become_superuser": "login in role conclave_app, a_superusers_group",
    "a_bypassing_group": "nologin bypassrls",
    "may_become_bypasser": "login in role conclave_app, a_bypassing_group",
}
"""By name; groups stand before their members."""


async def make_roles(superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Make the roles of these tests, where no other test of this server has."""
    for name, rights in {**ROLES_TOO_STRONG, "their_service_user": "login in role conclave_app"}.items():
        if not await superuser.fetchval("select exists (select from pg_roles where rolname = $1)", name):
            await superuser.execute(f"create role {name} {rights}")
    await superuser.execute("grant conclave_maintenance to may_take_it with admin true, inherit false, set false")


class TestStartUpCheck:
    async def test_accepts_the_app_role(self, database: Database) -> None:
        await database.check_row_security()

    @pytest.mark.parametrize(
        "role", ["postgres", "conclave_owner", *(name for name in ROLES_TOO_STRONG if not name.startswith("a_"))]
    )
    async def test_refuses_roles_the_policies_would_not_bind(
        self,
        role: str,
        embedded_server: EmbeddedServer,
        database_name: str,
        superuser: "asyncpg.Connection[asyncpg.Record]",
    ) -> None:
        await make_roles(superuser)
        refused = await Database.connect(embedded_server.url(role, database_name))
        try:
            with pytest.raises(AppError, match=role) as refusal:
                await refused.check_row_security()
        finally:
            await refused.dispose()
        assert (refusal.value.code, refusal.value.status) == (ErrorCode.DATABASE_UNSAFE, 503)

    async def test_refuses_a_session_that_only_begins_as_the_app_role(
        self, embedded_server: EmbeddedServer, database_name: str
    ) -> None:
        begins_as_app = f"{embedded_server.url('postgres', database_name)}&options=-c%20role%3Dconclave_app"
        refused = await Database.connect(begins_as_app)
        try:
            with pytest.raises(AppError, match="postgres is a superuser"):
                await refused.check_row_security()
        finally:
            await refused.dispose()

    async def test_accepts_another_member_of_the_app_role(
        self, embedded_server: EmbeddedServer, database_name: str, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        await make_roles(superuser)
        accepted = await Database.connect(embedded_server.url("their_service_user", database_name))
        try:
            await accepted.check_row_security()
        finally:
            await accepted.dispose()

    async def test_refuses_a_table_whose_row_security_is_not_forced(self, database: Database, owner_url: str) -> None:
        owner = await asyncpg.connect(owner_url)
        await owner.execute("alter table events no force row level security")
        try:
            with pytest.raises(AppError, match="without forced row-level security"):
                await database.check_row_security()
        finally:
            await owner.execute("alter table events force row level security")
            await owner.close()

    async def test_refuses_a_database_that_was_never_migrated(self, embedded_server: EmbeddedServer) -> None:
        create_database(embedded_server, "never_migrated")
        empty = await Database.connect(embedded_server.url("conclave_app", "never_migrated"))
        try:
            with pytest.raises(AppError, match="migrations have not run"):
                await empty.check_row_security()
        finally:
            await empty.dispose()
