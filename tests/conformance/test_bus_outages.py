"""Redis away, slow, paused, read-only, back empty: publishing never waits, one line is logged, wake-ups come back."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from app.bus import PATIENCE_SECONDS, Bus
from app.bus.redis import RedisChannel
from app.bus.relay import RelayingBus
from app.errors import AppError, ErrorCode
from app.main.adapters import check_bus_url, open_bus
from tests.conformance.bus_adapters import PATIENCE, message, on
from tests.fakes.valkey import ValkeyServer
from tests.limits import limit

AT_ONCE = 0.05
"""Publishing does no more than remember."""


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    server.start()
    yield server
    server.close()


@pytest.fixture
async def pair(valkey: ValkeyServer) -> AsyncIterator[tuple[Bus, Bus]]:
    here = await RelayingBus.open(RedisChannel(valkey.url, "test"))
    there = await RelayingBus.open(RedisChannel(valkey.url, "test"))
    yield here, there
    for bus in (here, there):
        clock = time.monotonic()
        await bus.aclose()
        assert time.monotonic() - clock < limit(4 * PATIENCE_SECONDS)


async def publish_at_once(bus: Bus, seconds: float) -> None:
    """Publish again and again; nobody waits for it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        clock = time.monotonic()
        await bus.publish(message())
        assert time.monotonic() - clock < limit(AT_ONCE)
        await asyncio.sleep(0.02)


async def is_back(here: Bus, there: Bus) -> None:
    async with there.subscribe(on("back")) as reader, asyncio.timeout(PATIENCE):
        await here.publish(message("back"))
        while await reader.next_within(0.1) is None:
            await here.publish(message("back"))


def down(valkey: ValkeyServer) -> tuple[Callable[[], object], Callable[[], object]]:
    return valkey.kill, valkey.start


def paused(valkey: ValkeyServer) -> tuple[Callable[[], object], Callable[[], object]]:
    return valkey.pause, valkey.wake


def slow(valkey: ValkeyServer) -> tuple[Callable[[], object], Callable[[], object]]:
    return lambda: valkey.say("CLIENT PAUSE 2000 ALL"), lambda: None


def refusing(valkey: ValkeyServer) -> tuple[Callable[[], object], Callable[[], object]]:
    return lambda: valkey.say("ACL SETUSER default -publish"), lambda: valkey.say("ACL SETUSER default +publish")


class TestOutage:
    @pytest.mark.parametrize("outage", [down, paused, slow, refusing])
    async def test_costs_wake_ups_and_one_line(
        self,
        outage: Callable[[ValkeyServer], tuple[Callable[[], object], Callable[[], object]]],
        valkey: ValkeyServer,
        pair: tuple[Bus, Bus],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        here, there = pair
        begin, end = outage(valkey)
        await is_back(here, there)
        with caplog.at_level(logging.WARNING):
            begin()
            await publish_at_once(here, 1.5)
            async with here.subscribe(on("near")) as near:
                await here.publish(message("near"))
                assert await near.next_within(AT_ONCE) is not None
            end()
        await is_back(here, there)
        lines = [record.message for record in caplog.records]
        assert lines
        assert set(lines) == {"redis_away"}
        assert len(lines) <= 2, "one line a process"

    async def test_a_long_silence_is_noticed(self, valkey: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
        """A listener that says nothing itself finds out that its server hangs, and comes back."""
        monkeypatch.setattr("app.bus.redis._QUIET_SECONDS", 0.1)
        here, there = [await RelayingBus.open(RedisChannel(valkey.url, "test")) for _ in range(2)]
        await asyncio.sleep(0.5)
        valkey.pause()
        await asyncio.sleep(1.5)
        valkey.wake()
        await is_back(here, there)
        await here.aclose()
        await there.aclose()

    async def test_flapping_ends_well(self, valkey: ValkeyServer, pair: tuple[Bus, Bus]) -> None:
        here, there = pair
        for _ in range(5):
            valkey.kill()
            await publish_at_once(here, 0.1)
            valkey.start()
            await publish_at_once(here, 0.1)
        await is_back(here, there)
        await is_back(there, here)

    async def test_a_replica_that_takes_no_writes_still_carries(self, valkey: ValkeyServer) -> None:
        replica = ValkeyServer("--replicaof", f"127.0.0.1 {valkey.port}")
        replica.start()
        here, there = [await RelayingBus.open(RedisChannel(replica.url, "test")) for _ in range(2)]
        await is_back(here, there)
        await here.aclose()
        await there.aclose()
        replica.close()


class TestStart:
    @pytest.mark.parametrize("state", ["absent", "paused"])
    async def test_does_not_wait_for_redis(self, state: str, valkey: ValkeyServer, app_url: str) -> None:
        opening: Callable[[], Awaitable[Bus]] = lambda: open_bus(valkey.url, app_url)  # noqa: E731
        valkey.pause() if state == "paused" else valkey.kill()
        clock = time.monotonic()
        here, there = await opening(), await opening()
        assert time.monotonic() - clock < limit(4 * PATIENCE_SECONDS)
        valkey.wake() if state == "paused" else valkey.start()
        await is_back(here, there)
        await here.aclose()
        await there.aclose()

    @pytest.mark.parametrize(
        "address",
        ["http://localhost", "localhost:6379", "redis:", "redis://", "redis://:x@/", "unix://", "redis://h:port/0",
         "rediss://h:99999999/0", "redis://h/0?socket_timeout=soon", "memory://", "redis://[::1"],
    )  # fmt: skip
    def test_refuses_other_addresses_without_repeating_them(self, address: str) -> None:
        with pytest.raises(AppError) as refused:
            check_bus_url(address)
        assert refused.value.code is ErrorCode.VALIDATION_FAILED
        assert "CONCLAVE_BUS_URL" in refused.value.detail
        assert address not in refused.value.detail.replace("redis://host", "").replace("unix:///path", "")

    @pytest.mark.parametrize("address", ["", "redis://h", "redis://u:p@h:6379/3", "rediss://h:6380/0", "unix:///tmp/s"])
    def test_takes_the_addresses_of_redis(self, address: str) -> None:
        check_bus_url(address)

    async def test_redis_replaces_notify(self, valkey: ValkeyServer, app_url: str) -> None:
        by_redis, by_notify = await open_bus(valkey.url, app_url), await open_bus("", app_url)
        async with by_notify.subscribe(on("a")) as reader:
            await by_redis.publish(message())
            assert await reader.next_within(0.3) is None
        await by_redis.aclose()
        await by_notify.aclose()
