"""A remote agent with one scripted tool, and leaders that order its steps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

from app.agents.remote import RemoteSteps, StepService
from app.agents.run import StepRunner
from app.agents.step import StepOrder
from app.domain.plan import PlannedStep, Step
from app.domain.tasks import PrivateContext
from app.reasoning import Reasoner
from app.reasoning.budget import Ledger
from app.tasks.run import TaskRun
from app.tasks.worker import Worker
from app.tools.base import ToolCall, ToolResult
from tests.postgres.running import Rooms, step_of

PLANNED = PlannedStep(
    number=1, tier=1, step=Step(agent="hr", tool="rag_tool", message="how late?"), queries=((1, "how late?"),),
    node_id="hr#rag",
)  # fmt: skip
CONTEXT = PrivateContext(message="how late?", queries=((1, "how late?"),), refined_query="how late?", language="en")


def now() -> datetime:
    return datetime.now(UTC)


class Scripted:
    """A tool that does what it is told, and remembers who called and who was cut off."""

    def __init__(self, deed: Callable[[ToolCall], Awaitable[str]]):
        self.name = "rag_tool"
        self.alternative: str | None = None
        self._deed = deed
        self.calls: list[ToolCall] = []
        self.begun, self.cut = asyncio.Event(), asyncio.Event()

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        self.begun.set()
        try:
            return ToolResult(text=await self._deed(call), value={"b": 1, "a": 2.0})
        except asyncio.CancelledError:
            self.cut.set()
            raise


def taking(seconds: float) -> Scripted:
    """Answers after so long."""

    async def deed(call: ToolCall) -> str:
        await asyncio.sleep(seconds)
        return f"answer to {call.message}"

    return Scripted(deed)


def runner_of(rooms: Rooms, tool: Scripted) -> StepRunner:
    return StepRunner(rooms.registry, {tool.name: tool}, cast(Reasoner, None), now)


@asynccontextmanager
async def elsewhere(rooms: Rooms, tool: Scripted, **options: Any) -> AsyncIterator[Worker]:
    """A worker of another machine that does the hr agent's steps."""
    service = StepService(runner_of(rooms, tool), rooms.registry.steps, Ledger())
    async with rooms.working({}, queues=("hr",), step_handler=service.run, **options) as worker:
        yield worker


def leading(rooms: Rooms) -> RemoteSteps:
    return RemoteSteps(rooms.registry.steps, rooms.bus, now)


async def order_of(rooms: Rooms, leader: TaskRun, seconds: float = 10, **changes: Any) -> StepOrder:
    """A registered step of the run, as its leader orders it."""
    step = step_of(leader.task).model_copy(
        update={"request": {"context_hash": CONTEXT.context_hash, "node_id": PLANNED.node_id}}
    )
    await rooms.registry.steps.register(leader, [step], {"hr": [CONTEXT]})
    values: dict[str, Any] = {
        "run": leader, "task_id": step.task_id, "step": PLANNED, "departments": ("hr",), "findings": (),
        "instructions": "", "files": (), "time_zone": "Asia/Ho_Chi_Minh", "now": now(), "timeout_seconds": seconds,
        "deadline_binds": False, "max_retries": 0,
    }  # fmt: skip
    return StepOrder(**(values | changes))
