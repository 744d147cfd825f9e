"""Committed events are messages: each once, in order, after its commit; a stranger learns ids only."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from app.bus import Message, Wanted
from app.errors import AppError
from app.events import TextDelta
from app.storage import events
from app.storage.database import Database
from tests.postgres.running import JANE, LAN, MINH, Rooms, rooms_on, say

PATIENCE = 5.0


@pytest.fixture(scope="module")
def rooms(database: Database) -> Rooms:
    return rooms_on(database)


async def heard_until(subscription: Any, topic: str) -> list[Message]:
    messages: list[Message] = []
    while not messages or messages[-1].topic != topic:
        message = await subscription.next_within(PATIENCE)
        assert message is not None
        messages.append(message)
    return messages


class TestPublishing:
    async def test_tells_every_event_of_a_run_once_in_order_and_after_its_commit(self, rooms: Rooms) -> None:
        task = await rooms.register()
        committed: list[bool] = []
        async with rooms.bus.subscribe(Wanted(root_task_id=task.task_id)) as ear, asyncio.TaskGroup() as group:
            run = await rooms.resume(task.task_id)

            async def listen() -> list[int]:
                seqs: list[int] = []
                while (message := await ear.next_within(5)) is not None:
                    assert message.seq is not None
                    seqs.append(message.seq)
                    [entry, *_] = await rooms.journal.read(LAN, task.task_id, message.seq - 1)
                    committed.append(entry.seq == message.seq)
                    if message.topic == "final_report":
                        break
                return seqs

            listening = group.create_task(listen())
            for number in range(60):
                say(run, str(number))
                if number % 9 == 0:
                    await asyncio.sleep(0.03)
            await rooms.complete(run)
        assert listening.result() == list(range(2, 63))
        assert all(committed)

    async def test_tells_what_is_committed_without_a_writer(self, rooms: Rooms) -> None:
        wanted = Wanted(topics=frozenset({"task_available", "task_cancelled"}))
        async with rooms.bus.subscribe(wanted) as ear:
            task = await rooms.register()
            await rooms.registry.cancel(LAN, task.task_id)
            await rooms.registry.cancel(LAN, task.task_id)
            told = await heard_until(ear, "task_cancelled")
            assert await ear.next_within(0.05) is None
        assert [(message.topic, message.seq) for message in told] == [("task_available", 1), ("task_cancelled", 2)]
        assert {message.root_task_id for message in told} == {task.task_id}
        assert {message.session_id for message in told} == {task.session_id}

    async def test_tells_a_repeated_request_once(self, rooms: Rooms) -> None:
        async with rooms.bus.subscribe(Wanted(topics=frozenset({"task_available"}))) as ear:
            task = await rooms.register()
            await rooms.register(task_id=task.task_id, session_id=task.session_id)
            assert await ear.next_within(PATIENCE) is not None
            assert await ear.next_within(0.05) is None

    async def test_tells_nothing_of_what_was_not_committed(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        await rooms.expire(run)
        late = await rooms.journal.writer(LAN, run.task)
        again = await rooms.resume(run.task.task_id)
        async with rooms.bus.subscribe(Wanted(root_task_id=run.task.task_id)) as ear:
            late.append(TextDelta(text="late"))
            assert await ear.next_within(0.2) is None
            say(again, "on time")
            message = await ear.next_within(PATIENCE)
        assert message is not None
        assert message.attempt == again.attempt
        assert message.payload == {"type": "text_delta", "text": "on time"}
        await rooms.complete(again)


class TestEnding:
    async def test_is_waited_for_and_read_alone(self, rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
        run = await rooms.begin()
        say(run, *map(str, range(50)))
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(rooms.journal.resting(LAN, run.task.task_id))
            await asyncio.sleep(0.05)
            assert not waiting.done()

            async def read(*_: Any) -> None:
                raise AssertionError("the whole journal is not needed")

            monkeypatch.setattr(events, "read", read)
            await rooms.complete(run)
        assert waiting.result().type == "final_report"
        assert (await rooms.journal.resting(LAN, run.task.task_id)).type == "final_report"

    async def test_comes_without_the_bus(self, rooms: Rooms, database: Database) -> None:
        elsewhere = rooms_on(database)
        run = await rooms.begin()
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            waiting = group.create_task(elsewhere.journal.resting(LAN, run.task.task_id))
            await rooms.complete(run)
        assert waiting.result().type == "final_report"

    async def test_is_not_told_to_others(self, rooms: Rooms) -> None:
        run = await rooms.begin()
        await rooms.complete(run)
        for stranger, task_id in ((MINH, run.task.task_id), (JANE, run.task.task_id), (LAN, uuid4())):
            with pytest.raises(AppError) as refused:
                await rooms.journal.resting(stranger, task_id)
            assert refused.value.status == 404
