"""What every message bus must do."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from app.bus import Bus, Payload
from app.bus.memory import MemoryBus
from app.bus.postgres import PostgresBus
from app.storage.notifications import NotificationChannel

PATIENCE = 5.0
"""Seconds a message may take before a test gives up."""
QUIET = 0.2


@pytest.fixture(params=["memory", "postgres"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    opened: Bus
    if request.param == "memory":
        opened = MemoryBus()
    else:
        opened = await PostgresBus.open(NotificationChannel(request.getfixturevalue("app_url")))
    yield opened
    await opened.aclose()


class TestEveryBus:
    async def test_tells_every_subscriber_of_the_topic(self, bus: Bus) -> None:
        async with bus.subscribe("a") as first, bus.subscribe("a") as second:
            await bus.publish("a", {"id": "1"})
            assert await first.next_within(PATIENCE) == {"id": "1"}
            assert await second.next_within(PATIENCE) == {"id": "1"}

    async def test_keeps_topics_apart(self, bus: Bus) -> None:
        async with bus.subscribe("a") as of_a, bus.subscribe("b") as of_b:
            await bus.publish("b", {"id": "2"})
            assert await of_b.next_within(PATIENCE) == {"id": "2"}
            assert await of_a.next_within(QUIET) is None

    async def test_delivers_each_message_once_and_in_order(self, bus: Bus) -> None:
        async with bus.subscribe("a") as reader:
            for number in range(20):
                await bus.publish("a", {"id": str(number)})
            received = [await reader.next_within(PATIENCE) for _ in range(20)]
            assert received == [{"id": str(number)} for number in range(20)]
            assert await reader.next_within(QUIET) is None

    async def test_tells_nothing_of_the_time_before_the_subscription(self, bus: Bus) -> None:
        await bus.publish("a", {"id": "early"})
        async with bus.subscribe("a") as reader:
            assert await reader.next_within(QUIET) is None

    async def test_loses_no_message_to_a_cancelled_reader(self, bus: Bus) -> None:
        async with bus.subscribe("a") as reader:
            waiting = asyncio.create_task(reader.next_within(PATIENCE))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await bus.publish("a", {"id": "1"})
            await asyncio.gather(waiting, return_exceptions=True)
            assert await reader.next_within(PATIENCE) == {"id": "1"}

    async def test_never_waits_for_a_slow_reader_who_keeps_the_newest(self, bus: Bus) -> None:
        async with bus.subscribe("a") as slow, asyncio.timeout(PATIENCE):
            for number in range(1_000):
                await bus.publish("a", {"id": str(number)})
            kept: list[Payload] = []
            while (message := await slow.next_within(QUIET)) is not None:
                kept.append(message)
        assert 1 <= len(kept) < 1_000
        assert kept[-1] == {"id": "999"}

    async def test_ends_its_readers_when_it_is_closed(self, bus: Bus) -> None:
        async with bus.subscribe("a") as reader:
            await bus.publish("a", {"id": "last"})
            await bus.aclose()
            async with asyncio.timeout(PATIENCE):
                assert [message async for message in reader] == [{"id": "last"}]
            assert await reader.next_within(0.01) is None


class TestPostgresBus:
    async def test_reaches_the_other_processes_of_the_database(self, app_url: str) -> None:
        here = await PostgresBus.open(NotificationChannel(app_url))
        there = await PostgresBus.open(NotificationChannel(app_url))
        try:
            async with there.subscribe("a") as reader:
                await here.publish("a", {"id": "1"})
                assert await reader.next_within(PATIENCE) == {"id": "1"}
        finally:
            await here.aclose()
            await there.aclose()

    async def test_listens_again_after_its_connection_was_cut(self, app_url: str, superuser_url: str) -> None:
        bus = await PostgresBus.open(NotificationChannel(app_url))
        other = await PostgresBus.open(NotificationChannel(app_url))
        superuser = await asyncpg.connect(superuser_url)
        try:
            async with bus.subscribe("a") as reader:
                await superuser.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where usename = 'conclave_app' and datname = current_database()"
                )
                received = None
                async with asyncio.timeout(PATIENCE):
                    while received is None:
                        await other.publish("a", {"id": "again"})
                        received = await reader.next_within(QUIET)
                assert received == {"id": "again"}
        finally:
            await superuser.close()
            await bus.aclose()
            await other.aclose()
