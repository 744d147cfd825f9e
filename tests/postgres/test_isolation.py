"""Nobody sees a row that is not theirs: the policies alone, without a single WHERE."""

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator, Sequence
from itertools import product
from uuid import uuid4

import asyncpg
import pytest

from app.domain.principal import Principal
from app.storage.database import Database
from tests.factories import principal
from tests.measured import measured
from tests.postgres.test_catalogue import TABLES
from tests.postgres.world import KEYS, World, principals, write_world
from tests.samples import size

SEED = int(os.environ.get("CONCLAVE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
CHECKS = 20_000
CANCELLED = size(300, 20_000, trust=2_000)
WRITTEN_ONCE = {"audit", "document_originals", "sign_ins"}
"""Tables whose rows nobody may change."""
KEPT = {"tenants", "audit", "audit_heads", "model_calls", "model_usage", "api_keys", "desk_items", "desk_tellings"}
KEPT |= {"accounts", "invitations", "sign_in_tries"}
"""Tables whose rows the service never removes."""
_SETTINGS = ("app.tenant_id", "app.user_id", "app.scopes", "app.departments", "app.roles")


@pytest.fixture(autouse=True)
def tell_seed() -> None:
    """A failing run says how to repeat it."""
    sys.stdout.write(f"CONCLAVE_TEST_SEED={SEED}\n")


@pytest.fixture(scope="module")
def callers() -> Sequence[Principal]:
    return principals(random.Random(SEED), ("acme", "globex", "initech", "umbrella"), 48)


@pytest.fixture(scope="module")
async def world(superuser: "asyncpg.Connection[asyncpg.Record]", callers: Sequence[Principal]) -> World:
    return await write_world(superuser, callers, documents_each=2)


@pytest.fixture(scope="module")
async def stranger(app_url: str, world: World) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """The app role on a connection of its own, with no principal."""
    connection = await asyncpg.connect(app_url)
    yield connection
    await connection.close()


async def _visible(connection: "asyncpg.Connection[asyncpg.Record]", table: str) -> set[str]:
    return {row[0] for row in await connection.fetch(f"select ({KEYS[table]})::text from {table}")}


def _expected(world: World, table: str, caller: Principal) -> set[str]:
    """What the house rules say, in Python."""
    if table in world.knowledge:
        catalogue = caller.tenant_id if caller.is_admin and table == "documents" else None
        return {row.key for row in world.knowledge[table] if row.is_seen_by(caller) or row.tenant_id == catalogue}
    if table == "document_findings":
        return {
            one.key for one, other in world.findings
            if one.is_seen_by(caller) and other.is_seen_by(caller)
        }  # fmt: skip
    if table == "document_examinations":
        return {
            row.key for row in world.knowledge["documents"] if caller.is_admin and row.tenant_id == caller.tenant_id
        }
    if table == "desk_items":
        return {
            key for key, tenant_id, departments in world.desk
            if tenant_id == caller.tenant_id
            and (caller.is_admin or ("owner" in caller.roles and departments & caller.departments))
        }  # fmt: skip
    if table == "tenants":
        return {str(caller.tenant_id)}
    if table in ("audit", "audit_heads"):
        if not (caller.is_admin or "auditor" in caller.roles):
            return set()
        # The database itself writes down that a person came and that a question was asked.
        acts = {key for one in ("audit", "users", "tasks") for key, tenant, _ in world.personal[one]
                if tenant == caller.tenant_id}  # fmt: skip
        return acts if table == "audit" else {str(caller.tenant_id)}
    rows = [(key, user) for key, tenant, user in world.personal[table] if tenant == caller.tenant_id]
    of_administrators = ("embedding_cache", "connectors", "connector_documents")
    is_looked_after = table in ("accounts", "invitations") and caller.roles & {"admin", "auditor"}
    if (
        table == "users"
        or is_looked_after
        or (caller.is_admin and table in ("tasks", "model_calls", "api_keys", *of_administrators))
    ):
        return {key for key, _ in rows}
    if table in of_administrators:
        return set()
    return {key for key, user in rows if user == caller.user_id}


class TestUnsetAndEmptySettings:
    @pytest.mark.parametrize("table", sorted(TABLES))
    async def test_a_fresh_connection_sees_nothing(
        self,
        table: str,
        stranger: "asyncpg.Connection[asyncpg.Record]",
        superuser: "asyncpg.Connection[asyncpg.Record]",
    ) -> None:
        assert await superuser.fetchval(f"select count(*) from {table}") > 0
        assert await stranger.fetchval(f"select count(*) from {table}") == 0

    @pytest.mark.parametrize("table", sorted(TABLES))
    async def test_empty_settings_see_nothing(self, table: str, stranger: "asyncpg.Connection[asyncpg.Record]") -> None:
        async with stranger.transaction():
            for name in _SETTINGS:
                await stranger.execute("select set_config($1, '', true)", name)
            assert await stranger.fetchval(f"select count(*) from {table}") == 0

    @pytest.mark.parametrize("missing", _SETTINGS[:4])
    async def test_one_missing_setting_denies_what_depends_on_it(
        self, missing: str, stranger: "asyncpg.Connection[asyncpg.Record]", callers: Sequence[Principal]
    ) -> None:
        who = next(one for one in callers if len(one.scopes) == 3 and not one.is_admin)
        values = (str(who.tenant_id), str(who.user_id), "{public,internal,private}", "{hr}", "{}")
        denied = {"app.tenant_id": TABLES, "app.user_id": {"tasks", "events"}, "app.scopes": {"chunks", "documents"}}
        async with stranger.transaction():
            for name, value in zip(_SETTINGS, values, strict=True):
                if name != missing:
                    await stranger.execute("select set_config($1, $2, true)", name, value)
            for table in denied.get(missing, ()):
                assert await stranger.fetchval(f"select count(*) from {table}") == 0, table
            private = "select count(*) from chunks where scope = 'private' and department <> 'general'"
            assert await stranger.fetchval(private) == 0 or missing == "app.user_id"

    async def test_a_reused_connection_has_forgotten_its_principal(
        self, app_url: str, world: World, callers: Sequence[Principal]
    ) -> None:
        database = await Database.connect(app_url, pool_size=1)
        try:
            for scope in (database.principal_scope, database.statements_scope):
                async with scope(callers[0]) as tx:
                    assert await _visible(tx.driver, "users")
                async with database.operator_scope() as bare:
                    left = {await bare.driver.fetchval("select current_setting($1, true)", name) for name in _SETTINGS}
                    assert left == {""}
                    for table in TABLES:
                        assert await _visible(bare.driver, table) == set(), table
        finally:
            await database.dispose()


HOSTILE = (
    "x', true), set_config('app.tenant_id', '', true) --",
    "x'; rollback; begin; select set_config('app.roles', '{admin}",
    "\\x27", "\\", '"quy hoạch", {x}', "{}", "x\u2019y", "$1", "a\nb",
)  # fmt: skip


class TestWhoAsks:
    @pytest.mark.parametrize("name", HOSTILE)
    async def test_is_told_to_the_database_as_it_is_whatever_a_department_is_called(
        self, database: Database, name: str
    ) -> None:
        who = principal(department=name)
        for scope in (database.principal_scope, database.statements_scope):
            async with scope(who) as tx:
                assert await tx.driver.fetchval("select app_departments()") == [name]
                assert await tx.driver.fetchval("select current_setting('app.tenant_id')") == str(who.tenant_id)
                assert not await tx.driver.fetchval("select app_is_admin()")

    async def test_is_forgotten_when_the_statement_behind_it_could_not_be_sent(
        self, app_url: str, callers: Sequence[Principal]
    ) -> None:
        database = await Database.connect(app_url, pool_size=1)
        try:
            async with database.statements_scope(callers[0]) as tx:
                with pytest.raises(asyncpg.DataError):
                    await tx.driver.fetchval("select $1::integer", "one")
            async with database.operator_scope() as bare:
                assert {await bare.driver.fetchval("select current_setting($1, true)", s) for s in _SETTINGS} == {""}
        finally:
            await database.dispose()

    async def test_is_nobody_where_text_without_values_cannot_carry_it(self, database: Database) -> None:
        async with database.statements_scope(principal()) as tx:
            with pytest.raises(asyncpg.InterfaceError):
                await tx.driver.execute("select 1; select 2")

    async def test_says_whether_a_commit_waits_for_the_disk(self, database: Database) -> None:
        for scope, durable in product((database.principal_scope, database.statements_scope), (True, False)):
            async with scope(principal(), durable=durable) as tx:
                waits = await tx.driver.fetchval("select current_setting('synchronous_commit')")
                assert waits == ("on" if durable else "off")


class TestRandomCallers:
    async def test_see_exactly_what_the_rules_say(
        self, database: Database, world: World, callers: Sequence[Principal]
    ) -> None:
        checks = 0
        for caller in callers:
            async with database.principal_scope(caller) as tx:
                for table in sorted(TABLES):
                    assert await _visible(tx.driver, table) == _expected(world, table, caller), (table, caller)
                    checks += len(world.knowledge.get(table, world.personal.get(table, callers)))
        assert checks >= CHECKS

    async def test_cannot_touch_rows_they_do_not_see(
        self,
        database: Database,
        world: World,
        callers: Sequence[Principal],
        superuser: "asyncpg.Connection[asyncpg.Record]",
    ) -> None:
        before = {table: await superuser.fetchval(f"select count(*) from {table}") for table in TABLES}
        rng = random.Random(SEED)
        for caller in rng.sample(list(callers), 12):
            others = next(one for one in callers if one.tenant_id != caller.tenant_id)
            for table in sorted(TABLES - KEPT):
                async with database.principal_scope(caller) as tx:
                    hit = await tx.driver.execute(f"delete from {table} where tenant_id = $1", others.tenant_id)
                    assert hit == "DELETE 0", (table, caller)
                    if table not in WRITTEN_ONCE:
                        moved = f"update {table} set tenant_id = $1 where tenant_id = $2"
                        assert await tx.driver.execute(moved, caller.tenant_id, others.tenant_id) == "UPDATE 0"
        assert {table: await superuser.fetchval(f"select count(*) from {table}") for table in TABLES} == before

    @pytest.mark.parametrize("table", sorted(WRITTEN_ONCE))
    async def test_change_nothing_of_what_is_written_once(
        self, database: Database, callers: Sequence[Principal], table: str
    ) -> None:
        admin = next(one for one in callers if one.is_admin)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(admin) as tx:
                await tx.driver.execute(f"update {table} set tenant_id = $1", admin.tenant_id)

    async def test_cannot_write_into_another_tenant(
        self, database: Database, world: World, callers: Sequence[Principal]
    ) -> None:
        admin = next(one for one in callers if one.is_admin)
        other = next(one for one in callers if one.tenant_id != admin.tenant_id)
        writes = (
            "insert into sessions (tenant_id, user_id, session_id, user_input) values ($1, $2, $3, '')",
            "insert into users (tenant_id, user_id, name, department, departments, scopes)"
            " values ($1, $3, 'u' || $2::uuid, 'hr', '{hr}', '{public}')",
            "insert into system_logs (tenant_id, logged_at, level, source, department, scope, message)"
            " values ($1, now(), 'u' || $2::uuid, 'u' || $3::uuid, 'hr', 'public', '')",
            "insert into audit (tenant_id, user_id, action, target) values ($1, $2, 'x', 'u' || $3::uuid)",
        )
        for statement in writes:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with database.principal_scope(admin) as tx:
                    await tx.driver.execute(statement, other.tenant_id, other.user_id, uuid4())

    async def test_cannot_write_in_somebody_elses_name(
        self, database: Database, world: World, callers: Sequence[Principal]
    ) -> None:
        """Not even an administrator, and not by handing over an own row."""
        admin = next(one for one in callers if one.is_admin)
        other = next(one for one in callers if one.tenant_id == admin.tenant_id and one is not admin)
        for statement in (
            "insert into sessions (tenant_id, user_id, session_id, user_input) values ($1, $2, gen_random_uuid(), '')",
            "update feedback set user_id = $2 where tenant_id = $1",
            "insert into audit (tenant_id, user_id, action) values ($1, $2, 'x')",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with database.principal_scope(admin) as tx:
                    await tx.driver.execute(statement, other.tenant_id, other.user_id)

    async def test_who_is_no_administrator_cannot_write_knowledge(
        self, database: Database, world: World, callers: Sequence[Principal]
    ) -> None:
        person = next(one for one in callers if not one.is_admin and one.scopes)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(person) as tx:
                await tx.driver.execute(
                    "insert into documents (tenant_id, document_id, external_id, title, url, department, scope,"
                    " created_at) values ($1, $2, '', '', '', 'hr', 'public', now())",
                    person.tenant_id,
                    uuid4(),
                )
        async with database.principal_scope(person) as tx:
            assert await tx.driver.execute("update chunks set scope = 'public'") == "UPDATE 0"

    async def test_a_session_id_of_somebody_else_reveals_nothing(
        self, database: Database, world: World, callers: Sequence[Principal]
    ) -> None:
        """A key that is taken by another person can be used without meeting it."""
        first, second = [one for one in callers if one.tenant_id == callers[0].tenant_id][:2]
        foreign = next(key for key, _, user in world.personal["sessions"] if user == first.user_id)
        async with database.principal_scope(second) as tx:
            await tx.driver.execute(
                "insert into sessions (tenant_id, user_id, session_id, user_input) values ($1, $2, $3, '')",
                second.tenant_id, second.user_id, foreign,
            )  # fmt: skip
            await tx.driver.execute("delete from sessions where session_id = $1", foreign)
        async with database.principal_scope(first) as tx:
            assert foreign in await _visible(tx.driver, "sessions")


class TestPublishing:
    async def test_an_administrator_moves_a_document_it_cannot_read(
        self,
        database: Database,
        superuser: "asyncpg.Connection[asyncpg.Record]",
        world: World,
        callers: Sequence[Principal],
    ) -> None:
        """The chunks follow their document in the same commit; their text stays hidden from the administrator."""
        admin = callers[0]
        secret = next(
            row for row in world.knowledge["documents"]
            if row.tenant_id == admin.tenant_id and row.scope == "private" and row.department == "hr"
        )  # fmt: skip
        async with database.principal_scope(admin) as tx:
            changed = "update documents set department = 'it', effective_to = '2026-01-01' where document_id = $1"
            assert await tx.driver.execute(changed, secret.key) == "UPDATE 1"
            assert await tx.driver.fetchval("select count(*) from chunks where document_id = $1", secret.key) == 0
        for table in ("document_versions", "chunks", "chunk_vectors"):
            row = await superuser.fetchrow(f"select * from {table} where document_id = $1", secret.key)
            assert row is not None
            assert (row["department"], row["scope"]) == ("it", "private")
            assert table == "document_versions" or str(row["effective_to"]) == "2026-01-01"
        await superuser.execute(
            "update documents set department = 'hr', effective_to = null where document_id = $1", secret.key
        )

    async def test_a_new_version_takes_the_old_chunks_away(
        self, database: Database, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        admin = principal("publisher", "admin", "it", ("public",), ("admin",))
        document_id = uuid4()
        async with database.principal_scope(admin) as tx:
            await tx.driver.execute(
                "insert into documents (tenant_id, document_id, external_id, title, url, department, scope, created_at)"
                " values ($1, $2, 'd', 'd', '', 'hr', 'private', now())", admin.tenant_id, document_id,
            )  # fmt: skip
        for version in (1, 2):
            async with database.principal_scope(admin) as tx:
                await tx.driver.execute(
                    "insert into document_versions (tenant_id, document_id, version, content_hash, text, department,"
                    " scope, created_by) values ($1, $2, $3, '', '', 'hr', 'private', $1)",
                    admin.tenant_id, document_id, version,
                )  # fmt: skip
                await tx.driver.execute(
                    "insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded,"
                    " department, scope, is_current) values ($1, $2, $3, $4, 0, '', '', '', 'hr', 'private', true)",
                    admin.tenant_id, uuid4(), document_id, version,
                )  # fmt: skip
                await tx.driver.execute(
                    "update documents set current_version = $2 where document_id = $1", document_id, version
                )
        chunks = await superuser.fetch("select version, is_current from chunks where document_id = $1", document_id)
        assert [tuple(row.values()) for row in chunks] == [(2, True)]


class TestCancelStorm:
    async def test_leaves_no_principal_and_no_open_transaction_behind(
        self, app_url: str, world: World, callers: Sequence[Principal], superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        """One connection, hundreds of requests cancelled at random moments."""
        rng = random.Random(SEED)
        database = await Database.connect(app_url, pool_size=1)
        failures: list[str] = []

        async def request(caller: Principal) -> None:
            scope = rng.choice((database.principal_scope, database.statements_scope))
            async with scope(caller, durable=rng.random() < 0.5) as tx:
                seen = await tx.driver.fetch("select tenant_id, pg_sleep(0.0005) from users limit 2")
                failures.extend("foreign" for row in seen if row["tenant_id"] != caller.tenant_id)
                await tx.driver.fetchval("select count(*) from tasks")

        try:
            for _ in range(CANCELLED // 10):
                running = [asyncio.create_task(request(rng.choice(callers))) for _ in range(10)]
                for task in running:
                    await asyncio.sleep(rng.random() * 0.002)
                    task.cancel()
                    if rng.random() < 0.3:
                        await asyncio.sleep(0)
                        task.cancel()
                await asyncio.gather(*running, return_exceptions=True)
                async with database.operator_scope() as bare:
                    left = [await bare.driver.fetchval("select current_setting($1, true)", name) for name in _SETTINGS]
                    assert set(left) <= {None, ""}
                    assert await bare.driver.fetchval("select count(*) from users") == 0
            assert not failures
            async with asyncio.timeout(5):
                await request(callers[0])
        finally:
            await database.dispose()
        idle = (
            "select count(*) from pg_stat_activity where state like 'idle in transaction%' and usename = 'conclave_app'"
        )
        assert await superuser.fetchval(idle) == 0
        measured(3, cancelled=CANCELLED, stale=0, open_transactions=0)
