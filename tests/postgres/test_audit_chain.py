"""The audit as a chain: what a superuser changes, removes or adds is found, and nobody below can do any of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from typing import TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.principal import Principal
from app.storage import audit, documents, people, tenants
from app.storage.audit import Link, Wanted
from app.storage.database import Database
from app.storage.migrate import downgrade, upgrade
from app.trust.chain import Broken, Checker, Copy, export, hash_of, verify
from tests.factories import NOW, principal

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_numbers = count(1)


@pytest.fixture
async def boss() -> Principal:
    """An administrator of a company of its own."""
    return principal(f"chained-{next(_numbers)}", "boss", "general", ("public",), ("admin",))


@pytest.fixture
async def operator(maintenance_url: str) -> AsyncIterator[Database]:
    operator = await Database.connect(maintenance_url, pool_size=1)
    yield operator
    await operator.dispose()


async def act(database: Database, who: Principal, number: int = 5) -> None:
    for one in range(number):
        async with database.principal_scope(who) as tx:
            await documents.note(tx, "tried", f"target {one}", {"b": one, "aa": ["x", 1.50, None, 'ữ\n"\\']})


async def past(superuser: Superuser, statement: str, *values: object) -> None:
    """Do what only somebody above the service can: triggers of the audit do not fire."""
    async with superuser.transaction():
        await superuser.execute("set local session_replication_role = replica")
        await superuser.execute(statement, *values)


async def copy_of(database: Database, who: Principal) -> list[str]:
    return [json.dumps(row, ensure_ascii=False) async for row in export(database, who)]


class TestChain:
    async def test_holds_with_the_hash_of_the_last_row(self, database: Database, boss: Principal) -> None:
        empty = await verify(database, boss)
        assert (empty.rows, empty.head_seq, empty.head_hash) == (0, 0, "")
        await act(database, boss)
        found = await verify(database, boss)
        async with database.principal_scope(boss) as tx:
            [last, *_] = (await audit.chain(tx, 4, 10))[1]
            entries = await audit.page(tx, Wanted(), None, 10)
        assert (found.rows, found.head_seq, found.head_hash) == (5, 5, last.hash.hex())
        assert [one.seq for one in entries] == [5, 4, 3, 2, 1]

    async def test_is_in_one_order_however_many_write(self, database: Database, boss: Principal) -> None:
        await asyncio.gather(*(act(database, boss, 4) for _ in range(6)))
        assert (await verify(database, boss)).rows == 24

    async def test_is_walked_in_pieces(
        self, database: Database, boss: Principal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.trust.chain._AT_ONCE", 2)
        await act(database, boss, 4)
        assert (await verify(database, boss)).rows == 4

    async def test_cannot_be_chosen_by_a_writer(
        self, database: Database, boss: Principal, superuser: Superuser
    ) -> None:
        await act(database, boss, 1)
        async with database.principal_scope(boss) as tx:
            await tx.driver.execute(
                "insert into audit (tenant_id, user_id, action, seq, previous_hash, hash, created_at)"
                " values ($1, $2, 'forged', 77, '', '', '2001-01-01')", *tx.whose,
            )  # fmt: skip
        assert (await verify(database, boss)).head_seq == 2
        written = await superuser.fetchval("select min(created_at) from audit where tenant_id = $1", boss.tenant_id)
        assert written.year > 2001

    @pytest.mark.parametrize(
        "statement",
        [
            "update audit set action = 'x'", "delete from audit", "truncate audit", "update audit_heads set seq = 0",
            "delete from audit_heads", "insert into audit_heads (tenant_id) values (gen_random_uuid())",
            "select remove_audit(app_tenant(), now(), 10)", "alter table audit disable trigger all",
            "set local session_replication_role = replica",
        ],
    )  # fmt: skip
    async def test_is_out_of_reach_for_the_service(self, database: Database, boss: Principal, statement: str) -> None:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(boss) as tx:
                await tx.driver.execute(statement)

    async def test_of_another_company_is_not_seen_and_not_written(self, database: Database, boss: Principal) -> None:
        await act(database, boss, 1)
        stranger = principal("somebody-else", "eye", "general", (), ("auditor", "admin"))
        async with database.principal_scope(stranger) as tx:
            assert await tx.driver.fetch("select * from audit where tenant_id = $1", boss.tenant_id) == []
            assert await tx.driver.fetch("select * from audit_heads where tenant_id = $1", boss.tenant_id) == []
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(stranger) as tx:
                await tx.driver.execute(
                    "insert into audit (tenant_id, user_id, action) values ($1, $2, 'x')",
                    boss.tenant_id, stranger.user_id,
                )  # fmt: skip
        assert (await verify(database, boss)).rows == 1


_FOUND = {
    "update audit set details = '{}' where seq = 3": (3, "changed"),
    "update audit set user_id = gen_random_uuid() where seq = 3": (3, "changed"),
    "update audit set created_at = created_at - interval '1 day' where seq = 3": (3, "changed"),
    "update audit set action = 'nothing' where seq = 5": (5, "changed"),
    "delete from audit where seq = 3": (3, "missing"),
    "delete from audit where seq = 1": (1, "missing"),
    "delete from audit where seq >= 4": (4, "missing"),
    "update audit a set details = '{}', hash = audit_hash(row(a.tenant_id, a.audit_id, a.user_id, a.action, a.target,"
    " '{}'::jsonb, a.created_at, a.seq, a.previous_hash, a.hash)::audit) where seq = 3": (4, "does not follow"),
    "update audit_heads set hash = '\\x00' where true": (5, "not the row the chain ends with"),
    "update audit_heads set seq = 7 where true": (6, "missing"),
    "update audit_heads set removed_seq = 2, removed_hash = (select hash from audit a where seq = 2"
    " and a.tenant_id = audit_heads.tenant_id) where true": (2, "no row of the audit says so"),
}  # fmt: skip


class TestTampering:
    @pytest.mark.parametrize("statement", _FOUND)
    async def test_is_found_at_its_row(
        self, database: Database, boss: Principal, superuser: Superuser, statement: str
    ) -> None:
        await act(database, boss)
        await past(superuser, f"{statement} and tenant_id = '{boss.tenant_id}'")
        found, (row, problem) = await verify(database, boss), _FOUND[statement]
        assert not found.holds and found.row == row and problem in found.problem

    @pytest.mark.parametrize(("place", "row"), [(3, 4), (6, 6)])
    async def test_by_an_added_row_is_found(
        self, database: Database, boss: Principal, superuser: Superuser, place: int, row: int
    ) -> None:
        """With a hash that is right, in the middle (the rows behind move on) and at the end."""
        await act(database, boss)
        tenant = boss.tenant_id
        for seq in range(5, place - 1, -1):
            await past(superuser, f"update audit set seq = seq + 1 where seq = {seq} and tenant_id = $1", tenant)
        await past(
            superuser,
            "insert into audit (tenant_id, user_id, action, seq, previous_hash, hash)"
            f" select $1, $1, 'added', {place}, hash, '' from audit where tenant_id = $1 and seq = {place - 1}", tenant,
        )  # fmt: skip
        await past(superuser, f"update audit a set hash = audit_hash(a) where seq = {place} and tenant_id = $1", tenant)
        assert (await verify(database, boss)).row == row

    async def test_of_the_whole_chain_is_found_by_a_copy_alone(
        self, database: Database, boss: Principal, superuser: Superuser
    ) -> None:
        await act(database, boss)
        lines = await copy_of(database, boss)
        await act(database, boss, 1)
        assert (await verify(database, boss, Copy(lines))).rows == 6
        rows = await superuser.fetch(
            "select * from audit where tenant_id = $1 and seq <> 2 order by seq", boss.tenant_id
        )
        for table in ("audit", "audit_heads"):
            await past(superuser, f"delete from {table} where tenant_id = $1", boss.tenant_id)
        for one in rows:  # written anew without the second, by the rules
            await superuser.execute(
                "insert into audit (tenant_id, user_id, action, target, details) values ($1, $2, $3, $4, $5)",
                *(one[name] for name in ("tenant_id", "user_id", "action", "target", "details")),
            )
        assert (await verify(database, boss)).rows == 5
        found = await verify(database, boss, Copy(lines))
        assert found.row == 1 and "not the one in the copy" in found.problem  # its time is another one
        found = await verify(database, boss, Copy([lines[-1].replace('"head_seq": 5', '"head_seq": 9')]))
        assert "in the copy and not in the audit" in found.problem

    async def test_of_a_copy_is_told_from_a_copy(self) -> None:
        for nonsense in ([], ["x"], ["{}"], ["[]"], ['{"tenant_id": "x", "seq": 1}']):
            with pytest.raises(ValueError, match="not a file"):
                Copy(nonsense)


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
_VALUE = st.recursive(_TEXT | st.integers() | st.booleans() | st.none(), lambda one: st.lists(one, max_size=3))


class TestHash:
    @given(action=_TEXT, target=_TEXT, details=st.dictionaries(_TEXT, _VALUE, max_size=3))
    async def test_is_the_same_here_and_in_the_database(
        self, superuser: Superuser, action: str, target: str, details: dict[str, object]
    ) -> None:
        tenant = uuid4()
        async with superuser.transaction():
            await superuser.execute(
                "insert into audit (tenant_id, user_id, action, target, details) values ($1, $1, $2, $3, $4)",
                tenant, action, target, json.dumps(details),
            )  # fmt: skip
            row = await superuser.fetchrow(
                "select seq, previous_hash, user_id, action, target, details::text as details, hash,"
                " to_char(created_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') as created_at"
                " from audit where tenant_id = $1", tenant,
            )  # fmt: skip
        assert row is not None
        link = Link(*(row[name] for name in Link._fields))
        assert hash_of(tenant, link) == link.hash

    def test_tells_apart_what_is_written_over_two_fields(self) -> None:
        one = Link(1, b"", UUID(int=0), 'a\n"b', "c", "{}", b"", "")
        other = one._replace(action="a", target='b"\n"c')
        assert hash_of(UUID(int=1), one) != hash_of(UUID(int=1), other)
        with pytest.raises(Broken, match="changed"):
            Checker(UUID(int=1)).take(one)


class TestRemoval:
    async def test_takes_whole_beginnings_and_the_rest_holds(
        self, database: Database, boss: Principal, operator: Database, superuser: Superuser
    ) -> None:
        await act(database, boss, 6)
        lines = await copy_of(database, boss)
        later = await superuser.fetchval("select now() + interval '1 second'")
        async with operator.operator_scope() as tx:
            assert await audit.remove(tx, boss.tenant_id, NOW - timedelta(days=9000), 10) == 0
            assert await audit.remove(tx, boss.tenant_id, later, 2) == 2
        found = await verify(database, boss, Copy(lines))
        assert (found.rows, found.removed, found.head_seq) == (5, 2, 7)
        async with operator.operator_scope() as tx:
            assert await audit.remove(tx, boss.tenant_id, later, 100) == 4  # of the row that tells it, the last stays
        found = await verify(database, boss, Copy(lines))
        assert (found.removed, found.head_seq) == (6, 8)
        await past(superuser, "update audit set details = '{}' where seq = 8 and tenant_id = $1", boss.tenant_id)
        assert not (await verify(database, boss)).holds

    async def test_stops_before_a_person_under_legal_hold(
        self, database: Database, boss: Principal, operator: Database, superuser: Superuser
    ) -> None:
        async with operator.operator_scope() as tx:
            await tenants.add_tenant(tx, boss_name(boss))
        await act(database, boss, 2)
        async with database.principal_scope(boss) as tx:
            held = await tenants.add_user(tx, boss.tenant_id, "held", department="hr", scopes={"public"})
        await act(database, held.principal(), 1)
        await superuser.execute("update users set legal_hold = true where user_id = $1", held.user_id)
        later = await superuser.fetchval("select now() + interval '1 second'")
        async with operator.operator_scope() as tx:
            assert await audit.remove(tx, boss.tenant_id, later, 100) == 2
        assert (await verify(database, boss)).removed == 2


def boss_name(boss: Principal) -> str:
    return str(boss.tenant_id)


class TestActs:
    async def test_rights_that_change_are_written_by_the_database(
        self, database: Database, boss: Principal, operator: Database
    ) -> None:
        async with operator.operator_scope() as tx:
            await tenants.add_tenant(tx, boss_name(boss))
            await tenants.add_user(tx, boss.tenant_id, "kim", department="hr", scopes={"public"}, display_name="Kim")
        async with database.principal_scope(boss) as tx:
            kim = await tenants.add_user(
                tx, boss.tenant_id, "kim", department="hr", scopes={"private"}, display_name="Kim"
            )
            await people.shut_out(tx, boss.tenant_id, kim.user_id, out=True)
            await tenants.add_user(tx, boss.tenant_id, "kim", department="hr", scopes={"private"}, display_name="K.")
        async with database.principal_scope(boss) as tx:
            rows = (await audit.page(tx, Wanted(), None, 10))[::-1]
        assert [(one.action, one.user_id) for one in rows] == [
            ("user_added", UUID(int=0)), ("user_changed", boss.user_id), ("user_changed", boss.user_id),
        ]  # fmt: skip
        assert {one.target for one in rows} == {str(kim.user_id)}
        assert rows[0].details["scopes"] == ["public"] and rows[1].details["scopes"] == ["private"]
        assert "Kim" not in str(rows) and rows[2].details["disabled"] is True

    async def test_what_is_rolled_back_was_no_act(self, database: Database, boss: Principal) -> None:
        with pytest.raises(RuntimeError):
            async with database.principal_scope(boss) as tx:
                await documents.note(tx, "tried", "x", {})
                raise RuntimeError
        assert (await verify(database, boss)).rows == 0


class TestMigration:
    async def test_chains_what_was_there_in_its_order(
        self, embedded_server: object, owner_url: str, database: Database, boss: Principal, superuser: Superuser
    ) -> None:
        await act(database, boss, 3)
        await asyncio.to_thread(downgrade, owner_url, "0017")
        try:
            await superuser.execute(
                "insert into audit (tenant_id, user_id, action, created_at) values ($1, $1, 'older', '2020-01-01')",
                boss.tenant_id,
            )
        finally:
            await asyncio.to_thread(upgrade, owner_url)
        assert (await verify(database, boss)).rows == 4
        async with database.principal_scope(boss) as tx:
            assert [one.action for one in await audit.page(tx, Wanted(), None, 10)][-1] == "older"
