"""What only these faces need of a run: the steps of its plan, who speaks, and the names its client gave.

A thread, chat or context is named by its client and is one of the caller's sessions, opened with its first question.
Its history is kept here; earlier messages a client sends along are not read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from app.api.deps import AppServices
from app.api.tasks import own_run
from app.domain.principal import Principal
from app.domain.tasks import Task
from app.errors import AppError, ErrorCode
from app.events import EndProcess, Event, PlanReady, Progress, Redispatched, StartProcess
from app.faces.updates import RunProjection, RunReader, Update

_STEP_CHANGES = (
    ("current_task", "pending", "in_progress"),
    ("completed_task", "in_progress", "completed"),
    ("failed_task", "in_progress", "failed"),
)
"""What a progress object names, and how that step's state changes."""


@dataclass
class StepReader(RunReader):
    """A run with the steps of its plan and its agents, as far as its journal was read."""

    steps: list[dict[str, Any]] | None = None
    """The plan's steps in their order, each with its ``status``; None before there is a plan."""
    moved: int | None = None
    """The step whose state the last event changed."""
    agents: dict[str, dict[str, bool]] = field(default_factory=dict)

    def read(self, event: Event, titles: Mapping[str, str]) -> Iterator[Update]:
        """See `RunReader.read`."""
        self.moved = None
        match event:
            case PlanReady(plan=plan):
                self.steps = _steps_of(plan)
            case Progress(output=output):
                self.moved = self._move_step(output)
            case StartProcess(agent=agent, active=speaks) | EndProcess(agent=agent, active=speaks):
                self.agents[agent] = {"speaking": speaks}
            case Redispatched():
                self.agents = {}
            case _:
                pass
        yield from super().read(event, titles)

    def _move_step(self, output: Mapping[str, Any]) -> int | None:
        for name, before, after in _STEP_CHANGES:
            found = output.get(name)
            if not isinstance(found, Mapping):
                continue
            wanted = (found.get("agent"), found.get("tool"), found.get("purpose"), before)
            for index, step in enumerate(self.steps or ()):
                if (step["agent"], step["tool"], step["purpose"], step["status"]) == wanted:
                    step["status"] = after
                    return index
        return None


class StepProjection(RunProjection):
    """A projection that knows the steps."""

    run: StepReader

    def __init__(self) -> None:
        super().__init__()
        self.run = StepReader()


def _steps_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "tier": int(number), "agent": step["agent"], "tool": step["tool"],
            "purpose": step.get("purpose") or step.get("message", ""), "status": step.get("status", "pending"),
        }
        for tier in plan.get("execution_flow", {}).get("planning", {}).get("tasks", ())
        for number, steps in tier.items()
        for step in steps
    ]  # fmt: skip


async def find_own_run(services: AppServices, caller: Principal, task_id: UUID) -> Task | None:
    """A run of the caller; None for any other id."""
    try:
        return await own_run(services, caller, task_id)
    except AppError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise


def session_of(caller: Principal, thread_id: str) -> UUID:
    """The session of a thread: the one of this id, else always the same one for the same caller and name."""
    try:
        return UUID(thread_id)
    except ValueError:
        return uuid5(caller.user_id, thread_id)
