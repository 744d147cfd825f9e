"""What the server says when it cannot do a transaction now: a 503 with a hint, never a bug, and nothing half done."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from app.errors import AppError, ErrorCode
from app.storage.database import Database, open_driver
from tests.postgres.running import LAN


async def refused(database: Database, statement: str) -> AppError:
    with pytest.raises(AppError) as refusal:
        async with database.principal_scope(LAN) as tx:
            await tx.driver.execute(statement)
    assert (refusal.value.code, refusal.value.status) == (ErrorCode.DATABASE_UNAVAILABLE, 503)
    assert refusal.value.retry_after_seconds
    return refusal.value


@pytest.fixture
async def single(app_url: str) -> AsyncIterator[Database]:
    opened = await Database.connect(app_url, pool_size=1)
    yield opened
    await opened.dispose()


class TestPassingErrors:
    @pytest.mark.parametrize(
        ("code", "told"),
        [
            ("40001", "SerializationError"),
            ("40P01", "DeadlockDetectedError"),
            ("53100", "DiskFullError"),
            ("53200", "OutOfMemoryError"),
            ("53300", "TooManyConnectionsError"),
            ("58030", "PostgresIOError"),
        ],
    )
    async def test_become_a_503(self, single: Database, code: str, told: str) -> None:
        found = await refused(single, f"do $$ begin raise exception 'x' using errcode = '{code}'; end $$")
        assert told in found.detail
        async with single.principal_scope(LAN) as tx:
            assert await tx.driver.fetchval("select current_setting('app.user_id')") == str(LAN.user_id)

    async def test_a_server_that_only_reads_is_one_of_them(self, single: Database) -> None:
        await refused(single, "set transaction read only; delete from feedback")

    async def test_so_does_a_connection_the_server_ends(
        self, single: Database, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        with pytest.raises(AppError):
            async with single.principal_scope(LAN) as tx:
                pid = await tx.driver.fetchval("select pg_backend_pid()")
                await superuser.execute("select pg_terminate_backend($1)", pid)
                await tx.driver.execute("select pg_sleep(5)")
        async with single.principal_scope(LAN) as tx:
            assert await tx.driver.fetchval("select 1") == 1

    async def test_a_mistake_of_ours_stays_one(self, single: Database) -> None:
        with pytest.raises(asyncpg.UndefinedTableError):
            async with single.principal_scope(LAN) as tx:
                await tx.driver.execute("select from there_is_none")

    async def test_a_connection_whose_borrower_leaves_while_it_is_prepared_is_closed(
        self, app_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[asyncpg.Connection[asyncpg.Record]] = []
        begun = asyncio.Event()

        async def hang(driver: "asyncpg.Connection[asyncpg.Record]") -> None:
            made.append(driver)
            begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr("app.storage.database.register_vector", hang)
        opening = asyncio.ensure_future(open_driver(app_url))
        await begun.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert made[0].is_closed()

    async def test_a_connection_that_comes_back_to_a_closed_pool_is_closed(
        self, app_url: str, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        opened = await Database.connect(app_url, pool_size=2)
        async with opened.principal_scope(LAN) as tx:
            pid = await tx.driver.fetchval("select pg_backend_pid()")
            await opened.dispose()
            assert await tx.driver.fetchval("select 1") == 1
        async with asyncio.timeout(10):
            count = "select count(*) from pg_stat_activity where pid = $1"
            while await superuser.fetchval(count, pid):  # noqa: ASYNC110 - the state is elsewhere
                await asyncio.sleep(0.01)

    async def test_so_is_one_whose_borrower_left_before_it_was_there(
        self, app_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened = await Database.connect(app_url, pool_size=2)
        made: list[asyncpg.Connection[asyncpg.Record]] = []
        go_on = asyncio.Event()
        prepare = asyncio.Event()

        async def wait(driver: "asyncpg.Connection[asyncpg.Record]") -> None:
            made.append(driver)
            prepare.set()
            await go_on.wait()

        monkeypatch.setattr("app.storage.database.register_vector", wait)

        async def borrow() -> None:
            async with opened.principal_scope(LAN), opened.principal_scope(LAN):
                pass

        borrower = asyncio.ensure_future(borrow())
        await prepare.wait()
        borrower.cancel()
        with pytest.raises(asyncio.CancelledError):
            await borrower
        await opened.dispose()
        go_on.set()
        for _ in range(1_000):
            if made[0].is_closed():
                break
            await asyncio.sleep(0.01)
        assert made[0].is_closed()
