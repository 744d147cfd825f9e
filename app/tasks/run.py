"""A claimed run as its handler sees it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.domain.principal import Principal
from app.domain.tasks import Task
from app.journal.writer import JournalWriter


@dataclass(frozen=True)
class TaskRun:
    """One attempt at a root task."""

    principal: Principal
    """The caller the task was registered by; the run has exactly this person's rights."""
    task: Task
    attempt: int
    """Named in every write; a later attempt makes it stale."""
    writer: JournalWriter


Handler = Callable[[TaskRun], Awaitable[None]]
"""Takes a run to its terminal event with `TaskRegistry.finish`."""
