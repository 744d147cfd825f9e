"""Random outages under random work: whatever is cut, lost or taken over, every run ends once, and no answer is lost.

Every round prints its seed; in `make chaos` the last one is new each time: run it again with ``SEED=… pytest``.
"""

import asyncio
import random
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import UUID

import pytest

from app.errors import AppError, StaleAttempt
from app.storage.spool import waiting_in
from app.tasks.run import TaskRun
from tests.postgres.fragile import FragileServer, LosingRelay, fragile_server, losing_relay
from tests.postgres.running import LAN, Rooms, say
from tests.postgres.spooling import spooling_rooms
from tests.samples import drawn, story_seed

SEEDS = [*drawn((11, 12, 13), 1), story_seed("SEED")]
MOVES = 60


@pytest.fixture(scope="module")
def server() -> Iterator[FragileServer]:
    with fragile_server() as running:
        yield running


class World:
    """A process behind a relay that is cut now and then, one that always reaches the database, what was promised."""

    def __init__(self, rng: random.Random, relay: LosingRelay, here: Rooms, there: Rooms):
        self.rng, self.relay, self.here, self.there = rng, relay, here, there
        self.runs: dict[UUID, tuple[Rooms, TaskRun]] = {}
        self.tasks: set[UUID] = set()
        self.promised: dict[UUID, set[str]] = {}

    async def move(self) -> None:
        """Do something; what the world refuses is given up, as a worker would."""
        moves = [self.begin, self.speak, self.speak, self.speak, self.end, self.end, self.change_hands, self.trouble]
        await self.rng.choice(moves)()

    async def begin(self) -> None:
        rooms = self.rng.choice([self.here, self.here, self.there])
        try:
            run = await rooms.begin()
        except AppError:
            rooms = self.there
            run = await rooms.begin()
        self.tasks.add(run.task.task_id)
        self.runs[run.task.task_id] = (rooms, run)

    async def speak(self) -> None:
        if (picked := self._picked()) is None:
            return
        _, run = picked
        try:
            say(run, *(f"{run.attempt}-{self.rng.random()}" for _ in range(self.rng.randrange(1, 4))))
            await run.writer.flush()
        except StaleAttempt:
            await self._give_up(run)

    async def end(self) -> None:
        if (picked := self._picked()) is None:
            return
        rooms, run = picked
        answer = f"{run.task.task_id} by {run.attempt}"
        try:
            await rooms.complete(run, answer)
            self.promised.setdefault(run.task.task_id, set()).add(answer)
        except StaleAttempt:
            pass
        await self._give_up(run)

    async def change_hands(self) -> None:
        """The lease of a run is over for the others before its holder is done."""
        if (picked := self._picked()) is None:
            return
        _, run = picked
        await self.there.expire(run)
        try:
            taken = await self.there.resume(run.task.task_id)
        except AssertionError:  # it has ended, or its claim waits in the spool
            return
        if self.rng.random() < 0.5:
            await self._give_up(run)  # the old holder falls silent
        self.runs[taken.task.task_id] = (self.there, taken)

    async def trouble(self) -> None:
        match self.rng.randrange(4):
            case 0:
                self.relay.cut()
                await asyncio.sleep(self.rng.uniform(0, 0.3))
            case 1:
                self.relay.mend()
                await asyncio.sleep(self.rng.uniform(0, 0.4))
            case 2:
                self.relay.lose_next(self.rng.randrange(1, 3))
            case _:
                self.relay.mend()
                assert await self.here.journal.outage.is_settled_within(20)

    def _picked(self) -> tuple[Rooms, TaskRun] | None:
        return self.rng.choice(list(self.runs.values())) if self.runs else None

    async def _give_up(self, run: TaskRun) -> None:
        await run.writer.aclose()
        known = self.runs.get(run.task.task_id)
        if known is not None and known[1] is run:
            del self.runs[run.task.task_id]

    async def come_to_rest(self) -> None:
        """The trouble is over; what has no end yet gets one."""
        self.relay.mend()
        self.relay.lose_next(0)
        for _, run in list(self.runs.values()):
            await self._give_up(run)
        assert await self.here.journal.outage.is_settled_within(20)
        for task_id in self.tasks:
            if not (await self.there.registry.get_task(LAN, task_id)).status.is_terminal:
                task = await self.there.registry.get_task(LAN, task_id)
                await self.there.registry.release_lease(LAN, task_id, task.attempt)
                await self.there.complete(await self.there.resume(task_id), "in the end")

    async def check(self) -> None:
        for task_id in self.tasks:
            entries = await self.there.entries(task_id)
            task = await self.there.registry.get_task(LAN, task_id)
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert sum(entry.is_terminal for entry in entries) == 1 and entries[-1].is_terminal
            kept = {(task.result or {})["answer"]}
            late = {one["result"]["answer"] for one in task.metadata.get("late_answers", [])}
            promised = self.promised.get(task_id, set())
            assert promised <= kept | late, "an answer that was accepted is nowhere"
            assert not promised or kept <= promised, "an accepted answer did not win over none"
            assert len(task.metadata.get("late_answers", [])) == len(late), "a late answer was kept twice"


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_run_ends_once_and_no_accepted_answer_is_lost(
    server: FragileServer, tmp_path: Path, seed: int
) -> None:
    sys.stdout.write(f"SEED={seed}\n")
    async with AsyncExitStack() as stack:
        relay = await stack.enter_async_context(losing_relay(server.server))
        there = await stack.enter_async_context(spooling_rooms(server.app_url, tmp_path / "there"))
        here = await stack.enter_async_context(spooling_rooms(relay.url(), tmp_path / "here"))
        world = World(random.Random(seed), relay, here, there)
        for _ in range(MOVES):
            await asyncio.wait_for(world.move(), 30)
        await world.come_to_rest()
        await world.check()
    assert waiting_in(tmp_path / "here" / "spool").runs == 0
