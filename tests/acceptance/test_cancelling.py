"""Cancelling reaches whoever works, wherever that is, within a second, and closes what they had open: by the row alone,
no message is sent."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.bus.relay import MemoryBus
from app.domain.tasks import TaskStatus
from app.journal import Journal
from app.main import Services
from app.settings import Settings
from app.storage.embedded import EmbeddedServer
from app.tasks.queue import JobQueue
from app.tasks.registry import TaskRegistry
from tests.acceptance.two_machines import AGENTS, leading, settings_of
from tests.fakes.house_mind import house_mind, stage_of
from tests.fakes.model_server import Asked, ModelServer, Reply, scripted_model_server
from tests.limits import limit


def never_answering(asked: Asked) -> Reply:
    """Plans at once, and takes a minute for the answer of a query."""
    return house_mind(asked) if stage_of(asked) == "plan" else replace(house_mind(asked), wait_seconds=60)


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ModelServer]:
    async with scripted_model_server(never_answering) as opened:
        yield opened


@pytest.fixture(scope="module")
async def settings(embedded_server: EmbeddedServer, scratch: Path, small_seed: Path, server: ModelServer) -> Settings:
    model = {"llm_base_url": server.base_url, "llm_model": "scripted", "llm_answer_mode": "strict"}
    return await settings_of(embedded_server, "cancelling", scratch / "cancel", small_seed, **model)


@pytest.fixture(scope="module")
async def alone(settings: Settings) -> AsyncIterator[Services]:
    opened = await Services.open(settings, work=False)
    await opened.seed()
    yield opened
    await opened.aclose()


@pytest.fixture(scope="module")
async def leader(settings: Settings, alone: Services) -> AsyncIterator[Services]:
    """Its agents are elsewhere."""
    remote = settings.model_copy(update={"remote_agents": frozenset(AGENTS)})
    opened, elsewhere = await Services.open(remote, work=False), await Services.open(remote, queues=AGENTS)
    yield opened
    await elsewhere.aclose()
    await opened.aclose()


class TestCancelling:
    @pytest.mark.parametrize("where", ["here", "elsewhere"])
    async def test_closes_calls_of_models_within_a_second(
        self, where: str, alone: Services, leader: Services, server: ModelServer
    ) -> None:
        house = alone if where == "here" else leader
        server.forget()
        principal = (await house.claims_of("acme/lan")).principal()
        silent = TaskRegistry(house.database, Journal(house.database, MemoryBus()), JobQueue(), house.rooms.now)
        async with asyncio.timeout(30), leading(house):
            query = ChatBody.model_validate({"query": "đi muộn bị xử lý thế nào?"})
            run = await start_run(house.rooms, principal, query, None)
            while not [call for call in server.open_calls if stage_of(call.asked) != "plan"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            clock = asyncio.get_running_loop().time()
            await silent.cancel(principal, run.task_id)
            await server.settled(limit(1.0))
            assert asyncio.get_running_loop().time() - clock < limit(1.0)
        assert server.closed_early
        steps = await house.rooms.registry.children(principal, run.task_id)
        states = {step.status for step in steps}
        assert TaskStatus.CANCELLED in states and states <= {TaskStatus.CANCELLED, TaskStatus.COMPLETED}
