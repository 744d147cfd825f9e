"""Streams cut at any byte and taken up again on either API process: no gap, no double, and the run never notices.

`make chaos` plays a thousand cuts; ``CONCLAVE_CHAOS_SEED`` says which.
"""

import asyncio
import random
import socket
import time
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx
import pytest

from app.api.sse import SEND_TIMEOUT_SECONDS
from app.events import TextDelta
from tests.chaos.chats import Chat, frames_of
from tests.chaos.house import House
from tests.chaos.machines import until
from tests.chaos.tasks import own_rooms
from tests.limits import limit
from tests.measured import measured
from tests.samples import size, story_seed

CUTS = size(30, 1_000, trust=210)
SEED = story_seed("CONCLAVE_CHAOS_SEED")
ASKED = ("mật khẩu dài bao nhiêu ký tự?", "đi muộn bị xử lý thế nào?")
SIDE_BY_SIDE = 12
_COMPLETED = "select count(*) from tasks where task_id = any($1::uuid[]) and status = 'completed'"
_STREAM_BYTES = 16_000
"""About what a whole stream weighs."""
LONG_EVENTS, LONG_EVENT_BYTES = 500, 20_000


@pytest.fixture
async def http(house: House) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {house.tokens['acme/lan']}"}
    async with httpx.AsyncClient(headers=headers, timeout=15, limits=httpx.Limits(max_connections=None)) as opened:
        yield opened


def cutter(rng: random.Random, budget: list[int]) -> int | None:
    """After how many bytes the next line breaks: at once, in the middle of an event, or near the end."""
    if budget[0] <= 0:
        return None
    budget[0] -= 1
    return rng.choice((rng.randrange(1, 60), rng.randrange(1, 2_000), rng.randrange(1, _STREAM_BYTES)))


class TestCutStreams:
    @pytest.mark.timeout(1800)
    async def test_lose_and_double_nothing(self, house: House, http: httpx.AsyncClient) -> None:
        rng, budget = random.Random(SEED), [CUTS]
        addresses = [api.address for api in house.apis]
        chats: list[Chat] = []

        async def ask_on(lane: int) -> None:
            own = random.Random(f"{SEED} {lane}")
            while budget[0] > 0 and len(chats) < CUTS:
                question = f"{rng.choice(ASKED)} [slow {own.choice((0.2, 1, 2))}]"
                chat = Chat(http, lambda: addresses, question, uuid4().hex, own, cut=lambda: cutter(own, budget))
                chats.append(chat)
                await chat.run(60)

        await asyncio.gather(*(ask_on(lane) for lane in range(SIDE_BY_SIDE)))
        told = f"CONCLAVE_CHAOS_SEED={SEED}"
        assert [problem for chat in chats for problem in chat.problems] == [], told
        assert sum(chat.cuts for chat in chats) >= CUTS * 0.8, told
        assert {chat.frames[-1].type for chat in chats} == {"final_report"}, told
        for chat in chats:
            whole = await http.get(f"{rng.choice(addresses)}/api/v1/tasks/{chat.task_id}/events")
            assert frames_of(whole.text) == chat.frames, told
        measured(11, cuts=sum(chat.cuts for chat in chats), gaps_and_doubles=0)

    async def test_that_nobody_follows_still_run_to_their_end(self, house: House, http: httpx.AsyncClient) -> None:
        ids = []
        for number in range(6):
            api = house.apis[number % 2]
            body = {"query": f"{ASKED[0]} [slow 1] {number}"}
            async with http.stream("POST", f"{api.address}/api/v1/chat/stream", json=body) as response:
                async for text in response.aiter_text():
                    ids.append(frames_of(text)[0].data["task_id"])
                    break
        async with house.looking() as db:

            async def all_ended() -> bool:
                return bool(await db.fetchval(_COMPLETED, ids) == len(ids))

            await until(all_ended, 60)


class TestFrozenReaders:
    async def test_are_dropped_and_hold_nobody_up(self, house: House) -> None:
        """Readers that stop reading a long journal, on both processes, beside one that reads it."""
        task_id = await long_journal(house)
        frozen = [freeze(house, number % 2, task_id) for number in range(6)]
        began = time.monotonic()
        async with house.client(house.apis[0]) as http:
            frames = frames_of((await http.get(f"/tasks/{task_id}/events")).text)
        assert len(frames) == LONG_EVENTS + 2 and time.monotonic() - began < limit(SEND_TIMEOUT_SECONDS)
        give_up = began + SEND_TIMEOUT_SECONDS + limit(6)
        while sum(api.log.count("stream_reader_dropped") for api in house.apis) < len(frozen):
            assert time.monotonic() < give_up
            await asyncio.sleep(0.2)
        for line in frozen:
            line.close()


async def long_journal(house: House) -> UUID:
    """A finished run of acme/lan with more text than the buffers of both sides hold."""
    async with own_rooms(house) as (rooms, lan):
        run = await rooms.begin(lan)
        for _ in range(LONG_EVENTS):
            run.writer.append(TextDelta(text="x" * LONG_EVENT_BYTES))
        await rooms.complete(run)
        return run.task.task_id


def freeze(house: House, number: int, task_id: UUID) -> socket.socket:
    """A line over which a stream was asked for, and nothing is read."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect(("127.0.0.1", house.apis[number].port))
    token = house.tokens["acme/lan"]
    line.sendall(
        f"GET /api/v1/tasks/{task_id}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    )
    return line
