"""Agents on another machine: the asker cannot tell the difference, whatever happens to that machine."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.main import Services
from app.settings import Settings
from app.storage.embedded import EmbeddedServer
from tests.acceptance.asking import Told, ask
from tests.acceptance.two_machines import AGENTS, leading, settings_of

QUESTIONS = {
    "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không": frozenset[str](),
    "đi muộn bị xử lý thế nào?": frozenset[str](),
    "what are our core values and what happens if I am late?": frozenset[str](),
    "tính 2+4": frozenset({"created_at", "output_hash"}),
}
"""With what differs from run to run besides ids and times: a sum is its own evidence, made when it was done."""


@pytest.fixture(scope="module")
async def settings(embedded_server: EmbeddedServer, scratch: Path, small_seed: Path) -> Settings:
    return await settings_of(embedded_server, "two_machines", scratch / "two", small_seed)


@pytest.fixture(scope="module")
async def alone(settings: Settings) -> AsyncIterator[Services]:
    """Everything in one process."""
    opened = await Services.open(settings, work=False)
    await opened.seed()
    yield opened
    await opened.aclose()


@pytest.fixture(scope="module")
async def leader(settings: Settings, alone: Services) -> AsyncIterator[Services]:
    opened = await Services.open(settings.model_copy(update={"remote_agents": frozenset(AGENTS)}), work=False)
    yield opened
    await opened.aclose()


@pytest.fixture(scope="module")
async def elsewhere(leader: Services) -> AsyncIterator[Services]:
    """The other machine, with its own pools and its own bus."""
    opened = await Services.open(leader.settings, queues=AGENTS)
    yield opened
    await opened.aclose()


@pytest.fixture(scope="module")
async def superuser(
    embedded_server: EmbeddedServer, alone: Services
) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(embedded_server.url("postgres", "two_machines"))
    yield connection
    await connection.close()


_VOLATILE = {"task_id", "session_id", "started_at", "ended_at", "deadline", "duration_ms"}
_UNORDERED = {"depends_on", "searches", "agents_invoked"}


def steady(value: Any, volatile: frozenset[str]) -> Any:
    """A JSON value without ids, times, and the order of what happened side by side."""
    match value:
        case dict():
            return {
                key: sorted(steady(one, volatile), key=repr) if key in _UNORDERED else steady(one, volatile)
                for key, one in value.items()
                if key not in _VOLATILE | volatile and not key.endswith("_duration_ms")
            }
        case list():
            return [steady(one, volatile) for one in value]
        case _:
            return value


def by_node(told: Told, volatile: frozenset[str]) -> dict[str, list[Any]]:
    """What happened in each step, in its order."""
    events = [steady(event.model_dump(mode="json"), volatile) for event in told.events]
    return {node: [event for event in events if event.get("node_id") == node] for node in told.nodes}


class TestNobodyThere:
    async def test_leaves_what_the_others_found(self, settings: Settings, alone: Services) -> None:
        """The hr agent is remote and no worker serves it: the answer is partial, in time."""
        changes = {"remote_agents": frozenset({"hr"}), "timeout_per_agent_ms": 2_500}
        lonely = await Services.open(settings.model_copy(update=changes), work=False)
        try:
            async with leading(lonely):
                told = await ask(lonely, "acme/lan", next(iter(QUESTIONS)))
        finally:
            await lonely.aclose()
        partial = told.answer["partial_results"]
        assert (told.answer["error_code"], partial["hr"]["error"]) == ("AGENT_EXECUTION_FAILED", "Tool timeout")
        assert partial["general"]["status"] == "success"


class TestSameAnswer:
    @pytest.mark.parametrize("query", QUESTIONS)
    async def test_comes_from_here_and_from_elsewhere(
        self, alone: Services, leader: Services, elsewhere: Services, query: str
    ) -> None:
        """Answer, evidence, plan, trace, and the events of every step, in their order."""
        async with leading(alone):
            here = await ask(alone, "acme/lan", query)
        async with leading(leader):
            there = await ask(leader, "acme/lan", query)
        volatile = QUESTIONS[query]
        assert steady(here.answer, volatile) == steady(there.answer, volatile)
        assert here.task.plan == there.task.plan
        assert by_node(here, volatile) == by_node(there, volatile)
        assert sorted(event.type for event in here.events) == sorted(event.type for event in there.events)


class TestRights:
    async def test_are_the_askers_on_the_other_machine_too(
        self, leader: Services, elsewhere: Services, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        """Somebody of another department learns nothing of the private rules; afterwards no text lies around."""
        async with leading(leader):
            told = await ask(leader, "acme/minh", "đi muộn bị xử lý thế nào?")
        assert "Khiển trách" not in told.text and "NS-21" not in told.text
        assert any(event.type == "agent_task" for event in told.events)
        assert await superuser.fetchval("select count(*) from handoffs") == 0
