"""A tool that fails, hangs, crashes or gives nonsense: its alternative once, then a partial result; all of it told."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from app.agents.run import StepRunner
from app.errors import ToolFailed, ToolRetry
from app.events import RenavigateRequest, ToolRequest, ToolResponse
from app.flow.graph import DepartmentFlow
from app.flow.state import FlowLimits
from app.main import Services
from app.main.services import now
from app.tasks.worker import Worker
from app.tools.base import Tool, ToolCall, ToolResult
from tests.acceptance.asking import Told, ask
from tests.limits import limit

QUESTION = "Giờ làm việc bắt đầu lúc mấy giờ?"
Fault = Callable[[ToolResult], Any]
"""What comes out instead of a good result; it may be awaited, and raise."""


class Scripted:
    """A real tool under another name, that ends as `fault` says; none = well."""

    def __init__(self, inner: Tool, name: str, alternative: str | None, fault: Fault | None):
        self.name, self.alternative = name, alternative
        self._inner, self._fault = inner, fault
        self.calls: list[ToolCall] = []

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        result = await self._inner(call)
        if self._fault is None:
            return result
        made = self._fault(result)
        return cast("ToolResult", await made if asyncio.iscoroutine(made) else made)


def raising(error: Exception) -> Fault:
    def fault(_: ToolResult) -> ToolResult:
        raise error

    return fault


async def hanging(_: ToolResult) -> ToolResult:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits that long")


def ungrounded(result: ToolResult) -> ToolResult:
    """Answers that name an amount no quote holds."""
    wrong = {"answer": "Phạt 987.654 đồng."}
    findings = [finding.model_copy(update=wrong) if finding.found else finding for finding in result.findings]
    return result.model_copy(update={"findings": tuple(findings)})


FAULTS: dict[str, Fault] = {
    "refuses": raising(ToolFailed("cannot")),
    "is away": raising(ToolRetry("away for good")),
    "has a bug": raising(KeyError("secret-inside")),
    "hangs": hanging,
    "gives something else": lambda _: {"text": "hello"},
    "gives nothing": lambda _: None,
}
RETRIES = 1


@asynccontextmanager
async def house(services: Services, first: Fault | None, spare: Fault | None) -> AsyncIterator[tuple[Scripted, ...]]:
    """A worker whose ``rag_tool`` has an alternative, both scripted."""
    ports = services.rooms.flow.ports
    rag = ports.steps.toolbox["rag_tool"]
    tools = (Scripted(rag, "rag_tool", "spare_tool", first), Scripted(rag, "spare_tool", None, spare))
    toolbox = {**ports.steps.toolbox, **{tool.name: tool for tool in tools}}
    steps = StepRunner(services.rooms.registry, toolbox, ports.reasoner, now)
    limits = FlowLimits(max_retries=RETRIES, timeout_per_agent_ms=3_500)
    flow = DepartmentFlow(replace(ports, steps=steps), limits)
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": flow.run})
    await worker.start()
    yield tools
    await worker.stop()


async def told_by(services: Services) -> Told:
    return await ask(services, "acme/lan", QUESTION)


def steps_of(told: Told) -> list[dict[str, Any]]:
    return [action for action in told.answer["flow_action"] if action["type"] == "agent_tool"]


class TestAlternative:
    @pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
    async def test_answers_instead_and_the_run_and_its_trace_tell_it(
        self, small_services: Services, fault: Fault
    ) -> None:
        async with house(small_services, fault, None) as (first, spare):
            told = await told_by(small_services)
        assert told.answer["outcome"] == "answered"
        assert "secret-inside" not in told.text
        per_step = Counter((call.agent, call.queries) for call in spare.calls)
        assert set(per_step.values()) == {1}
        assert max(Counter((call.agent, call.queries) for call in first.calls).values()) <= RETRIES + 1
        reasons = [event.reason for event in told.events if isinstance(event, RenavigateRequest)]
        assert reasons
        asked = [event for event in told.events if isinstance(event, ToolRequest)]
        answered = [event for event in told.events if isinstance(event, ToolResponse)]
        assert len(asked) == len(answered) == len(first.calls) + len(spare.calls)
        assert all(event.input_hash for event in asked)
        for action in steps_of(told):
            calls = action["metadata"]["calls"]
            assert calls[0]["tool"] == "rag_tool"
            assert (calls[-1]["tool"], calls[-1]["status"]) == ("spare_tool", "ok")
            assert calls[-1]["output_hash"]
            assert all(len(call["input_hash"]) == 16 for call in calls)
        assert sum(len(action["metadata"]["calls"]) for action in steps_of(told)) == len(first.calls) + len(spare.calls)

    @pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
    async def test_both_failing_ends_in_one_terminal_answer_within_the_step(
        self, small_services: Services, fault: Fault
    ) -> None:
        clock = asyncio.get_running_loop().time()
        async with house(small_services, fault, fault) as (first, spare):
            told = await told_by(small_services)
        assert asyncio.get_running_loop().time() - clock < limit(12)
        assert told.answer["outcome"] in ("failed", "not_found")
        assert "987.654" not in told.text
        for tool, most in ((first, RETRIES + 1), (spare, 1)):
            assert max(Counter((call.agent, call.queries) for call in tool.calls).values()) <= most


class TestRefused:
    async def test_a_result_goes_out_once_more_to_the_same_tool_with_the_reason(self, small_services: Services) -> None:
        async with house(small_services, ungrounded, None) as (first, spare):
            told = await told_by(small_services)
        assert spare.calls == []
        per_step: dict[object, list[str]] = {}
        for call in first.calls:
            if call.agent == "hr":  # where something was found
                per_step.setdefault(call.queries, []).append(call.message)
        assert per_step
        for planned, again in per_step.values():
            assert again.startswith(planned)
            assert "trích dẫn" in again
        assert told.answer["outcome"] == "not_found"
        assert "987.654" not in told.text

    async def test_a_mended_result_counts(self, small_services: Services) -> None:
        tries: Counter[tuple[str, str]] = Counter()

        def at_first(result: ToolResult) -> ToolResult:
            key = (result.findings[0].agent, result.findings[0].query)
            tries[key] += 1
            return ungrounded(result) if tries[key] == 1 else result

        async with house(small_services, at_first, None) as (_, spare):
            told = await told_by(small_services)
        assert told.answer["outcome"] == "answered"
        assert {tries[step] for step in tries if step[0] == "hr"} == {2}
        assert spare.calls == []
        steps = {action["agent"]: action for action in steps_of(told)}
        assert [call["tool"] for call in steps["hr"]["metadata"]["calls"]] == ["rag_tool", "rag_tool"]
