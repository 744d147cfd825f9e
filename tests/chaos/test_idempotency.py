"""One key, one effect: over two API processes, side by side, and when the process that took the first call dies."""

import asyncio
import secrets
from collections import Counter
from uuid import UUID

import httpx

from tests.api.sse_reader import TERMINAL
from tests.chaos.chats import frames_of
from tests.chaos.house import House
from tests.chaos.machines import until

ASKED = "mật khẩu dài bao nhiêu ký tự?"
CALLS = 50


def new_key() -> str:
    """A key that is also a mark in the question: a number, so that the question stays one about passwords."""
    return str(10**6 + secrets.randbelow(9 * 10**6))


async def runs_of(house: House, key: str) -> list[UUID]:
    """The root tasks that were made for a key, found by the question that holds it."""
    async with house.looking() as db:
        rows = await db.fetch(
            "select task_id from tasks where parent_task_id is null and request ->> 'query' like '%' || $1 || '%'", key
        )
    return [row["task_id"] for row in rows]


async def ask(http: httpx.AsyncClient, key: str, question: str = "") -> httpx.Response:
    body = {"query": question or f"{ASKED} [slow 1] {key}"}
    return await http.post("/chat", json=body, headers={"Idempotency-Key": key})


class TestOneKey:
    async def test_has_one_effect_however_many_call_at_once(self, house: House) -> None:
        key = new_key()
        async with house.client(house.apis[0]) as here, house.client(house.apis[1]) as there:
            answers = await asyncio.gather(*(ask((here, there)[n % 2], key) for n in range(CALLS)))
            told = Counter((answer.status_code, answer.json().get("code")) for answer in answers)
            assert told[200, None] >= 1 and told[200, None] + told[409, "CONFLICT_IN_FLIGHT"] == CALLS
            first = {answer.text for answer in answers if answer.status_code == 200}
            assert len(first) == 1
            assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 409)
            again = await asyncio.gather(*(ask(http, key) for http in (here, there) for _ in range(3)))
        assert {answer.text for answer in again} == first, "the first result comes back"
        assert len(await runs_of(house, key)) == 1

    async def test_attaches_every_stream_to_the_same_run(self, house: House) -> None:
        key = new_key()
        body, headers = {"query": f"{ASKED} [slow 1] {key}"}, {"Idempotency-Key": key}
        async with house.client(house.apis[0]) as here, house.client(house.apis[1]) as there:
            calls = ((here, there)[n % 2].post("/chat/stream", json=body, headers=headers) for n in range(10))
            told = [frames_of(answer.text) for answer in await asyncio.gather(*calls)]
        assert all(frames == told[0] for frames in told) and told[0][-1].type == "final_report"
        assert len(await runs_of(house, key)) == 1

    async def test_is_refused_for_another_question_on_any_process(self, house: House) -> None:
        key = new_key()
        async with house.client(house.apis[0]) as here, house.client(house.apis[1]) as there:
            running = asyncio.ensure_future(ask(here, key))
            await asyncio.sleep(0.3)
            during = await ask(there, key, f"{ASKED} {key} khác")
            await running
            after = await asyncio.gather(*(ask(http, key, f"{ASKED} {key} khác") for http in (here, there)))
        assert {(r.status_code, r.json()["code"]) for r in (during, *after)} == {(422, "IDEMPOTENCY_MISMATCH")}
        assert len(await runs_of(house, key)) == 1

    async def test_belongs_to_one_person(self, house: House) -> None:
        key = new_key()
        users = ("acme/lan", "acme/minh", "globex/jane")
        clients = [house.client(api, user) for user in users for api in house.apis]
        try:
            answers = await asyncio.gather(*(ask(http, key) for http in clients))
        finally:
            for http in clients:
                await http.aclose()
        tasks = {answer.json()["task_id"] for answer in answers if answer.status_code == 200}
        assert len(tasks) == len(await runs_of(house, key)) == len(users)


class TestWhenTheProcessDies:
    async def test_the_key_still_stands_for_the_first_call(self, house: House) -> None:
        """The first caller never hears of its run; the second call, on another process, is the same run."""
        key, dying = new_key(), house.apis[0]
        async with house.client(dying) as here:
            waiting = asyncio.ensure_future(ask(here, key))

            async def taken() -> bool:
                return bool(await runs_of(house, key))

            await until(taken, 60)
            await dying.kill()
            assert isinstance(await asyncio.gather(waiting, return_exceptions=True), list)
            assert isinstance(waiting.exception(), httpx.TransportError)
        await dying.start()
        body, headers = {"query": f"{ASKED} [slow 1] {key}"}, {"Idempotency-Key": key}
        async with house.client(house.apis[1]) as there:
            frames = frames_of((await there.post("/chat/stream", json=body, headers=headers)).text)
            answer = await ask(there, key)
        await dying.ready()
        async with house.client(dying) as here:
            repeated = await ask(here, key)
        assert [frame.type for frame in frames if frame.type in TERMINAL] == ["final_report"]
        assert frames[-1].data["answer"]["answer"] == answer.json()["answer"] and answer.text == repeated.text
        assert [str(task) for task in await runs_of(house, key)] == [frames[0].data["task_id"]]
