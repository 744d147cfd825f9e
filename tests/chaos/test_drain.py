"""SIGTERM: a process ends within 15 seconds, and whatever it had accepted is answered by the others."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx
import pytest

from tests.chaos.chats import Chat
from tests.chaos.house import House
from tests.chaos.machines import Machine, until
from tests.limits import limit
from tests.measured import measured

ASKED = "mật khẩu dài bao nhiêu ký tự?"
DRAIN_SECONDS = limit(15)
CHATS = 5


@pytest.fixture
async def http(house: House) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {house.tokens['acme/lan']}"}
    async with httpx.AsyncClient(headers=headers, timeout=15, limits=httpx.Limits(max_connections=None)) as opened:
        yield opened


class Draining:
    """Chats that go on while machines end."""

    def __init__(self, house: House, http: httpx.AsyncClient, seconds: float):
        addresses = [api.address for api in house.apis]
        self.chats = [
            Chat(http, lambda: addresses, f"{ASKED} [slow {seconds}] {number}", uuid4().hex, random.Random(number))
            for number in range(CHATS)
        ]
        self._running = [asyncio.ensure_future(chat.run(60)) for chat in self.chats]

    async def under_way(self) -> None:
        """Wait until every run speaks."""

        async def all_speak() -> bool:
            return all(any(frame.type == "text_delta" for frame in chat.frames) for chat in self.chats)

        await until(all_speak, 60)

    async def ended_well(self) -> None:
        await asyncio.gather(*self._running)
        assert [problem for chat in self.chats for problem in chat.problems] == []
        assert {chat.frames[-1].type for chat in self.chats} == {"final_report"}

    async def stop(self) -> None:
        for running in self._running:
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


@asynccontextmanager
async def draining(house: House, http: httpx.AsyncClient, seconds: float) -> AsyncIterator[Draining]:
    """Chats whose runs all speak, for `seconds` more."""
    chats = Draining(house, http, seconds)
    try:
        await chats.under_way()
        yield chats
    finally:
        await chats.stop()


async def leave(machine: Machine, *, again_after: float | None = None) -> float:
    """The seconds a machine takes to end; it says nothing alarming meanwhile."""
    before = len(machine.log)
    seconds = await machine.terminate(again_after=again_after)
    assert machine.process.returncode == 0
    said = machine.log[before:].splitlines()
    assert [line for line in said if '"level": "error"' in line or "Traceback" in line] == []
    return seconds


class TestServe:
    async def test_ends_in_time_under_open_streams_which_go_on_elsewhere(
        self, house: House, http: httpx.AsyncClient
    ) -> None:
        async with draining(house, http, 2) as chats:
            seconds = await leave(house.apis[0])
            await asyncio.gather(chats.ended_well(), house.apis[0].restart())
        assert seconds < DRAIN_SECONDS
        measured(18, seconds_to_end=seconds)

    async def test_ends_in_time_with_a_worker_of_its_own(self, house: House, http: httpx.AsyncClient) -> None:
        """As a single process does: it may lead the very runs whose streams it serves."""
        leaving = house.add_api(CONCLAVE_WORKER_IN_PROCESS="true")
        try:
            await leaving.restart()
            async with draining(house, http, 2) as chats:
                seconds = await leave(leaving)
                await chats.ended_well()
        finally:
            house.apis.remove(leaving)
        assert seconds < DRAIN_SECONDS


class TestWorker:
    async def test_gives_back_what_it_cannot_end_in_time(self, house: House, http: httpx.AsyncClient) -> None:
        """One of the two that run questions leaves in the middle of them; the other one ends them all."""
        leaving = house.workers[0]
        async with draining(house, http, 2) as chats:
            seconds = await leave(leaving)
            await asyncio.gather(chats.ended_well(), leaving.restart())
        assert seconds < DRAIN_SECONDS
        async with house.looking() as db:
            ids = [chat.task_id for chat in chats.chats]
            last = await db.fetchval("select max(attempt) from tasks where task_id = any($1::uuid[])", ids)
        assert last <= 3

    async def test_may_be_told_twice(self, house: House, http: httpx.AsyncClient) -> None:
        async with draining(house, http, 1.5) as chats:
            assert await leave(house.workers[1], again_after=0.5) < DRAIN_SECONDS
            await asyncio.gather(chats.ended_well(), house.workers[1].restart())
