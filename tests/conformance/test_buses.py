"""What every message bus must do, and what those must do besides that carry messages between processes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import ClassVar

import asyncpg
import pytest

from app.bus import Bus, Message, Method, Wanted
from app.bus.redis import RedisChannel
from app.bus.relay import MemoryBus, RelayingBus
from app.storage.notifications import NotificationChannel, identity_of
from tests.conformance.bus_adapters import ADAPTERS, PATIENCE, QUIET, RELAYED, Opener, message, on, opener
from tests.factories import stable_id
from tests.fakes.valkey import ValkeyServer


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    server.start()
    yield server
    server.close()


@pytest.fixture(params=ADAPTERS)
async def bus(request: pytest.FixtureRequest, app_url: str, valkey: ValkeyServer) -> AsyncIterator[Bus]:
    opened = await opener(request.param, app_url, valkey.url)()
    yield opened
    await opened.aclose()


@pytest.fixture(params=RELAYED)
def open_one(request: pytest.FixtureRequest, app_url: str, valkey: ValkeyServer) -> Opener:
    return opener(request.param, app_url, valkey.url)


@pytest.fixture
async def pair(open_one: Opener) -> AsyncIterator[tuple[Bus, Bus]]:
    """Two buses as of two processes."""
    here, there = await open_one(), await open_one()
    yield here, there
    await here.aclose()
    await there.aclose()


class TestEveryBus:
    async def test_broadcasts_to_every_subscriber_of_the_topic(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as first, bus.subscribe(on("a")) as second:
            await bus.publish(message())
            assert await first.next_within(PATIENCE) == message()
            assert await second.next_within(PATIENCE) == message()

    async def test_keeps_topics_apart(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as of_a, bus.subscribe(on("b", "c")) as of_b:
            await bus.publish(message("b"))
            assert await of_b.next_within(PATIENCE) == message("b")
            assert await of_a.next_within(QUIET) is None

    @pytest.mark.parametrize(
        ("wanted", "heard"),
        [
            (Wanted(), 3),
            (on("a"), 2),
            (Wanted(root_task_id=stable_id("root")), 2),
            (Wanted(root_task_id=stable_id("other")), 1),
            (Wanted(agent_type="sum"), 1),
            (on("b", agent_type="sum"), 0),
            (on("a", root_task_id=stable_id("other")), 0),
        ],
        ids=str,
    )
    async def test_delivers_what_is_wanted_once_and_nothing_else(self, bus: Bus, wanted: Wanted, heard: int) -> None:
        told = (
            message(),
            message(seq=2, task_id=stable_id("step"), agent_type="sum"),
            message("b", root_task_id=stable_id("other"), task_id=stable_id("other")),
        )
        async with bus.subscribe(wanted) as reader:
            await bus.publish(*told)
            received = [await reader.next_within(PATIENCE) for _ in range(heard)]
            assert received == [one for one in told if wanted.takes(one)]
            assert await reader.next_within(QUIET) is None

    async def test_delivers_each_message_once_and_in_order(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as reader:
            for number in range(20):
                await bus.publish(message(seq=number))
            received = [await reader.next_within(PATIENCE) for _ in range(20)]
            assert received == [message(seq=number) for number in range(20)]
            assert await reader.next_within(QUIET) is None

    async def test_tells_nothing_of_the_time_before_the_subscription(self, bus: Bus) -> None:
        await bus.publish(message())
        async with bus.subscribe(on("a")) as reader:
            assert await reader.next_within(QUIET) is None

    async def test_tells_nothing_after_the_subscription(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as reader:
            pass
        await bus.publish(message())
        assert await reader.next_within(QUIET) is None

    async def test_loses_no_message_to_a_cancelled_reader(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as reader:
            waiting = asyncio.create_task(reader.next_within(PATIENCE))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await bus.publish(message())
            await asyncio.gather(waiting, return_exceptions=True)
            assert await reader.next_within(PATIENCE) == message()

    async def test_never_waits_for_a_slow_reader_who_keeps_the_newest(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as slow, asyncio.timeout(PATIENCE):
            for number in range(1_000):
                await bus.publish(message(seq=number))
            kept: list[Message] = []
            while (received := await slow.next_within(QUIET)) is not None:
                kept.append(received)
        assert 1 <= len(kept) < 1_000
        assert kept[-1] == message(seq=999)

    async def test_hands_over_the_payload_inside_the_process(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as reader:
            await bus.publish(message(payload={"type": "a"}))
            received = await reader.next_within(PATIENCE)
            assert received is not None
            assert received.payload == {"type": "a"}

    async def test_ends_its_readers_when_it_is_closed(self, bus: Bus) -> None:
        async with bus.subscribe(on("a")) as reader:
            await bus.publish(message())
            await bus.aclose()
            assert await reader.next_within(PATIENCE) == message()
            assert await reader.next_within(0.01) is None
            await bus.publish(message())

    async def test_asks_only_the_subscribers_a_message_concerns(self, bus: Bus) -> None:
        async with AsyncExitStack() as stack:
            for number in range(2_000):
                run = stable_id(f"run {number}")
                await stack.enter_async_context(bus.subscribe(_Counting(root_task_id=run)))
                await stack.enter_async_context(bus.subscribe(_Counting(topics=frozenset({f"topic {number}"}))))
            _Counting.asked.clear()
            for number in range(20):
                run = stable_id(f"run {number}")
                await bus.publish(message(f"topic {number + 100}", root_task_id=run, task_id=run))
            assert len(_Counting.asked) == 40


class _Counting(Wanted):
    asked: ClassVar[list[Message]] = []

    def takes(self, message: Message) -> bool:
        _Counting.asked.append(message)
        return super().takes(message)


class TestBusOfManyProcesses:
    async def test_reaches_the_others_with_everything_but_the_payload(self, pair: tuple[Bus, Bus]) -> None:
        here, there = pair
        full = message(
            "hr_task", seq=7, method=Method.TASK, to_agent="hr", agent_type="sum", attempt=3, token_limit=500,
            task_id=stable_id("step"), deadline=datetime(2026, 11, 21, 9, 0, 0, 123_000, UTC),
        )  # fmt: skip
        async with there.subscribe(on("hr_task")) as reader:
            await here.publish(full.model_copy(update={"payload": {"query": "lương của tôi"}}))
            assert await reader.next_within(PATIENCE) == full

    async def test_carries_bursts_in_order(self, pair: tuple[Bus, Bus]) -> None:
        here, there = pair
        heard: list[int | None] = []
        async with there.subscribe(on("a")) as reader:
            for start in range(0, 400, 40):
                await here.publish(*(message(seq=start + number) for number in range(40)))
                while len(heard) < start + 40 and (received := await reader.next_within(PATIENCE)):
                    heard.append(received.seq)
        assert heard == list(range(400))

    async def test_does_not_mind_texts_of_others(
        self, pair: tuple[Bus, Bus], superuser_url: str, valkey: ValkeyServer
    ) -> None:
        here, there = pair
        superuser = await asyncpg.connect(superuser_url)
        async with there.subscribe(Wanted()) as reader:
            for text in (
                "",
                "x",
                "[]",
                "null",
                '[1,"o",["a"],[[0]]]',
                '[1,"o",[],[[null]]]',
                '["o","t",{}]',
                "[" * 2_000,
            ):
                await superuser.execute("select pg_notify('conclave', $1)", text)
                valkey.say(f"PUBLISH conclave:test {text or 'empty'}")
            await here.publish(message())
            assert await reader.next_within(PATIENCE) == message()
        await superuser.close()

    async def test_a_closed_bus_stays_closed_for_the_others(self, open_one: Opener) -> None:
        here, there = await open_one(), await open_one()
        await here.aclose()
        await here.publish(message())
        async with there.subscribe(on("a")) as reader:
            assert await reader.next_within(QUIET) is None
        await there.aclose()


class TestPostgres:
    async def test_listens_again_after_its_connection_was_cut(self, app_url: str, superuser_url: str) -> None:
        bus = await RelayingBus.open(NotificationChannel(app_url))
        other = await RelayingBus.open(NotificationChannel(app_url))
        superuser = await asyncpg.connect(superuser_url)
        try:
            async with bus.subscribe(on("a")) as reader:
                await superuser.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where usename = 'conclave_app' and datname = current_database()"
                )
                received = None
                async with asyncio.timeout(PATIENCE):
                    while received is None:
                        await other.publish(message())
                        received = await reader.next_within(QUIET)
                assert received == message()
        finally:
            await superuser.close()
            await bus.aclose()
            await other.aclose()

    async def test_carries_no_text_of_a_question(self, app_url: str, superuser_url: str) -> None:
        heard: asyncio.Queue[str] = asyncio.Queue()
        superuser = await asyncpg.connect(superuser_url)
        await superuser.add_listener("conclave", lambda *told: heard.put_nowait(str(told[-1])))
        bus = await RelayingBus.open(NotificationChannel(app_url))
        await bus.publish(message("task_available", payload={"query": "lương của tôi là bao nhiêu?"}))
        async with asyncio.timeout(PATIENCE):
            text = await heard.get()
        assert "task_available" in text
        assert not any(word in text for word in ("lương", "l\\u01b0", "query"))
        await bus.aclose()
        await superuser.close()

    async def test_a_database_is_the_same_however_it_is_addressed(self, app_url: str, superuser_url: str) -> None:
        assert await identity_of(app_url) == await identity_of(superuser_url)


class TestRedis:
    async def test_takes_a_unix_socket(self, valkey: ValkeyServer) -> None:
        here = await RelayingBus.open(RedisChannel(valkey.unix_url, "test"))
        there = await RelayingBus.open(RedisChannel(valkey.url, "test"))
        async with there.subscribe(on("a")) as reader:
            await here.publish(message())
            assert await reader.next_within(PATIENCE) == message()
        await here.aclose()
        await there.aclose()

    async def test_services_of_other_databases_hear_nothing(self, valkey: ValkeyServer) -> None:
        here = await RelayingBus.open(RedisChannel(valkey.url, "one"))
        there = await RelayingBus.open(RedisChannel(valkey.url, "two"))
        async with there.subscribe(Wanted()) as reader:
            await here.publish(message())
            assert await reader.next_within(QUIET) is None
        await here.aclose()
        await there.aclose()


class TestMemoryBus:
    async def test_keeps_no_shelf_behind(self) -> None:
        bus = MemoryBus()
        async with (
            bus.subscribe(on("a", "b")),
            bus.subscribe(Wanted()),
            bus.subscribe(Wanted(root_task_id=stable_id("t"))),
        ):
            assert bus.__dict__["_shelves"]
        assert not bus.__dict__["_shelves"]
