"""Twenty companies, twelve kinds of people: nobody sees a row that is not theirs, through either wall alone.

Both ways are asked for whole lists: every row of every company is then decided for the asker at once, and each such
decision is a check. Half of them is made over HTTP by the real application, half in SQL as the app's role. The seed is
printed; CONCLAVE_TEST_SEED repeats it.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from uuid import uuid4

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from app.api.auth import Claims, SharedSecret
from app.domain.principal import Principal, Scope
from app.main import Services, create_app
from app.settings import Settings
from app.storage.database import Database
from tests.factories import principal, with_demo_people
from tests.measured import measured
from tests.postgres.test_catalogue import TABLES
from tests.postgres.test_isolation import _expected
from tests.postgres.world import KEYS, World, write_world
from tests.samples import drawn, size
from tests.warm import warm

SEED = int(os.environ.get("CONCLAVE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
TENANTS = [f"company-{number}" for number in range(20)]
SECRET = "a-secret-of-the-isolation-tests-that-is-longer-than-64-bytes-and-opens-nothing"
ALL: tuple[Scope, ...] = ("public", "internal", "private")
DOCUMENTS_EACH = size(1, 4)
"""Of each of four departments and three scopes of a company; a list must fit on one page of a hundred."""
CALLERS = size(84, 240)
IDS = size(600, 20_000)
CHECKS_EACH_WAY = size(50_000, 300_000)
UNTOLD = {"audit", "audit_heads"}
"""The database itself writes rows of these; tests/postgres/test_isolation.py knows how many."""


@dataclass(frozen=True)
class Kind:
    """A kind of person, and what its token gives away of that."""

    department: str
    scopes: tuple[Scope, ...]
    roles: tuple[str, ...] = ()
    further: frozenset[str] = frozenset()
    narrowed: tuple[Scope, ...] = ALL
    """Scopes the token names; it gives no more than these, nor more than the person has."""


KINDS = {
    "newcomer": Kind("hr", ()),
    "visitor": Kind("it", ("public",)),
    "colleague": Kind("hr", ("public", "internal")),
    "insider": Kind("finance", ALL),
    "loner": Kind("it", ("private",)),
    "everybody's": Kind("general", ALL),
    "two-hats": Kind("hr", ALL, further=frozenset({"finance"})),
    "narrowed": Kind("hr", ALL, narrowed=("public",)),
    "boastful": Kind("it", ("public",), narrowed=ALL),
    "clerk": Kind("general", ("public",), ("admin",)),
    "owner": Kind("finance", ALL, ("admin",), frozenset({"hr", "it"})),
    "auditor": Kind("hr", ("public", "internal"), ("auditor",)),
}


@dataclass(frozen=True)
class Caller:
    """Somebody of a company."""

    tenant: str
    kind: str
    person: Principal
    """With the rights that are written down."""
    acting: Principal
    """With those its token leaves."""

    @property
    def key(self) -> tuple[object, object]:
        """By which its own rows are told."""
        return self.person.tenant_id, self.person.user_id


@pytest.fixture(autouse=True)
def tell_seed() -> None:
    """A failing run says how to repeat it."""
    sys.stdout.write(f"CONCLAVE_TEST_SEED={SEED}\n")


@pytest.fixture(scope="module")
def callers() -> list[Caller]:
    """One of every kind in every company."""
    made = []
    for tenant, (name, kind) in product(TENANTS, KINDS.items()):
        one = principal(tenant, name, kind.department, kind.scopes, kind.roles)
        one = one.model_copy(update={"departments": one.departments | kind.further})
        left = frozenset(scope for scope in kind.scopes if scope in kind.narrowed)
        made.append(Caller(tenant, name, one, one.model_copy(update={"scopes": left})))
    return made


@pytest.fixture(scope="module")
def chosen(callers: Sequence[Caller]) -> list[Caller]:
    """Those who ask in this run: seven companies of every kind, or all."""
    found = drawn(callers, CALLERS, seed=SEED)
    assert {one.kind for one in found} == {*KINDS} and len({one.tenant for one in found}) >= 18
    return found


@pytest.fixture(scope="module")
async def superuser(superuser_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(superuser_url)
    yield connection
    await connection.close()


@pytest.fixture(scope="module")
async def world(superuser: "asyncpg.Connection[asyncpg.Record]", callers: Sequence[Caller]) -> World:
    """Every company with its documents, every person with rows of every kind and the rights it has."""
    async with superuser.transaction():
        made = await write_world(superuser, [one.person for one in callers], DOCUMENTS_EACH)
        for one in (caller.person for caller in callers):
            await superuser.execute(
                "update users set department = $3, departments = $4, scopes = $5, roles = $6"
                " where tenant_id = $1 and user_id = $2",
                one.tenant_id, one.user_id, one.department, sorted(one.departments), sorted(one.scopes),
                sorted(one.roles),
            )  # fmt: skip
    await superuser.execute("analyze")
    return made


@pytest.fixture(scope="module")
async def house(
    world: World, app_url: str, owner_url: str, maintenance_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Services]:
    """The service over that database; nothing is remembered, so that every answer is read."""
    folder = tmp_path_factory.mktemp("isolated")
    settings = Settings(
        _env_file=None, data_dir=warm(folder / "data"), seed_dir=with_demo_people(folder / "seed"),
        database_url=SecretStr(app_url), database_owner_url=SecretStr(owner_url),
        database_operator_url=SecretStr(maintenance_url), auth_jwt_secret=SecretStr(SECRET), enable_caching=False,
    )  # fmt: skip
    opened = await Services.open(settings, work=False)
    yield opened
    await opened.aclose()


@pytest.fixture(scope="module")
async def http(house: Services) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(services=house))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1", timeout=30) as opened:
        yield opened


@pytest.fixture(params=["both walls", "predicates alone"])
async def walls(request: pytest.FixtureRequest, superuser_url: str, world: World) -> AsyncIterator[str]:
    """What stands: with the predicates alone row security is off for all tables, and comes back afterwards."""
    named: str = request.param
    off = named == "predicates alone"
    connection = await asyncpg.connect(superuser_url)
    try:
        if off:
            await _switch(connection, "disable", "no force")
        yield named
    finally:
        if off:
            await _switch(connection, "enable", "force")
        await connection.close()


async def _switch(connection: "asyncpg.Connection[asyncpg.Record]", state: str, forced: str) -> None:
    rows = await connection.fetch(
        "select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'public' and c.relkind in ('r', 'p')"
        " and exists (select from pg_policy p where p.polrelid = c.oid)"
    )
    assert len(rows) >= len(TABLES)
    for row in rows:
        await connection.execute(f"alter table {row['name']} {state} row level security, {forced} row level security")


def bearer(caller: Caller) -> dict[str, str]:
    """The head of its requests."""
    narrowed, one = KINDS[caller.kind].narrowed, caller.person
    claims = Claims(
        sub=caller.kind, tenant_id=caller.tenant, department=one.department, departments=tuple(sorted(one.departments)),
        permissions=narrowed, roles=tuple(one.roles),
    )  # fmt: skip
    signed = SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=600)
    return {"Authorization": f"Bearer {signed}"}


def own(world: World, table: str, caller: Caller) -> set[str]:
    """The rows of a table that are this person's."""
    return {key for key, tenant, user in world.personal[table] if (tenant, user) == caller.key}


LISTS: dict[str, tuple[str, str, Callable[[World, Caller], set[str]]]] = {
    "/documents": ("documents", "document_id", lambda world, caller: _expected(world, "documents", caller.acting)),
    "/sessions": ("sessions", "session_id", lambda world, caller: own(world, "sessions", caller)),
    "/keys": (
        "api_keys",
        "key_id",
        lambda world, caller: (
            _expected(world, "api_keys", caller.acting) if caller.acting.is_admin else own(world, "api_keys", caller)
        ),
    ),
    "/files": ("attachments", "file_id", lambda world, caller: own(world, "attachments", caller)),
}
"""Lists a person may ask for, of which table, and what they must hold: no row more and none less."""


def may_get(world: World, table: str, key: str, caller: Caller) -> bool:
    """Whether a row may be opened by its id."""
    if table == "documents":
        return key in _expected(world, table, caller.acting)
    return key in own(world, table, caller)


class TestTheApplication:
    async def test_lists_and_opens_exactly_what_the_rules_say(
        self, http: httpx.AsyncClient, world: World, chosen: Sequence[Caller], walls: str
    ) -> None:
        checks = 0
        for caller in chosen:
            headers = bearer(caller)
            for path, (table, field, expected) in LISTS.items():
                answer = await http.get(path, params={"limit": 100} if path != "/files" else {}, headers=headers)
                assert answer.status_code == 200, (SEED, caller.kind, answer.text)
                [rows] = [value for value in answer.json().values() if isinstance(value, list)]
                assert {row[field] for row in rows} == expected(world, caller), (SEED, walls, path, caller)
                checks += len(world.knowledge.get(table) or world.personal[table])
        assert checks >= CHECKS_EACH_WAY
        if walls == "both walls":
            measured(1, checks=checks, checks_over_http=checks, foreign=0, tenants=len(TENANTS), actor_kinds=len(KINDS))

    async def test_shows_versions_to_those_who_may_read_them(
        self, http: httpx.AsyncClient, world: World, chosen: Sequence[Caller], walls: str
    ) -> None:
        rng, shown = random.Random(SEED), 0
        for _ in range(IDS // 3):
            caller = rng.choice(chosen)
            row = rng.choice([one for one in world.knowledge["documents"] if one.tenant_id == caller.person.tenant_id])
            answer = await http.get(f"/documents/{row.key}/versions", headers=bearer(caller))
            if may_get(world, "documents", row.key, caller):
                versions = answer.json()["versions"]
                assert bool(versions) == row.is_seen_by(caller.acting), (SEED, walls, row, caller)
                shown += bool(versions)
            else:
                assert answer.status_code == 404
        assert shown > IDS / 20

    async def test_answers_foreign_ids_like_unknown_ones(
        self, http: httpx.AsyncClient, world: World, chosen: Sequence[Caller], walls: str
    ) -> None:
        rng, unknown, foreign = random.Random(SEED), str(uuid4()), Counter[str]()
        ids = {table: list(self._ids(world, table)) for table in ("documents", "sessions", "attachments", "tasks")}
        paths = {
            "documents": "/documents/{}",
            "sessions": "/sessions/{}",
            "attachments": "/files/{}",
            "tasks": "/tasks/{}",
        }
        told: dict[str, tuple[int, str]] = {}
        for _ in range(IDS):
            caller, table = rng.choice(chosen), rng.choice(list(paths))
            key, headers = rng.choice(ids[table]), bearer(caller)
            if may_get(world, table, key, caller) or (table == "tasks" and caller.acting.is_admin):
                continue
            if table not in told:
                answer = await http.get(paths[table].format(unknown), headers=headers)
                told[table] = answer.status_code, answer.text
                assert answer.status_code == 404
            answer = await http.get(paths[table].format(key), headers=headers)
            assert (answer.status_code, answer.text) == told[table], (SEED, walls, table, key, caller)
            foreign[table] += 1
        assert sum(foreign.values()) >= IDS / 2 and len(foreign) == len(paths)
        if walls == "both walls":
            measured(1, checks=sum(foreign.values()), checks_over_http=sum(foreign.values()), foreign=0)
            measured(5, ids_compared=sum(foreign.values()))

    @staticmethod
    def _ids(world: World, table: str) -> Iterator[str]:
        for row in world.knowledge.get(table, ()):
            yield row.key
        for key, _, _ in world.personal.get(table, ()):
            yield key


class TestRowSecurityAlone:
    async def test_shows_exactly_what_the_rules_say_without_a_single_predicate(
        self, database: Database, world: World, chosen: Sequence[Caller]
    ) -> None:
        checks = 0
        for caller in chosen[:: size(2, 1)]:
            async with database.principal_scope(caller.acting) as tx:
                for table in sorted(TABLES - UNTOLD):
                    rows = await tx.driver.fetch(f"select ({KEYS[table]})::text from {table}")
                    shown = {row[0] for row in rows}
                    assert shown == _expected(world, table, caller.acting), (SEED, table, caller)
                    checks += len(world.knowledge.get(table) or world.personal.get(table) or TENANTS)
        assert checks >= CHECKS_EACH_WAY
        measured(1, checks=checks, checks_in_sql=checks, foreign=0)

    async def test_is_what_holds_them_back(
        self, superuser: "asyncpg.Connection[asyncpg.Record]", database: Database, world: World,
        chosen: Sequence[Caller],
    ) -> None:  # fmt: skip
        """Without it the same statements show everybody's rows: the test above can fail."""
        await _switch(superuser, "disable", "no force")
        try:
            async with database.principal_scope(chosen[0].acting) as tx:
                assert await tx.driver.fetchval("select count(distinct tenant_id) from chunks") == len(TENANTS)
        finally:
            await _switch(superuser, "enable", "force")
        async with database.principal_scope(chosen[0].acting) as tx:
            assert await tx.driver.fetchval("select count(distinct tenant_id) from chunks") <= 1
