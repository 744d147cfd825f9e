"""Log lines lie by month: months are made as lines come, hold what belongs to them, and go whole."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from app.domain.principal import Principal
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer
from app.storage.migrate import downgrade, upgrade
from extras.logs.lines import LogLine, insert_logs, make_months, store_logs
from extras.logs.reading import LogFilter, count_logs, count_older, prune_logs, search_logs
from tests.databases import create_database
from tests.factories import principal

NOW = datetime.now(UTC)
ADMIN = principal(user="admin", department="general", roles=("admin",))
READER = principal(user="minh", department="it")
OTHER = principal(tenant="globex", user="admin", department="general", roles=("admin",))
_PARTS = "select inhrelid::regclass::text from pg_inherits where inhparent = 'system_logs'::regclass order by 1"


def line(days_ago: float, message: str = "tick") -> LogLine:
    moment = NOW - timedelta(days=days_ago)
    return LogLine(logged_at=moment, source="db-01", level="INFO", department="it", scope="internal", message=message)


def month_of(moment: datetime) -> str:
    return f"log_months.y{moment:%Ym%m}"


async def parts(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    return [row[0] for row in await connection.fetch(_PARTS)]


async def total(database: Database, who: Principal) -> int:
    async with database.principal_scope(who) as tx:
        return (await count_logs(tx, LogFilter())).total


class TestMonths:
    async def test_are_made_as_lines_come_and_hold_what_came_before(
        self, database: Database, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        assert await parts(superuser) == ["log_months.others"]
        async with database.principal_scope(ADMIN) as tx:
            await insert_logs(tx, [line(70, "early"), line(70, "early")])
        assert await superuser.fetchval("select count(*) from log_months.others") == 2
        assert await store_logs(database, ADMIN, [line(100), line(70, "late"), line(0), line(5_000), line(-300)]) == 5
        assert await superuser.fetchval("select count(*) from log_months.others") == 2  # ages ago, and next year
        assert {month_of(NOW - timedelta(days=days)) for days in (100, 70, 0)} <= set(await parts(superuser))
        async with database.principal_scope(READER) as tx:
            found = [each.message for each in await search_logs(tx, LogFilter())]
        assert sorted(found) == ["early", "early", "late", "tick", "tick", "tick", "tick"]

    async def test_are_made_once_by_many_at_a_time(self, database: Database) -> None:
        stored = await asyncio.gather(*(store_logs(database, OTHER, [line(200 + n, f"n {n}")]) for n in range(8)))
        assert stored == [1] * 8

    async def test_are_made_by_administrators_alone(self, database: Database) -> None:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(READER) as tx:
                await make_months(tx, NOW, NOW)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(ADMIN) as tx:
                await tx.driver.fetchval("select drop_log_months(now())")

    async def test_a_search_reads_only_the_months_it_is_about(self, database: Database) -> None:
        async with database.principal_scope(READER) as tx:
            plan = await tx.driver.fetch(
                "explain select count(*) from system_logs where tenant_id = $1 and logged_at >= $2 and logged_at < $3",
                READER.tenant_id, NOW - timedelta(hours=1), NOW,
            )  # fmt: skip
        told = "\n".join(row[0] for row in plan)
        assert NOW.strftime("y%Ym%m") in told
        assert (NOW - timedelta(days=100)).strftime("y%Ym%m") not in told

    async def test_go_whole_and_leave_what_is_younger(
        self, database: Database, maintenance_url: str, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        operator = await Database.connect(maintenance_url, pool_size=1)
        before = NOW - timedelta(days=80)
        whole = await superuser.fetchval("select count(*) from system_logs")
        try:
            async with operator.operator_scope() as tx:
                older = await count_older(tx, before)
                assert await prune_logs(tx, before) == older == 2 + 8
                assert await prune_logs(tx, before) == 0
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with operator.operator_scope() as tx:
                    await tx.driver.fetch("select message from system_logs")
        finally:
            await operator.dispose()
        assert await superuser.fetchval("select count(*) from system_logs") == whole - older
        assert month_of(NOW - timedelta(days=150)) not in await parts(superuser)
        assert month_of(NOW) in await parts(superuser)

    async def test_lines_survive_the_way_down_and_up(self, embedded_server: EmbeddedServer) -> None:
        create_database(embedded_server, "logs_by_month")
        owner = embedded_server.url("conclave_owner", "logs_by_month")
        await asyncio.to_thread(upgrade, owner, "0005")
        service = await Database.connect(embedded_server.url("conclave_app", "logs_by_month"))
        try:
            async with service.principal_scope(ADMIN) as tx:
                await tx.driver.executemany(
                    "insert into system_logs (tenant_id, logged_at, level, source, department, scope, message)"
                    " values ($1, $2, 'INFO', 's', 'it', 'internal', $3)",
                    [(ADMIN.tenant_id, NOW - timedelta(days=days), "same") for days in (0, 0, 40, 4_000)],
                )
            for step in (upgrade, lambda url: downgrade(url, "0005"), upgrade):
                await asyncio.to_thread(step, owner)
            assert await total(service, READER) == 4
        finally:
            await service.dispose()
