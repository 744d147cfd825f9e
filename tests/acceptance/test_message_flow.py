"""The seed's log of “tính 2+4 = ??” in the whole house, over every bus: who hears what, in which order."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import app.main.services
from app.agents.run import Dispatch
from app.bus import Bus, Message, Method, Subscription, Wanted
from app.bus.redis import RedisChannel
from app.bus.relay import Channel, MemoryBus
from app.domain.principal import Principal
from app.journal import Journal
from app.main import Services
from app.main.adapters import open_bus
from app.settings import Settings
from app.storage.notifications import NotificationChannel, identity_of
from app.tools.base import Tool, ToolCall, ToolResult
from tests.acceptance.asking import Told, ask
from tests.fakes.valkey import ValkeyServer
from tests.warm import planted

TOPICS = ["task_available", "plan_ready", "math_task", "tool_request", "tool_response", "math_result", "final_report"]
SUBSCRIPTIONS = {
    "MultiAgents_Chief": Wanted(
        topics=frozenset({"plan_ready", "final_report", "verification_done", "navigation_error"})
    ),
    "MultiAgents_Planner": Wanted(topics=frozenset({"task_available", "renavigate_request", "navigation_error"})),
    "MultiAgents_RouterAgent": Wanted(topics=frozenset({"plan_ready"})),
    "MultiAgents_MathAgentSum": Wanted(topics=frozenset({"math_task"}), agent_type="sum"),
    "MultiAgents_MathAgentSubtract": Wanted(topics=frozenset({"math_task"}), agent_type="subtract"),
    "MultiAgents_Synthesizer": Wanted(topics=frozenset({"math_result", "date_result", "verification_done"})),
    "Monitor": Wanted(topics=frozenset({"tool_request", "tool_response"})),
}
"""The seed's table, and a monitor of tool calls as it may be added."""
QUIET = 0.2


class Meeting:
    """A tool that waits for another one to be called too."""

    def __init__(self, tool: Tool, both: asyncio.Barrier):
        self._tool, self._both = tool, both
        self.name, self.alternative = tool.name, tool.alternative

    async def __call__(self, call: ToolCall) -> ToolResult:
        await self._both.wait()
        return await self._tool(call)


@dataclass
class House:
    """The service over one adapter, and a bus as another process has it; `texts` is all that passed between them."""

    services: Services
    elsewhere: Bus
    texts: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="module", params=["memory", "postgres", "redis"])
async def house(
    request: pytest.FixtureRequest, scratch: Path, small_seed: Path, agents_dir: Path, valkey: ValkeyServer
) -> AsyncIterator[House]:
    data_dir = scratch / f"messages-{request.param}"
    settings = Settings(
        _env_file=None, data_dir=await planted(data_dir, small_seed), seed_dir=small_seed, agents_dir=agents_dir,
        enable_caching=False, bus_url=valkey.url if request.param == "redis" else "",
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        memory = MemoryBus()
        if request.param == "memory":
            _use(stack, memory)
        services = await Services.open(settings)
        stack.push_async_callback(services.aclose)
        address = services.storage.addresses.app
        elsewhere: Bus = (
            memory if request.param == "memory" else await open_bus(settings.bus_url.get_secret_value(), address)
        )
        stack.push_async_callback(elsewhere.aclose)
        opened = House(services, elsewhere)
        if request.param != "memory":
            channel: Channel = (
                NotificationChannel(address)
                if request.param == "postgres"
                else RedisChannel(valkey.url, await identity_of(address))
            )
            await channel.listen(opened.texts.append)
            stack.push_async_callback(channel.aclose)
        yield opened


def _use(stack: AsyncExitStack, bus: MemoryBus) -> None:
    """Have the next services opened over this bus."""

    async def opened(_bus_url: str, _address: str) -> Bus:
        return bus

    patch = pytest.MonkeyPatch()
    patch.setattr(app.main.services, "open_bus", opened)
    stack.callback(patch.undo)


@asynccontextmanager
async def listening(bus: Bus) -> AsyncIterator[dict[str, Subscription]]:
    async with AsyncExitStack() as stack:
        wanted = SUBSCRIPTIONS | {"": Wanted(topics=frozenset(TOPICS))}
        yield {name: await stack.enter_async_context(bus.subscribe(one)) for name, one in wanted.items()}


async def heard(subscription: Subscription, until: str = "") -> list[Message]:
    """Everything up to a message of the topic `until`, or until it is quiet."""
    messages: list[Message] = []
    while (message := await subscription.next_within(5.0 if until else QUIET)) is not None:
        messages.append(message)
        if message.topic == until:
            return messages
    return messages


def of_run(messages: list[Message], told: Told) -> list[Message]:
    return [message for message in messages if message.root_task_id == told.task.task_id]


async def asker(house: House) -> Principal:
    return (await house.services.claims_of("acme/lan")).principal()


async def payload_of(journal: Journal, principal: Principal, message: Message) -> dict[str, Any]:
    """The event a message tells of, as the journal holds it."""
    assert message.seq is not None
    [found, *_] = await journal.read(principal, message.root_task_id, message.seq - 1)
    assert found.seq == message.seq
    return found.event.model_dump(mode="json")


class TestSeedLog:
    async def test_is_reproduced(self, house: House) -> None:
        async with listening(house.elsewhere) as ears:
            told = await ask(house.services, "acme/lan", "tính 2+4 = ??")
            log = of_run(await heard(ears.pop(""), "final_report"), told)
            by_agent = {name: of_run(await heard(ear), told) for name, ear in ears.items()}
        assert [message.topic for message in log] == TOPICS
        assert [message.seq for message in log] == sorted(message.seq or 0 for message in log)
        assert by_agent.pop("MultiAgents_MathAgentSubtract") == []
        seeds = {name: {message.topic for message in messages} for name, messages in by_agent.items()}
        assert seeds["MultiAgents_MathAgentSum"] == {"math_task"}
        assert seeds["MultiAgents_RouterAgent"] == {"plan_ready"}
        assert seeds["Monitor"] == {"tool_request", "tool_response"}
        assert set(TOPICS) <= set().union(*seeds.values())
        await self._is_addressed_as_the_seed_says(house, log)

    async def _is_addressed_as_the_seed_says(self, house: House, log: list[Message]) -> None:
        by_topic = {message.topic: message for message in log}
        task, result, report = by_topic["math_task"], by_topic["math_result"], by_topic["final_report"]
        assert (task.method, task.from_agent, task.to_agent) == (Method.TASK, "orchestrator", "math")
        assert (task.agent_type, task.token_limit) == ("sum", 500)
        assert task.deadline is not None
        assert (result.method, result.from_agent, result.to_agent) == (Method.RESULT, "math", "orchestrator")
        assert result.agent_type == "sum"
        assert task.task_id == result.task_id != task.root_task_id
        assert (report.method, report.to_agent) == (Method.RESULT, "broadcast")
        principal, journal = await asker(house), house.services.rooms.journal
        payload = await payload_of(journal, principal, report)
        assert (payload["report"], payload["sources"]) == ("## Math Results:\n- **sum**: 6.0", [])
        assert payload["answer"]["answer"] == "2 + 4 = 6"
        assert (await payload_of(journal, principal, task))["context_hash"]
        told = [await payload_of(journal, principal, message) for message in log]
        assert [event["type"] for event in told][-2:] == ["agent_result", "final_report"]

    async def test_no_text_of_a_question_or_an_answer_travels(self, house: House) -> None:
        told = await ask(house.services, "acme/lan", "Đi muộn bị xử lý thế nào?")
        async with house.elsewhere.subscribe(Wanted()) as ear:
            await heard(ear)
        travelled = " ".join(house.texts)
        assert bool(travelled) == (not isinstance(house.elsewhere, MemoryBus))
        words = {*told.task.title.split(), *told.answer["answer"].split(), "query", "answer"}
        assert not [word for word in words if len(word) > 3 and (word in travelled or repr(word)[1:-1] in travelled)]

    async def test_several_sums_run_side_by_side(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither tool answers before both were asked."""
        steps = house.services.rooms.flow.ports.steps
        assert isinstance(steps, Dispatch)
        both = asyncio.Barrier(2)
        meeting = {name: Meeting(steps.toolbox[name], both) for name in ("math.mcp_sum", "math.mcp_subtract")}
        monkeypatch.setattr(steps._local, "toolbox", {**steps.toolbox, **meeting})
        told = await ask(house.services, "acme/lan", "tính 2+4 và 9-3")
        calls = [event.type for event in told.events if event.type in ("tool_request", "tool_response")]
        assert calls == ["tool_request", "tool_request", "tool_response", "tool_response"]
        report = next(event for event in told.events if event.type == "final_report")
        assert report.report == "## Math Results:\n- **sum**: 6.0\n- **subtract**: 6.0"
        assert "2 + 4 = 6" in told.answer["answer"]
        assert "9 - 3 = 6" in told.answer["answer"]
        usage = told.task.metadata["performance_metrics"]["tool_usage_stats"]
        assert {tool: used["calls"] for tool, used in usage.items()} == {"math.mcp_sum": 1, "math.mcp_subtract": 1}
