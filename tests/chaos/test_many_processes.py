"""Two API processes, three workers and one Redis server on one PostgreSQL, as on machines of their own."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.api.sse_reader import TERMINAL
from tests.chaos.chats import Frame, frames_of
from tests.chaos.house import QUESTION, REMOTE_AGENT, House
from tests.limits import limit

ASKED = "mật khẩu dài bao nhiêu ký tự?"
CANCEL_SECONDS = limit(1.0)
_STEPS = """
select assignee_agent_id, claimed_by from tasks
where root_task_id = $1::uuid and parent_task_id is not null and claimed_by is not null
"""


@pytest.fixture
async def here(house: House) -> AsyncIterator[httpx.AsyncClient]:
    async with house.client(house.apis[0]) as http:
        yield http


@pytest.fixture
async def there(house: House) -> AsyncIterator[httpx.AsyncClient]:
    async with house.client(house.apis[1]) as http:
        yield http


async def opened(http: httpx.AsyncClient, question: str, until: str) -> list[Frame]:
    """Ask and read up to the first event of a type; then the line is dropped."""
    text = ""
    async with http.stream("POST", "/chat/stream", json={"query": question}) as response:
        async for piece in response.aiter_text():
            text += piece
            if f"\nevent: {until}\n" in text:
                break
    return frames_of(text[: text.rindex("\n\n") + 2])


async def rest(http: httpx.AsyncClient, seen: list[Frame]) -> list[Frame]:
    path = f"/tasks/{seen[0].data['task_id']}/events"
    return frames_of((await http.get(path, headers={"Last-Event-ID": str(seen[-1].seq)})).text)


class TestAStream:
    async def test_opened_here_goes_on_there_while_a_worker_runs_it(
        self, house: House, here: httpx.AsyncClient, there: httpx.AsyncClient
    ) -> None:
        seen = await opened(here, f"{ASKED} [slow 1.5]", "text_delta")
        followed = [*seen, *await rest(there, seen)]
        assert [frame.seq for frame in followed] == list(range(1, len(followed) + 1))
        assert [frame.type for frame in followed if frame.type in TERMINAL] == ["final_report"]
        whole = frames_of((await here.get(f"/tasks/{seen[0].data['task_id']}/events")).text)
        assert followed == whole
        async with house.looking() as db:
            ran = await db.fetchval("select claimed_by from tasks where task_id = $1", seen[0].data["task_id"])
        assert ran in {worker.worker_id for worker in house.workers}

    async def test_comes_while_the_run_goes_on(self, house: House, here: httpx.AsyncClient) -> None:
        arrived: list[float] = []
        async with here.stream("POST", "/chat/stream", json={"query": f"{ASKED} [slow 2]"}) as response:
            async for piece in response.aiter_text():
                arrived += [time.monotonic()] * piece.count("\nevent: text_delta\n")
        assert len(arrived) >= 5 and arrived[-1] - arrived[0] > 1

    async def test_is_the_same_for_everybody_who_follows_it(
        self, here: httpx.AsyncClient, there: httpx.AsyncClient
    ) -> None:
        seen = await opened(here, f"{ASKED} [slow 1]", "plan_ready")
        task = seen[0].data["task_id"]
        told = await asyncio.gather(*(http.get(f"/tasks/{task}/events") for http in (here, there, here, there)))
        assert len({answer.text.replace(": ping\n\n", "") for answer in told}) == 1


class TestRuns:
    async def test_are_shared_by_the_workers(
        self, house: House, here: httpx.AsyncClient, there: httpx.AsyncClient
    ) -> None:
        asked = (
            http.post("/chat", json={"query": f"{ASKED} [slow 1] {n}"}) for n in "uvwxyz" for http in (here, there)
        )
        answers = await asyncio.gather(*asked)
        assert Counter(answer.json()["outcome"] for answer in answers) == {"answered": 12}
        async with house.looking() as db:
            ids = [answer.json()["task_id"] for answer in answers]
            rows = await db.fetch("select claimed_by from tasks where task_id = any($1::uuid[])", ids)
        assert len({row["claimed_by"] for row in rows}) >= 2


class TestARemoteAgent:
    async def test_works_on_the_machine_of_its_queue_and_nowhere_else(
        self, house: House, here: httpx.AsyncClient
    ) -> None:
        answer = (await here.post("/chat", json={"query": QUESTION})).json()
        async with house.looking() as db:
            steps = await db.fetch(_STEPS, answer["task_id"])
        holders = {
            agent: {step["claimed_by"] for step in steps if step["assignee_agent_id"] == agent}
            for agent in ("hr", REMOTE_AGENT)
        }
        assert holders == {"hr": {"hr"}, REMOTE_AGENT: {house.workers[2].worker_id}}, "a local step is its agent's"


class TestCancel:
    async def test_from_another_process_takes_effect_within_a_second(
        self, house: House, here: httpx.AsyncClient, there: httpx.AsyncClient
    ) -> None:
        house.model.forget()
        seen = await opened(here, f"{ASKED} [slow 30]", "text_delta")
        task = seen[0].data["task_id"]
        following = asyncio.ensure_future(rest(here, seen))
        await asyncio.sleep(0.2)
        began, clock = time.monotonic(), time.monotonic()
        assert (await there.post(f"/tasks/{task}/cancel")).json()["status"] == "cancelled"
        told = await asyncio.wait_for(following, 30)
        stream_seconds = time.monotonic() - clock
        await house.model.settled(10)
        assert told[-1].type == "task_cancelled" and stream_seconds < CANCEL_SECONDS
        [closed] = house.model.closed_early
        assert closed.at - began < CANCEL_SECONDS, "the call to the model goes on"
        assert await rest(there, [*seen, *told]) == []
