"""A claimed run as its handler sees it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.domain.principal import Principal
from app.domain.tasks import HandedStep, Task
from app.journal.writer import JournalWriter


async def _unwatched() -> None:
    """Where nobody watches a run, it is taken to be held."""


@dataclass(frozen=True)
class TaskRun:
    """One attempt at a root task, or at a step that was handed out."""

    principal: Principal
    """The caller the task was registered by; the run has exactly this person's rights."""
    task: Task
    attempt: int
    """Named in every write; a later attempt makes it stale."""
    writer: JournalWriter
    check: Callable[[], Awaitable[None]] = _unwatched
    """To be called before anything that costs: raises `StaleAttempt` when this attempt was found to have lost the task
    (cancelled, taken over, erased). Looks into the database when nobody has for half a second."""


Handler = Callable[[TaskRun], Awaitable[None]]
"""Takes a run to its terminal event with `TaskRegistry.finish`."""

StepHandler = Callable[[TaskRun, HandedStep], Awaitable[None]]
"""Takes a step that was handed out to its end with `StepRegistry.finish`."""
