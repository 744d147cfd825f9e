"""One person's flood keeps nobody else waiting: a bound on open runs, and a line where everybody's first goes first."""

import asyncio
import json
from datetime import UTC, datetime
from itertools import count

import pytest

from app.domain.principal import Principal, tenant_id_of
from app.errors import AppError, ErrorCode
from app.storage.database import Database
from app.tasks.queue import CHAT, JobQueue
from app.tasks.registry import TaskRegistry
from app.trust.admission import Admission, RunLimits
from tests.factories import principal
from tests.postgres.running import Rooms, new_task, rooms_on

MOST = 4
HEAVY = "hospital"
"""A tenant whose turn comes twice as often."""
_people = count(1)


@pytest.fixture
def rooms(database: Database) -> Rooms:
    made = rooms_on(database)
    admission = Admission(RunLimits(per_person=MOST, weights={tenant_id_of(HEAVY): 2}), CHAT)
    made.registry = TaskRegistry(database, made.journal, JobQueue(), lambda: datetime.now(UTC), admission=admission)
    return made


def somebody(tenant: str = "acme") -> Principal:
    """A person who has asked nothing yet."""
    return principal(tenant, f"person-{next(_people)}")


async def registered(rooms: Rooms, who: Principal, times: int) -> list[ErrorCode | None]:
    """What becomes of so many questions of one person at once."""

    async def one() -> ErrorCode | None:
        try:
            await rooms.register(who)
        except AppError as refused:
            assert refused.status == 429
            return refused.code
        return None

    return await asyncio.gather(*(one() for _ in range(times)))


class TestOpenRuns:
    async def test_are_bounded_however_many_come_at_once(self, rooms: Rooms) -> None:
        said = await registered(rooms, somebody(), 25)
        assert said.count(None) == MOST and said.count(ErrorCode.RATE_LIMITED) == 25 - MOST

    async def test_of_one_person_refuse_nobody_else(self, rooms: Rooms) -> None:
        await registered(rooms, somebody(), MOST + 1)
        for tenant in ("acme", "globex"):
            await rooms.register(somebody(tenant))

    async def test_that_end_make_room_and_a_repeated_request_needs_none(self, rooms: Rooms) -> None:
        who, kept = somebody(), new_task("kept")
        run = await rooms.begin(who)
        await rooms.registry.register_task(who, kept, idempotency_key="again", request_hash="same")
        assert await registered(rooms, who, MOST - 2) == [None] * (MOST - 2)
        assert await registered(rooms, who, 1) == [ErrorCode.RATE_LIMITED]
        again = await rooms.registry.register_task(who, kept, idempotency_key="again", request_hash="same")
        assert again.task_id == kept.task_id
        await rooms.complete(run)
        assert sorted(await registered(rooms, who, 2), key=str) == [None, ErrorCode.RATE_LIMITED]

    async def test_documents_are_none(self, rooms: Rooms) -> None:
        who = somebody()
        for _ in range(MOST + 2):
            await rooms.register(who, kind="ingest")
        assert await registered(rooms, who, 1) == [None]


class TestLine:
    @pytest.fixture(autouse=True)
    async def empty_line(self, database: Database) -> None:
        async with database.principal_scope(somebody()) as tx:
            await tx.driver.execute("delete from pgqueuer")

    async def order(self, rooms: Rooms, *people: Principal) -> list[int]:
        """In which order the questions these people ask one after the other are taken."""
        asked = [str((await rooms.register(who)).task_id) for who in people]
        async with rooms.database.principal_scope(people[0]) as tx:
            rows = await tx.driver.fetch("select payload from pgqueuer order by priority desc, id")
        told = [json.loads(row["payload"])["task_id"] for row in rows]
        return [asked.index(one) for one in told if one in asked]

    async def test_everybodys_first_question_goes_before_anybodys_second(self, rooms: Rooms) -> None:
        lan, minh, jane = somebody(), somebody(), somebody("globex")
        order = await self.order(rooms, lan, lan, lan, minh, minh, jane)
        assert sorted(order[:3]) == [0, 3, 5] and sorted(order[3:5]) == [1, 4] and order[5] == 2

    async def test_a_small_company_need_not_wait_for_all_people_of_a_large_one(self, rooms: Rooms) -> None:
        crowd = [somebody() for _ in range(6)]
        assert (await self.order(rooms, *crowd, somebody("globex"), somebody("globex"))) == [0, 6, 1, 7, 2, 3, 4, 5]

    async def test_a_tenant_of_twice_the_weight_has_twice_the_turns(self, rooms: Rooms) -> None:
        light, heavy = [somebody() for _ in range(3)], [somebody(HEAVY) for _ in range(6)]
        order = await self.order(rooms, *light, *heavy)
        assert [one for one in order if one < 3] == [0, 1, 2] and [one for one in order if one >= 3] == [*range(3, 9)]
        for turn in range(1, 4):
            assert sum(one >= 3 for one in order[: 3 * turn]) == 2 * turn
