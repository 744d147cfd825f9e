"""The runs of this process as far as their writes are concerned, and what becomes of those that wait."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

from app.domain.record import Record
from app.domain.tasks import NewTask, PrivateContext
from app.errors import AppError, StaleAttempt
from app.events import JournalEntry
from app.journal.messages import Place
from app.journal.spooled import Fate, RunHeld, StepClaimed, StepEnded, StepsRegistered, Write
from app.storage.spool import SpooledRun


class BroughtIn(Record):
    """What became of the writes of one run."""

    fate: Fate
    place: Place
    entries: tuple[JournalEntry, ...] = ()
    """What stands in the journal now."""


BringIn = Callable[[SpooledRun, bool], Awaitable[BroughtIn]]
"""Writes everything that waits of a run in one transaction; the flag says whether this process still works on it.

Safe to repeat. Raises `AppError` while the database cannot be reached."""


@dataclass
class RunHere:
    """A run this process holds, as far as its writes are concerned."""

    held: RunHeld
    is_live: bool = True
    """Somebody works on it; else it only waits to be brought in."""
    is_spooled: bool = False
    """Writes go to the spool."""
    has_events: bool = False
    """The spool holds every event of this attempt up to now."""
    told: tuple[JournalEntry, ...] = ()
    """The whole run, when its end waits in the spool."""
    steps: dict[UUID, "StepHere"] = field(default_factory=dict)
    """The steps it registered."""
    failure: StaleAttempt | AppError | None = None
    """Nothing can be written any more."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while something is put into the spool or brought in."""

    @property
    def beginning(self) -> list[Write]:
        """What goes into the spool first: whose run it is, and the steps it has, which a server that crashed may have
        forgotten."""
        writes: list[Write] = [self.held]
        if self.steps:
            known = tuple(step.new_task for step in self.steps.values())
            writes.append(StepsRegistered(new_tasks=known, agent_contexts={}, at=None))
        for step_id, step in self.steps.items():
            if step.attempt:
                agent = step.new_task.assignee_agent_id or ""
                writes.append(StepClaimed(task_id=step_id, attempt=step.attempt, agent_id=agent))
            if step.ended:
                writes.append(step.ended)
        return writes


@dataclass
class StepHere:
    """A step of a run of this process, as it was registered; what claims it need not ask the database."""

    new_task: NewTask
    context: PrivateContext | None
    attempt: int = 0
    """As which it was claimed last; 0 = never."""
    ended: StepEnded | None = None
