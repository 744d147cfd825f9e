"""A worker that sleeps beyond its lease and wakes: what it still writes is refused, and changes nothing."""

import asyncio
import random
from uuid import uuid4

import httpx

from tests.chaos.chats import Chat
from tests.chaos.house import House
from tests.chaos.machines import Worker, until
from tests.chaos.verdict import is_refusal

ASKED = "mật khẩu dài bao nhiêu ký tự?"
_STATE = """
select t.attempt, t.status, t.result, t.claimed_by, t.updated_at, array_agg(e.event order by e.seq) as events
from tasks t join events e on e.root_task_id = t.task_id where t.task_id = $1::uuid
group by t.tenant_id, t.user_id, t.task_id
"""


class TestASleepingWorker:
    async def test_wakes_to_find_its_writes_refused(self, house: House) -> None:
        headers = {"Authorization": f"Bearer {house.tokens['acme/lan']}"}
        async with httpx.AsyncClient(headers=headers, timeout=15) as http, house.looking() as db:
            addresses = [api.address for api in house.apis]
            chat = Chat(http, lambda: addresses, f"{ASKED} [slow 4]", uuid4().hex, random.Random(1))
            running = asyncio.ensure_future(chat.run(60))

            async def speaks() -> bool:
                return any(frame.type == "text_delta" for frame in chat.frames)

            await until(speaks, 90)
            first = await db.fetchrow(_STATE, chat.task_id)
            assert first is not None
            sleeper = next(worker for worker in house.workers if worker.worker_id == first["claimed_by"])
            before = refusals_of(sleeper)
            sleeper.pause()
            try:
                await running
                ended = await db.fetchrow(_STATE, chat.task_id)
            finally:
                sleeper.wake()

            async def was_refused() -> bool:
                return refusals_of(sleeper) > before

            await until(was_refused, 90)
            assert await db.fetchrow(_STATE, chat.task_id) == ended
        assert ended is not None and (ended["attempt"], ended["status"]) == (first["attempt"] + 1, "completed")
        assert ended["claimed_by"] != sleeper.worker_id and chat.problems == []


def refusals_of(worker: Worker) -> int:
    """How often a worker found, by its log, that what it works on is somebody else's: when a write was refused, or
    before it came to write."""
    return sum(is_refusal(line) for line in worker.logged())
