"""The embedded server: shared by processes, found again after a crash, and its loss survived by a pool."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import asyncpg
import pytest
from structlog.testing import capture_logs

from app.errors import AppError, ErrorCode
from app.main.storage import Storage
from app.settings import Settings
from app.storage.database import Database
from app.storage.embedded import start_embedded
from app.storage.migrate import upgrade
from app.tasks.run import TaskRun
from tests.factories import principal
from tests.limits import limit
from tests.postgres.running import rooms_on, say

_HOLD = """
import sys
from pathlib import Path
from app.storage.embedded import start_embedded
server = start_embedded(Path(sys.argv[1]), durable=False)
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.read()
server.stop()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data directory whose own socket path would be too long."""
    root = Path(tempfile.mkdtemp(prefix="conclave-long-"))
    yield root / ("đường-dẫn-dài-" * 6)
    shutil.rmtree(root)


def _holder(folder: Path) -> "subprocess.Popen[str]":
    """A process that starts or joins the server and holds it until its input ends."""
    return subprocess.Popen(
        (sys.executable, "-c", _HOLD, str(folder)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _wait_ready(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


async def _answers(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=2)
    except (OSError, asyncpg.PostgresError):
        return False
    await connection.close()
    return True


class TestSharing:
    async def test_several_processes_start_it_at_once_and_the_last_one_stops_it(self, folder: Path) -> None:
        processes = [_holder(folder) for _ in range(3)]
        for process in processes:
            await asyncio.to_thread(_wait_ready, process)
        server = start_embedded(folder, durable=False)
        assert len(str(server.socket_dir / ".s.PGSQL.5432").encode()) <= 100
        processes[0].kill()
        await asyncio.to_thread(processes[0].communicate)
        for process in processes[1:]:
            await asyncio.to_thread(process.communicate, "")
            assert process.returncode == 0
        assert await _answers(server.app_url)
        server.stop()
        server.stop()
        assert not await _answers(server.app_url)

    async def test_is_found_again_after_its_only_process_was_killed(self, folder: Path) -> None:
        process = _holder(folder)
        await asyncio.to_thread(_wait_ready, process)
        process.kill()
        await asyncio.to_thread(process.communicate)
        server = start_embedded(folder, durable=False)
        try:
            assert await _answers(server.owner_url)
        finally:
            server.stop()
        assert not await _answers(server.owner_url)

    async def test_starts_although_a_stranger_has_the_number_of_its_dead_process(self, folder: Path) -> None:
        server = start_embedded(folder, durable=False)
        server.stop()
        pid_file = server.data_dir / "postmaster.pid"
        pid_file.write_text(f"{1}\n{server.data_dir}\n0\n5432\n{server.socket_dir}\n\n")
        shutil.copystat(server.data_dir / "PG_VERSION", pid_file)
        again = start_embedded(folder, durable=False)
        try:
            assert await _answers(again.app_url)
        finally:
            again.stop()


class TestLoss:
    async def test_a_pool_says_so_while_the_server_is_away_and_works_again_after(self, folder: Path) -> None:
        server = start_embedded(folder, durable=False)
        upgrade(server.owner_url)
        database = await Database.connect(server.app_url, pool_size=2)
        try:
            server.stop()
            for _ in range(3):
                with pytest.raises(AppError) as refusal:
                    async with database.principal_scope(principal()):
                        pass
                assert (refusal.value.code, refusal.value.status) == (ErrorCode.DATABASE_UNAVAILABLE, 503)
                assert refusal.value.retry_after_seconds
            server = start_embedded(folder, durable=False)
            async with database.principal_scope(principal()) as tx:
                assert await tx.driver.fetchval("select 1") == 1
        finally:
            await database.dispose()
            server.stop()

    async def test_a_transaction_cut_in_the_middle_is_told_as_unavailable(self, folder: Path) -> None:
        server = start_embedded(folder, durable=False)
        database = await Database.connect(server.app_url)
        superuser = await asyncpg.connect(server.url("postgres"))
        cut = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'conclave_app'"
        try:
            with pytest.raises(AppError) as refusal:
                async with database.principal_scope(principal()) as tx:
                    await superuser.execute(cut)
                    await tx.driver.fetchval("select 1")
            assert refusal.value.code is ErrorCode.DATABASE_UNAVAILABLE
            async with database.principal_scope(principal()) as tx:
                assert await tx.driver.fetchval("select 1") == 1
        finally:
            await superuser.close()
            await database.dispose()
            server.stop()

    async def test_a_worker_outlives_it_and_ends_what_it_had_begun(self, folder: Path) -> None:
        server = start_embedded(folder, durable=False)
        upgrade(server.owner_url)
        database = await Database.connect(server.app_url)
        rooms = rooms_on(database, lease_seconds=1)
        begun, back = asyncio.Event(), asyncio.Event()

        async def handle(run: TaskRun) -> None:
            say(run, f"attempt {run.attempt}")
            await run.writer.flush()
            begun.set()
            await back.wait()
            await rooms.complete(run)

        try:
            async with rooms.working({"chat": handle}), asyncio.timeout(30):
                task = await rooms.register()
                await begun.wait()
                server.stop()
                await asyncio.sleep(1.2)
                server = start_embedded(folder, durable=False)
                back.set()
                assert (await rooms.entries(task.task_id))[-1].event.type == "final_report"
                assert (await rooms.entries((await rooms.register()).task_id))[-1].event.type == "final_report"
        finally:
            await database.dispose()
            server.stop()


class TestDeath:
    async def test_it_is_started_again_once_by_whoever_uses_it(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="conclave-dead-"))
        settings = Settings(_env_file=None, data_dir=folder)
        log, pid_file = folder / "postgres" / "server.log", folder / "postgres" / "postmaster.pid"
        try:
            async with AsyncExitStack() as stack:
                users = [await Storage.open(settings, stack) for _ in range(3)]
                await asyncio.sleep(0.5)
                for _ in range(2):
                    begun = log.read_text().count("starting PostgreSQL")
                    with capture_logs() as told:
                        os.kill(int(pid_file.read_text().split("\n", 1)[0]), signal.SIGKILL)
                        await asyncio.gather(*(_until_it_answers(one.database) for one in users))
                        await asyncio.sleep(1.5)
                    assert log.read_text().count("starting PostgreSQL") == begun + 1
                    assert [one["event"] for one in told] == ["database_started_again"]
            assert not pid_file.exists()
        finally:
            shutil.rmtree(folder)

    async def test_of_several_that_see_it_at_once_one_starts_it(self, folder: Path) -> None:
        servers = [start_embedded(folder, durable=False) for _ in range(4)]
        log, pid_file = servers[0].data_dir / "server.log", servers[0].data_dir / "postmaster.pid"
        try:
            os.kill(int(pid_file.read_text().split("\n", 1)[0]), signal.SIGKILL)
            await asyncio.sleep(1)
            begun = log.read_text().count("starting PostgreSQL")
            revived = await asyncio.gather(*(asyncio.to_thread(one.revive) for one in servers))
            assert sorted(revived) == [False, False, False, True]
            assert log.read_text().count("starting PostgreSQL") == begun + 1
        finally:
            for server in servers:
                server.stop()

    async def test_it_is_tried_again_until_it_can_be_started(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="conclave-dead-"))
        try:
            async with AsyncExitStack() as stack:
                storage = await Storage.open(Settings(_env_file=None, data_dir=folder), stack)
                cluster, pid_file = folder / "postgres", folder / "postgres" / "postmaster.pid"
                control = cluster / "global" / "pg_control"
                control.rename(folder / "pg_control")
                os.kill(int(pid_file.read_text().split("\n", 1)[0]), signal.SIGKILL)
                await asyncio.sleep(4)
                with pytest.raises(AppError):
                    async with storage.database.principal_scope(principal()):
                        pass
                (folder / "pg_control").rename(control)
                await _until_it_answers(storage.database)
        finally:
            shutil.rmtree(folder)

    async def test_one_that_was_let_go_of_stays_down(self, folder: Path) -> None:
        server = start_embedded(folder, durable=False)
        server.stop()
        assert not server.revive()
        assert not await _answers(server.app_url)


async def _until_it_answers(database: Database) -> None:
    async with asyncio.timeout(limit(5)):
        while True:
            with suppress(AppError):
                async with database.principal_scope(principal()) as tx:
                    assert await tx.driver.fetchval("select 1") == 1
                    return
            await asyncio.sleep(0.1)


class TestTransactions:
    async def test_an_ignored_failure_does_not_pass_for_a_commit(self, database: Database) -> None:
        with pytest.raises(RuntimeError, match="ignored"):
            async with database.principal_scope(principal()) as tx:
                with pytest.raises(asyncpg.DivisionByZeroError):
                    await tx.driver.fetchval("select 1 / 0")

    async def test_plans_are_made_anew_for_every_principal(self, database: Database) -> None:
        async with database.principal_scope(principal(), durable=False) as tx:
            shown = [await tx.driver.fetchval(f"show {name}") for name in ("plan_cache_mode", "synchronous_commit")]
        assert shown == ["force_custom_plan", "off"]
