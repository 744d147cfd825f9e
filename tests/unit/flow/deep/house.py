"""The deep flow with its real agents, offers and state, over rooms that only remember what they were told."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

from app.agents.registry import AgentRegistry, Solvers
from app.agents.step import StepError, StepOrder, StepOutcome
from app.domain.attachments import Attachment
from app.domain.conflicts import Known
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, NewTask, Recollection, Task, TaskStatus
from app.events import Event, FinalReport, PlanReady, TaskFailed
from app.flow.deep.context import DeepPorts
from app.flow.deep.graph import DeepFlow
from app.flow.deep.state import DeepLimits
from app.flow.state import FlowLimits, Ports
from app.reasoning import Classification
from app.reasoning.budget import Ledger
from app.storage.tenants import Own
from app.tasks.run import TaskRun
from app.tools.base import ToolResult, computed
from app.tools.catalogue import ToolPorts, build_toolbox
from tests import factories
from tests.fakes.deep_checkpoints import MemoryCheckpoints
from tests.fakes.deep_mind import ScriptedDeepMind

NOW = factories.NOW
QUESTION = "Add the first and the second fact"


class Cut(Exception):
    """The process died here."""


@dataclass
class Writer:
    """A journal that only remembers."""

    events: list[Event] = field(default_factory=list)
    has_ended: bool = False

    def append(self, event: Event) -> None:
        assert not self.has_ended
        self.events.append(event)


@dataclass
class Registry:
    """Task rows that only remember."""

    rows: list[NewTask] = field(default_factory=list)
    saved: list[Mapping[str, Any]] = field(default_factory=list)
    ended: list[dict[str, Any]] = field(default_factory=list)

    @property
    def steps(self) -> "Registry":
        return self

    async def register(
        self,
        leader: TaskRun,
        new_tasks: Sequence[NewTask],
        contexts: object = None,
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        self.rows.extend(new_tasks)
        self.saved.extend([] if plan is None else [plan])

    async def finish(self, run: TaskRun, *, event: FinalReport | TaskFailed, **ended: Any) -> None:
        run.writer.append(event)
        cast("Any", run.writer).has_ended = True
        json.dumps(ended["result"])
        self.ended.append(ended)


Answering = Callable[[StepOrder], ToolResult | StepError]


def found(order: StepOrder) -> ToolResult:
    """A quote for every search, a sum for everything else."""
    query, agent = order.step.queries[0][1], order.step.step.agent
    if order.step.step.tool == "rag_tool":
        one = factories.finding(factories.passage(f"Stated: {query}", document=query), agent=agent, query=query)
        return ToolResult(text=one.answer, findings=(one,))
    call = cast("Any", SimpleNamespace(agent=agent, now=NOW))
    text = f"{query} = 42"
    return ToolResult(
        text=text, findings=(computed(call, 1, query, text, source_type="math", url="math:1"),), value={"result": "42"}
    )


@dataclass
class Steps:
    """Does every step at once, as it is told."""

    answering: Answering = found
    orders: list[StepOrder] = field(default_factory=list)

    async def run(self, order: StepOrder) -> StepOutcome:
        self.orders.append(order)
        await asyncio.sleep(0)
        result = self.answering(order)
        return StepOutcome(
            step=order.step, tool=order.step.step.tool, started_at=NOW, ended_at=NOW, duration_ms=0, input_hash="i",
            output_hash="o", result=result if isinstance(result, ToolResult) else None,
            error=result if isinstance(result, StepError) else None,
        )  # fmt: skip


class Reasoner:
    """Takes every question as one that asks something."""

    identity = "stub"
    kind = "task"

    async def classify(self, query: str, *_: object, **__: object) -> Classification:
        said = "Hello!" if self.kind == "chitchat" else ""
        return Classification(
            kind=cast("Any", self.kind), language="en", refined_query=query, sub_queries=(query,), confidence=1,
            chitchat_response=said,
        )  # fmt: skip


class Files:
    """No file is known."""

    async def find(self, principal: Principal, file_id: UUID) -> Attachment:
        raise AssertionError("nobody attached anything")


class Room:
    """A memory and a clock."""

    async def recall(self, *_: object) -> Recollection:
        return Recollection()

    def listener(self, *_: object) -> Any:
        return SimpleNamespace(on_message=lambda _: None, remember_turn=lambda *_, **__: None)

    async def own(self, principal: Principal) -> Own:
        return Own("UTC")


class CuttingCheckpoints(MemoryCheckpoints):
    """Dies after a number of states were kept; counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[dict[str, Any]] = []
        self.cut_after: int | None = None

    async def last_of(self, task_id: UUID) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._kept[task_id])
        return state

    def put(self, task_id: UUID, state: dict[str, Any]) -> None:
        self._kept[task_id] = json.dumps(state)

    async def store(self, run: TaskRun, state: dict[str, Any]) -> None:
        await super().store(run, state)
        self.states.append(json.loads(json.dumps(state)))
        if len(self.states) == self.cut_after:
            raise Cut


@cache
def agents() -> AgentRegistry:
    return AgentRegistry.load(None)


@cache
def solvers() -> Solvers:
    """With every tool that needs no host; none of them is called."""
    nothing = cast("Any", None)
    return Solvers.load(build_toolbox(ToolPorts(nothing, nothing, nothing, 0.7)))


class Corpus:
    """Nothing contradicts anything."""

    space = "s"

    async def known(self, *_: object, **__: object) -> list[Known]:
        return []


@dataclass
class House:
    """A deep flow and everything it told."""

    mind: ScriptedDeepMind = field(default_factory=ScriptedDeepMind)
    limits: DeepLimits = field(default_factory=DeepLimits)
    flow_limits: FlowLimits = field(default_factory=FlowLimits)
    steps: Steps = field(default_factory=Steps)
    request: ChatRequest = field(default_factory=lambda: ChatRequest(query=QUESTION, mode="deep"))
    principal: Principal = field(default_factory=factories.principal)
    registry: Registry = field(default_factory=Registry)
    checkpoints: CuttingCheckpoints = field(default_factory=CuttingCheckpoints)
    reasoner: Reasoner = field(default_factory=Reasoner)
    task_id: UUID = field(default_factory=uuid4)
    events: list[Event] = field(default_factory=list)
    """Of all attempts."""

    def flow(self) -> DeepFlow:
        room, steps = cast("Any", Room()), cast("Any", self.steps)
        space, mind = cast("Any", Corpus()), cast("Any", self.reasoner)
        ports = Ports(
            registry=cast("Any", self.registry), memory=room, clock=room, retriever=cast("Any", None), corpus=space,
            reasoner=mind, agents=agents(), steps=steps, ledger=Ledger(), now=lambda: NOW,
        )  # fmt: skip
        deep = DeepPorts(self.mind, solvers(), cast("Any", self.steps), self.checkpoints, Files())
        return DeepFlow(ports, deep, self.flow_limits, self.limits)

    async def attempt(self, number: int = 1) -> Writer:
        """One attempt at the run."""
        writer = Writer()
        run = TaskRun(self.principal, self._task(number), number, cast("Any", writer))
        try:
            await self.flow().run(run)
        finally:
            self.events.extend(writer.events)
        return writer

    def _task(self, attempt: int) -> Task:
        return Task(
            task_id=self.task_id, session_id=uuid4(), parent_task_id=None, root_task_id=self.task_id, kind="chat",
            title="t", description="", status=TaskStatus.IN_PROGRESS, assignee_agent_id=None,
            request=self.request.model_dump(mode="json"), plan=None, result=None, flow_action=None, metadata={},
            error_message=None, attempt=attempt, claimed_by="w", lease_until=None, deadline=None, created_at=NOW,
            updated_at=NOW, completed_at=None, principal=self.principal,
        )  # fmt: skip

    @property
    def answer(self) -> dict[str, Any]:
        """§5 or §6, of the one end there was."""
        last = self.events[-1]
        assert isinstance(last, FinalReport | TaskFailed)
        assert sum(isinstance(one, FinalReport | TaskFailed) for one in self.events) == 1
        return last.answer

    @property
    def nodes(self) -> list[str]:
        """Visited nodes but the orchestrator and the tool steps, in order."""
        aside = ("orchestrator", "agent_tool")
        return [one["node_id"] for one in self.answer["flow_action"] if one["type"] not in aside]

    @property
    def node_ids(self) -> list[str]:
        """Of the tool steps, in order."""
        return [order.step.node_id for order in self.steps.orders]

    @property
    def plans(self) -> list[dict[str, Any]]:
        return [one.plan for one in self.events if isinstance(one, PlanReady)]
