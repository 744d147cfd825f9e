"""What PostgreSQL had confirmed when it crashed: whoever acted on it may go on doing so."""

import asyncio

from app.events import TextDelta
from tests.chaos.house import House
from tests.chaos.tasks import own_rooms

SIDE_BY_SIDE = 8


async def crash(house: House) -> None:
    await asyncio.to_thread(house.postgres.crash)
    await asyncio.to_thread(house.postgres.start)


class TestACrashOfPostgres:
    async def test_takes_back_no_claim(self, house: House) -> None:
        """The claimant still works under its attempt number; the next claim must not get the same one, or the fence
        between the two is gone."""
        async with own_rooms(house) as (rooms, lan):
            tasks = [await rooms.register(lan) for _ in range(SIDE_BY_SIDE)]
            claims = [await rooms.registry.claim_task(lan, task.task_id, "first") for task in tasks]
            assert None not in claims
            await crash(house)
        async with own_rooms(house) as (rooms, lan):
            kept = [await rooms.registry.get_task(lan, task.task_id) for task in tasks]
            for task in tasks:
                await rooms.registry.cancel(lan, task.task_id)
        assert [task.attempt for task in kept] == [1] * SIDE_BY_SIDE

    async def test_takes_back_no_event_that_a_follower_was_shown(self, house: House) -> None:
        async with own_rooms(house) as (rooms, lan):
            runs = [await rooms.begin(lan) for _ in range(SIDE_BY_SIDE)]
            for run in runs:
                run.writer.append(TextDelta(text=f"shown {run.task.task_id}"))
                await run.writer.flush()
            shown = [await rooms.journal.read(lan, run.task.task_id) for run in runs]
            await crash(house)
            for run in runs:
                await run.writer.aclose()
        async with own_rooms(house) as (rooms, lan):
            kept = [await rooms.journal.read(lan, run.task.task_id) for run in runs]
            for run in runs:
                await rooms.registry.cancel(lan, run.task.task_id)
        assert kept == shown and len(shown[0]) == 2
