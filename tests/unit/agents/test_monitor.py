import asyncio
import logging
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents import monitor as module
from app.agents.monitor import Monitor, RunMonitor
from app.bus.memory import MemoryBus
from app.domain.answer import ToolUsage
from app.events import JournalEntry, ToolRequest, ToolResponse
from app.journal.messages import Place, message_of
from tests.factories import principal

TOOLS = ("rag_tool", "math.mcp_sum")


def request(tool: str = "rag_tool", node: str = "hr#rag") -> ToolRequest:
    return ToolRequest(agent="hr", node_id=node, tool=tool, input_hash="asked")


def response(tool: str = "rag_tool", node: str = "hr#rag", status: str = "ok", ms: int = 10) -> ToolResponse:
    values = {"agent": "hr", "node_id": node, "tool": tool, "status": status, "duration_ms": ms, "output_hash": None}
    return ToolResponse.model_validate(values)


class TestMonitor:
    def test_counts_every_try_and_its_time(self) -> None:
        monitor = Monitor()
        for event in (request(), response(status="failed", ms=30), request(), response(ms=11)):
            monitor.hear(event)
        assert monitor.usage == {"rag_tool": ToolUsage(calls=2, avg_time_ms=20)}

    def test_counts_a_call_that_was_never_answered(self) -> None:
        monitor = Monitor()
        monitor.hear(request())
        assert monitor.usage == {"rag_tool": ToolUsage(calls=1, avg_time_ms=0)}

    def test_counts_an_end_without_a_beginning(self) -> None:
        """Time ran out between two tries."""
        monitor = Monitor()
        monitor.hear(response(status="timeout", ms=100))
        assert monitor.usage == {"rag_tool": ToolUsage(calls=1, avg_time_ms=100)}

    @given(st.lists(st.tuples(st.sampled_from(TOOLS), st.sampled_from(["a", "b"]), st.integers(0, 5_000)), max_size=30))
    def test_usage_is_the_sum_of_what_was_heard(self, calls: list[tuple[str, str, int]]) -> None:
        monitor = RunMonitor()
        for tool, node, ms in calls:
            monitor.hear(request(tool, node))
            monitor.hear(response(tool, node, ms=ms))
        for tool in TOOLS:
            spent = [ms for own, _, ms in calls if own == tool]
            assert (tool in monitor.usage) == bool(spent)
            if spent:
                assert monitor.usage[tool] == ToolUsage(calls=len(spent), avg_time_ms=round(sum(spent) / len(spent)))
        for node in ("a", "b"):
            heard = [(use.tool, use.duration_ms) for use in monitor.calls_of(node)]
            assert heard == [(tool, ms) for tool, own, ms in calls if own == node]

    def test_forgets_answers_that_never_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_OPEN", 3)
        monitor = Monitor()
        for number in range(10):
            monitor.hear(request(node=str(number)))
        assert monitor.usage["rag_tool"].calls == 3

    async def test_hears_the_messages_of_its_process(self, caplog: pytest.LogCaptureFixture) -> None:
        bus, monitor, place = MemoryBus(), Monitor(), Place.of(principal(), uuid4(), uuid4(), 1)
        hearing = asyncio.create_task(monitor.listen(bus))
        await asyncio.sleep(0)
        told = [message_of(place, JournalEntry(seq=1, event=event)) for event in (request(), response(status="failed"))]
        with caplog.at_level(logging.WARNING):
            await bus.publish(*told, *(message.model_copy(update={"payload": None}) for message in told))
            await bus.aclose()
            await hearing
        assert monitor.usage == {"rag_tool": ToolUsage(calls=1, avg_time_ms=10)}
        assert [record.message for record in caplog.records] == ["tool_called"]
