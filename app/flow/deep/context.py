"""A deep run's world: the ports its nodes use, its time and budget, who has the floor, and where its state is kept."""

import asyncio
from collections.abc import Awaitable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypedDict, TypeVar
from uuid import UUID

from app.agents.registry import Role, Solvers, UsableTool
from app.agents.run import guard_of
from app.agents.step import StepOutcome, Steps
from app.domain.attachments import Attachment
from app.domain.deep import Stage
from app.domain.knowledge import Finding
from app.domain.principal import Principal
from app.events import EndProcess, StartProcess
from app.flow.deep.state import Cause, DeepLimits, DeepState
from app.flow.state import RunContext
from app.flow.trace import Trace
from app.links import LinkGuard
from app.reasoning import AgentOffer, Classification
from app.reasoning.budget import Account, LimitReached, charged_to
from app.reasoning.deep import DeepReasoner, ToolOffer
from app.tasks.approvals import DeepStates

_T = TypeVar("_T")
_AROUND_ADDRESS = ".,;:!?()[]<>\"'"


class Files(Protocol):
    """What the flow needs of `ingestion.attached.Attachments`."""

    async def find(self, principal: Principal, file_id: UUID) -> Attachment:
        """A file of the principal. Raises `AppError` for every other id."""


@dataclass(frozen=True)
class DeepPorts:
    """What the deep flow uses besides the rooms of the department flow."""

    mind: DeepReasoner
    solvers: Solvers
    steps: Steps
    checkpoints: DeepStates
    """Keeps the state after every orchestrator visit and tool call, for another attempt to go on with."""
    files: Files


class GraphState(TypedDict, total=False):
    """What the graph hands from node to node, and shares with its subgraphs."""

    deep: DeepState


class Stopped(Exception):
    """Time or budget ran out while a mind was asked."""

    def __init__(self, cause: Cause):
        super().__init__(cause)
        self.cause = cause


class Parked(Exception):
    """The run waits for a person; its attempt ends here, without a terminal event."""


@dataclass
class DeepContext:
    """One attempt at one deep run."""

    run: RunContext
    ports: DeepPorts
    limits: DeepLimits
    offers: tuple[AgentOffer, ...]
    """The agents of the department flow this caller may use, narrowed as asked: what they may read is read here."""
    classification: Classification | None = None
    """Known where another flow handed the question over."""
    latest: DeepState | None = None
    """The state that was kept last: what a cut run still can tell."""
    _floor: tuple[Stage, datetime] | None = None
    _usable: dict[Role, dict[str, UsableTool]] = field(default_factory=dict)

    @property
    def trace(self) -> Trace:
        """The run's account of itself."""
        return self.run.trace

    @property
    def work_until(self) -> float:
        """Event-loop time at which the stages must have ended; what is left of the run is the finalizer's."""
        return self.run.account.deadline

    @property
    def since(self) -> datetime:
        """When the stage that has the floor began."""
        return self._floor[1] if self._floor else self.now()

    def now(self) -> datetime:
        """The clock of the process."""
        return self.run.ports.now()

    def usable(self, role: Role) -> dict[str, UsableTool]:
        """The tools of an agent; the same through the whole run."""
        if role not in self._usable:
            asking = self.run.asking
            self._usable[role] = self.ports.solvers.usable(
                role, asking.principal, self.offers, has_files=bool(asking.request.files),
                is_narrowed=bool(asking.request.agents),
            )  # fmt: skip
        return self._usable[role]

    def tools_of(self, *roles: Role) -> tuple[ToolOffer, ...]:
        """The same as minds see them, each tool once."""
        return tuple({name: tool.offer for role in roles for name, tool in self.usable(role).items()}.values())

    async def ask(self, thought: Awaitable[_T]) -> _T:
        """What a mind answers in the time of the stages. Raises `Stopped`."""
        try:
            async with asyncio.timeout_at(self.work_until) as limit:
                with self.paying():
                    return await thought
        except TimeoutError:
            if not limit.expired():
                raise
            raise Stopped("deadline") from None
        except LimitReached as reached:
            raise Stopped("budget") from reached

    def paying(self) -> AbstractContextManager[Account]:
        """Model calls are paid from the run's one account, in the name of the stage that has the floor."""
        return charged_to(replace(self.run.account, agent=self._floor[0] if self._floor else ""))

    async def keep(self, state: DeepState, plan: dict[str, object] | None = None) -> DeepState:
        """Keep a state with the trace so far; with a plan the run then waits for a decision about it. Raises
        `StaleAttempt` when the run was lost."""
        self.latest = state.but(actions=self.trace.actions, outcomes=tuple(map(_slim, self.run.outcomes)))
        if plan is None:
            await self.ports.checkpoints.store(self.run.run, self.latest.dump())
        else:
            await self.ports.checkpoints.park(self.run.run, self.latest.dump(), plan)
        return self.latest

    def go_on_from(self, state: DeepState) -> None:
        """Take up what an earlier attempt kept."""
        self.latest = state
        self.trace.restore(state.actions)
        self.run.outcomes.extend(state.outcomes)

    def give_floor(self, stage: Stage) -> None:
        """A stage begins."""
        self._floor = (stage, self.now())
        self.run.run.writer.append(StartProcess(agent=stage))

    def yield_floor(self) -> None:
        """The stage that has the floor ends, if there is one."""
        if self._floor:
            self.run.run.writer.append(EndProcess(agent=self._floor[0]))
        self._floor = None

    def guard(self, state: DeepState, findings: tuple[Finding, ...] = ()) -> LinkGuard:
        """Lets no address out but the asker's own and those of sources: a plan may send for the page that was named."""
        named = (word.strip(_AROUND_ADDRESS) for word in state.said.split())
        return guard_of([state.said], findings, state.asked.language, self.run.limits.trusted_link_hosts, named=named)


def _slim(outcome: StepOutcome) -> StepOutcome:
    """Without quotes: the observations hold them."""
    if outcome.result is None:
        return outcome
    findings = tuple(
        one.model_copy(update={"quotes": (), "counterparts": (), "read": ()}) for one in outcome.result.findings
    )
    return replace(outcome, result=outcome.result.model_copy(update={"findings": findings}))
