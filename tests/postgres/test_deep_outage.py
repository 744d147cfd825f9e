"""While the database is away a deep run goes on without keeping how far it has come, and does not wait for anybody."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.errors import AppError, ErrorCode, StaleAttempt
from app.tasks.approvals import Approvals, Decision, DeepStates
from app.tasks.queue import JobQueue
from tests.postgres.fragile import FragileServer, fragile_server, losing_relay
from tests.postgres.running import LAN, Rooms, say
from tests.postgres.spooling import spooling_rooms
from tests.postgres.test_approvals import decided

PLAN = {"refined_query": "?"}


@pytest.fixture(scope="module")
def server() -> Iterator[FragileServer]:
    with fragile_server() as running:
        yield running


@pytest.fixture
async def rooms(server: FragileServer, tmp_path: Path) -> AsyncIterator[Rooms]:
    async with spooling_rooms(server.app_url, tmp_path) as opened:
        yield opened


def states_of(rooms: Rooms) -> DeepStates:
    return DeepStates(rooms.database, rooms.journal, lambda: datetime.now(UTC))


async def settled(rooms: Rooms) -> None:
    assert await rooms.journal.outage.is_settled_within(10)


class TestKeeping:
    async def test_is_left_out_while_it_is_away_and_done_again_when_it_is_back(
        self, server: FragileServer, rooms: Rooms
    ) -> None:
        run, states = await rooms.begin(), states_of(rooms)
        await states.store(run, {"step": 1})
        async with server.away():
            say(run, "step 2 is done")
            await states.store(run, {"step": 2})
            await states.store(run, {"step": 3})
        await settled(rooms)
        assert await states.last(run) == {"step": 1}
        await states.store(run, {"step": 4})
        assert await states.last(run) == {"step": 4}
        await rooms.complete(run)
        assert await states.last(run) is None


class TestParking:
    async def test_waits_for_what_was_spooled(self, server: FragileServer, rooms: Rooms) -> None:
        run, states = await rooms.begin(), states_of(rooms)
        async with server.away():
            say(run, "planned while away")
            await run.writer.flush()
            parking = asyncio.create_task(states.park(run, {}, PLAN))
            await asyncio.sleep(0.05)
            assert not parking.done()
        await parking
        told = [entry.event.type for entry in await rooms.journal.read(LAN, run.task.task_id)]
        assert told == ["task_available", "text_delta", "interrupt"]

    async def test_leaves_the_run_to_its_next_attempt_when_the_database_stays_away(
        self, server: FragileServer, rooms: Rooms
    ) -> None:
        run, states = await rooms.begin(), states_of(rooms)
        await states.store(run, {"step": 1})
        async with server.away():
            with pytest.raises(AppError) as refused:
                await states.park(run, {"step": 2}, PLAN)
            assert refused.value.code is ErrorCode.DATABASE_UNAVAILABLE
            await run.writer.aclose()
        await settled(rooms)
        await rooms.expire(run)
        again = await rooms.resume(run.task.task_id)
        assert await states.last(again) == {"step": 1}
        await states.park(again, {"step": 2}, PLAN)
        await again.writer.aclose()

    @pytest.mark.parametrize("says_more", [False, True])
    async def test_is_done_when_only_the_reply_was_lost(
        self, server: FragileServer, rooms: Rooms, tmp_path: Path, says_more: bool
    ) -> None:
        async with (
            losing_relay(server.server) as relay,
            spooling_rooms(relay.url(), tmp_path / "here") as here,
        ):
            run, states = await here.begin(), states_of(here)
            say(run, "planned")
            await run.writer.flush()
            if says_more:
                say(run, "told together with the question")
            relay.lose_next()
            with pytest.raises((AppError, StaleAttempt)):
                await states.park(run, {"step": 1}, PLAN)
            await run.writer.aclose()
            await settled(here)
        parked = await rooms.registry.get_task(LAN, run.task.task_id)
        assert (parked.status.value, parked.waiting_for, parked.attempt) == ("pending", "approval", 1)
        told = [entry.event.type for entry in await rooms.journal.read(LAN, run.task.task_id)]
        assert told[-1] == "interrupt" and told.count("text_delta") == 1 + says_more
        approvals = Approvals(rooms.database, rooms.journal, JobQueue(), decided)
        await approvals.decide(LAN, run.task.task_id, Decision(approved=True))
        again = await rooms.resume(run.task.task_id)
        assert await states_of(rooms).last(again) == {"step": 1, "approved": True}
        await rooms.complete(again)
