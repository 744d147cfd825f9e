"""``kill -9`` while the database is away, and while spooled writes are brought in: nothing is lost, nothing doubled."""

import asyncio
import random
import signal
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import asyncpg
import pytest

from app.storage.spool import waiting_in
from tests.nursery import Child, Nursery
from tests.postgres.fragile import FragileServer, fragile_server

RUNS = 8


@pytest.fixture(scope="module")
def server() -> Iterator[FragileServer]:
    with fragile_server() as running:
        yield running


def process(
    nursery: Nursery, url: str, folder: Path, runs: int, kill_at: int = 0
) -> AbstractAsyncContextManager[Child]:
    return nursery.running("tests.postgres.spool_process", url, str(folder), str(runs), str(kill_at))


async def line_of(started: Child) -> str:
    """Its next word; empty when it is gone."""
    assert started.stdout is not None
    while (said := await asyncio.wait_for(started.stdout.readline(), 60)) and not said.startswith(b"> "):
        pass
    return said.decode().removeprefix("> ").strip()


async def go(started: Child) -> None:
    assert started.stdin is not None
    started.stdin.write(b"go\n")
    await started.stdin.drain()


async def killed_while_away(
    nursery: Nursery, server: FragileServer, folder: Path, rng: random.Random
) -> dict[str, str]:
    """Answers that were accepted by a process that was killed at a random moment."""
    accepted: dict[str, str] = {}
    async with process(nursery, server.app_url, folder, RUNS) as working:
        assert await line_of(working) == "ready"
        async with server.away():
            await go(working)
            for _ in range(rng.randrange(1, RUNS + 1)):
                task_id, _, answer = (await line_of(working)).partition(" ")
                accepted[task_id] = answer
            await asyncio.sleep(rng.uniform(0, 0.05))
            working.send_signal(signal.SIGKILL)
            while said := await line_of(working):
                task_id, _, answer = said.partition(" ")
                accepted[task_id] = answer
    return accepted


class TestKills:
    @pytest.mark.parametrize("seed", [1, 2, 3])
    async def test_lose_nothing_that_was_accepted_and_double_nothing(
        self, nursery: Nursery, server: FragileServer, tmp_path: Path, seed: int
    ) -> None:
        rng = random.Random(seed)
        accepted = await killed_while_away(nursery, server, tmp_path, rng)
        assert accepted and waiting_in(tmp_path / "spool").runs >= len(accepted)
        while waiting_in(tmp_path / "spool").runs:
            async with process(nursery, server.app_url, tmp_path, 0, kill_at=rng.choice([0, 1, 2, 3])) as next_one:
                if await line_of(next_one) == "ready":
                    await go(next_one)
                    assert await line_of(next_one) == "settled"
        await self._assert_each_once(server, accepted)

    async def test_of_the_process_that_brings_its_own_writes_in(
        self, nursery: Nursery, server: FragileServer, tmp_path: Path
    ) -> None:
        accepted: dict[str, str] = {}
        async with process(nursery, server.app_url, tmp_path, RUNS, kill_at=3) as working:
            assert await line_of(working) == "ready"
            async with server.away():
                await go(working)
                for _ in range(RUNS):
                    task_id, _, answer = (await line_of(working)).partition(" ")
                    accepted[task_id] = answer
            await asyncio.wait_for(working.wait(), 30)
        assert waiting_in(tmp_path / "spool").runs == RUNS - 2
        async with process(nursery, server.app_url, tmp_path, 0) as next_one:
            assert await line_of(next_one) == "ready"
        assert waiting_in(tmp_path / "spool").runs == 0
        await self._assert_each_once(server, accepted)

    async def _assert_each_once(self, server: FragileServer, accepted: dict[str, str]) -> None:
        connection = await asyncpg.connect(server.superuser_url)
        try:
            for task_id, answer in accepted.items():
                stored = await connection.fetchrow(
                    "select status, result ->> 'answer' as answer, metadata ? 'late_answers' as is_late"
                    " from tasks where task_id = $1",
                    task_id,
                )
                assert dict(stored or {}) == {"status": "completed", "answer": answer, "is_late": False}
                events = await connection.fetch(
                    "select seq, type from events where root_task_id = $1 order by seq", task_id
                )
                assert [row["seq"] for row in events] == [1, 2, 3, 4]
                assert [row["type"] for row in events][1:] == ["text_delta", "text_delta", "final_report"]
            doubled = await connection.fetchval(
                "select count(*) from (select from events where type in ('final_report', 'task_failed',"
                " 'task_cancelled') group by root_task_id having count(*) > 1) d"
            )
            assert doubled == 0
        finally:
            await connection.close()
