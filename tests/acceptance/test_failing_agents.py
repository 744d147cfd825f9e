"""What goes wrong in one agent never hides what the others found, and never stops the process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from app.agents.run import StepRunner
from app.domain.answer import ErrorAnswer
from app.errors import ToolFailed, ToolRetry
from app.flow.graph import DepartmentFlow
from app.flow.state import FlowLimits
from app.main import Services
from app.main.services import now
from app.tasks.worker import Worker
from app.tools.base import Tool, ToolCall, ToolResult
from tests.acceptance.asking import Told, ask
from tests.limits import limit

DEMO = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"


class Faulty:
    """A real tool that does what `fault` says first, for the hr agent."""

    def __init__(self, inner: Tool, fault: Callable[[int], BaseException | float | None]):
        self._inner = inner
        self._fault = fault
        self.name, self.alternative = inner.name, inner.alternative
        self.calls = 0

    async def __call__(self, call: ToolCall) -> ToolResult:
        if call.agent == "hr":
            self.calls += 1
            fault = self._fault(self.calls)
            if isinstance(fault, BaseException):
                raise fault
            if fault is not None:
                await asyncio.sleep(fault)
        return await self._inner(call)


@asynccontextmanager
async def house_with(
    services: Services, fault: Callable[[int], BaseException | float | None], **limits: object
) -> AsyncIterator[Faulty]:
    """A worker whose hr agent searches through a faulty tool."""
    flow = services.rooms.flow
    tool = Faulty(flow.ports.steps.toolbox["rag_tool"], fault)
    toolbox = {**flow.ports.steps.toolbox, "rag_tool": tool}
    steps = StepRunner(services.rooms.registry, toolbox, flow.ports.reasoner, now)
    broken = DepartmentFlow(replace(flow.ports, steps=steps), FlowLimits.model_validate(limits))
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": broken.run})
    await worker.start()
    yield tool
    await worker.stop()


def error_of(told: Told) -> ErrorAnswer:
    return ErrorAnswer.model_validate({k: v for k, v in told.answer.items() if k in ErrorAnswer.model_fields})


class TestTimedOutAgent:
    async def test_the_answer_has_partial_results_and_a_fallback(self, small_services: Services) -> None:
        async with house_with(small_services, lambda _: 60.0, timeout_per_agent_ms=4_000):
            told = await ask(small_services, "acme/lan", DEMO)
        error = error_of(told)
        assert error.error_code == "AGENT_EXECUTION_FAILED"
        assert error.error_message == "HR agent failed to execute rag_tool"
        assert error.partial_results["hr"].status == "failed"
        assert error.partial_results["hr"].error == "Tool timeout"
        assert error.partial_results["general"].status == "success"
        assert "Khách hàng trước tiên" in (error.partial_results["general"].answer or "")
        assert "Khách hàng trước tiên" in error.fallback_answer
        last = error.flow_action[-1]
        assert (last.node_id, last.type, last.status) == ("ErrorHandler", "error_handler", "handled")
        assert last.error_details == {"failed_agent": "hr", "failed_tool": "rag_tool", "error_type": "timeout"}
        assert told.task.status == "failed"

    async def test_the_next_question_is_answered(self, small_services: Services) -> None:
        async with house_with(small_services, lambda _: None):
            told = await ask(small_services, "acme/lan", DEMO)
        assert "error" not in told.answer


class TestDeadline:
    async def test_one_deadline_holds_for_the_whole_run(self, small_services: Services) -> None:
        """Tries, alternatives and agents share it: nothing multiplies."""
        clock = asyncio.get_running_loop().time()
        limits = {"task_deadline_ms": 1_500, "timeout_per_agent_ms": 60_000, "max_retries": 10}
        async with house_with(small_services, lambda _: 60.0, **limits):
            told = await ask(small_services, "acme/lan", DEMO)
        assert asyncio.get_running_loop().time() - clock < limit(6)
        assert error_of(told).error_code == "RUN_DEADLINE_EXCEEDED"


class TestTries:
    async def test_a_passing_fault_is_tried_again(self, small_services: Services) -> None:
        async with house_with(small_services, lambda call: ToolRetry("away") if call == 1 else None) as tool:
            told = await ask(small_services, "acme/lan", DEMO)
        assert "error" not in told.answer
        assert tool.calls >= 2

    @pytest.mark.parametrize("fault", [ToolFailed("cannot"), ValueError("a bug"), ToolRetry("away for good")])
    async def test_a_lasting_fault_fails_the_agent_and_not_the_run(
        self, small_services: Services, fault: Exception
    ) -> None:
        async with house_with(small_services, lambda _: fault, max_retries=1):
            told = await ask(small_services, "acme/lan", DEMO)
        error = error_of(told)
        assert error.partial_results["hr"].status == "failed"
        assert error.partial_results["general"].status == "success"
        assert "a bug" not in told.text
