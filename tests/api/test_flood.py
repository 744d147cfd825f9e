"""One person's flood leaves room for the others: the command that measures it, and the rule behind it."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from rich.console import Console

from app.trust.admission import Turns
from bench import flood
from tests.factories import principal


@pytest.fixture
async def ebb(client_of: Callable[[str], httpx.AsyncClient]) -> AsyncIterator[None]:
    """Afterwards nobody has open questions: whoever is tried next would be refused for them."""
    yield
    admin = client_of("acme/admin")
    for status in ("pending", "in_progress"):
        for one in (await admin.get("/admin/tasks", params={"status": status, "kind": "chat"})).json()["tasks"]:
            await admin.post(f"/admin/tasks/{one['task_id']}/cancel")


@pytest.mark.usefixtures("ebb")
class TestFlood:
    async def test_is_measured_from_outside_and_stops_by_itself(
        self, address: str, token_of: Callable[[str], str]
    ) -> None:
        people = (flood.FLOODER, "acme/minh", "globex/jane")
        tokens = {who: token_of(who) for who in people}
        alone = await flood.measure(address, tokens, 1, 0)
        flooded = await flood.measure(address, tokens, 1, 15)
        assert len(alone.seconds) == len(flooded.seconds) == 2 and alone.sent == alone.refused == 0
        assert flooded.sent >= 15 and flooded.refused >= 5, "ten are open, the others are refused"
        assert 0 < alone.p50 <= alone.p95 and flooded.lag_seconds > 0
        out = Console(record=True, width=100)
        ratio = flood.report(alone, flooded, out)
        assert f"{ratio:.2f}" in out.export_text()

    def test_of_the_worst_questions_asks_them_as_long_as_they_may_be_and_never_twice(self) -> None:
        first, second = flood.worst(), flood.worst()
        assert len(first) == len(second) == 4_000 and first != second


class TestTurns:
    async def test_of_one_person_leave_those_of_others_alone(self) -> None:
        turns, done = Turns(2), list[str]()
        lan, jane, leave = principal(user="lan"), principal("globex", "jane"), asyncio.Event()

        async def one(name: str, who: str) -> None:
            whose = lan if who == "lan" else jane
            async with turns.of(whose.tenant_id, whose.user_id):
                done.append(name)
                await leave.wait()

        work = [asyncio.create_task(one(f"{who} {at}", who)) for who in ("lan", "jane") for at in range(4)]
        await asyncio.sleep(0)
        assert done == ["lan 0", "lan 1", "jane 0", "jane 1"]
        leave.set()
        await asyncio.gather(*work)
        assert done[4:] == ["lan 2", "lan 3", "jane 2", "jane 3"] and not len(turns)
