"""`conclave worker` as its supervisor sees it: which queues it serves, and how it ends."""

import asyncio
import os
import signal
import sys

import asyncpg
import pytest

from app.storage.embedded import EmbeddedServer
from tests.limits import limit
from tests.nursery import Child, Nursery, Terminal
from tests.warm import warm


@pytest.fixture(scope="module")
async def terminal(
    embedded_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory, nursery: Nursery
) -> Terminal:
    """An external database nobody else uses, and two remote agents."""
    superuser = await asyncpg.connect(embedded_server.url("postgres", "postgres"))
    await superuser.execute("create database worker_command template conclave_template owner conclave_owner")
    await superuser.close()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
    data = warm(tmp_path_factory.mktemp("worker"))
    settings = {
        **kept,
        "CONCLAVE_DATA_DIR": str(data),
        "CONCLAVE_DATABASE_URL": embedded_server.url("conclave_app", "worker_command"),
        "CONCLAVE_DATABASE_OWNER_URL": embedded_server.url("conclave_owner", "worker_command"),
        "CONCLAVE_AUTH_JWT_SECRET": "a-secret-of-these-tests-that-is-longer-than-64-bytes-and-of-no-use-elsewhere",
        "CONCLAVE_REMOTE_AGENTS": '["hr", "math"]',
        "CONCLAVE_TASK_LEASE_SECONDS": "2",
        "CONCLAVE_WORKER_SILENCE_SECONDS": "2",
        "COLUMNS": "160",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return Terminal(nursery, settings)


async def first_line(process: Child) -> str:
    """What a worker says when it is ready."""
    assert process.stderr is not None
    async with asyncio.timeout(90):
        while line := (await process.stderr.readline()).decode():
            if line.startswith("worker "):
                return line
    raise AssertionError("it ended before it was ready")


class TestQueues:
    async def test_are_told_at_the_start(self, terminal: Terminal) -> None:
        process = await terminal.start("worker", "--queues", "math,it,chat")
        try:
            assert (await first_line(process)).strip().endswith("serves chat, it, math")
        finally:
            process.send_signal(signal.SIGTERM)
            _, told = await asyncio.wait_for(process.communicate(), limit(15))
        assert process.returncode == 0
        assert "it is not remote here" in told.decode()

    async def test_that_do_not_exist_are_refused(self, terminal: Terminal) -> None:
        code, _, told = await terminal.run("worker", "--queues", "hr,sales")
        assert code == 2
        assert "There is no queue 'sales'; the queues are chat, ingest, hr" in told


class TestHanging:
    async def test_ends_with_one_so_that_another_is_started(
        self, terminal: Terminal, embedded_server: EmbeddedServer
    ) -> None:
        process = await terminal.start("worker")
        locker = await asyncpg.connect(embedded_server.url("postgres", "worker_command"))
        try:
            await first_line(process)
            async with asyncio.timeout(40), locker.transaction():
                await locker.execute("lock table pgqueuer in access exclusive mode")
                _, told = await process.communicate()
        finally:
            await locker.close()
            if process.returncode is None:
                process.kill()
                await process.communicate()
        assert process.returncode == 1
        assert "The worker hangs" in told.decode()
