"""What waits in the spool of one run: its writes as records, each an entry of its own.

The first one says whose run it is; the others are what could not be written, in the order they happened.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import TypeAdapter

from app.bus import Place
from app.domain.conflicts import Conflict
from app.domain.principal import Principal
from app.domain.record import Record
from app.domain.tasks import NewTask, PrivateContext, TaskStatus
from app.errors import AppError, StaleAttempt
from app.events import Event, JournalEntry, read_event
from app.storage.database import dump, storable
from app.storage.spool import Entry, SpooledRun


class ClaimedRun(Record):
    """Whose writes follow."""

    principal: Principal
    session_id: UUID
    task_id: UUID
    attempt: int
    claimed_by: str


class EventsAppended(Record):
    """Events at their places in the journal."""

    entries: tuple[tuple[int, str, str], ...]
    """(seq, type, JSON)."""

    @classmethod
    def of(cls, entries: Iterable[JournalEntry]) -> "EventsAppended":
        """The events as they are stored."""
        return cls(entries=tuple(row_of(entry) for entry in entries))


class PlanSaved(Record):
    """The plan of the run."""

    plan: dict[str, Any]


class StepsRegistered(Record):
    """Steps of the plan, with what their agents need."""

    new_tasks: tuple[NewTask, ...]
    agent_contexts: dict[str, list[PrivateContext]]
    at: datetime | None
    """When those were given; None where there are none."""


class StepClaimed(Record):
    """A step was taken."""

    task_id: UUID
    attempt: int
    agent_id: str


class StepEnded(Record):
    """A step ended."""

    task_id: UUID
    attempt: int
    status: TaskStatus
    result: dict[str, Any] | None
    error_message: str | None


class RunEnded(Record):
    """The run ended; its terminal event is the last one of the events before this."""

    status: TaskStatus
    result: dict[str, Any] | None
    flow_action: list[dict[str, Any]] | None
    metadata: dict[str, Any] | None
    error_message: str | None
    plan: dict[str, Any] | None
    conflicts: tuple[Conflict, ...] = ()
    """What was weighed; kept in the ledger."""


Write = ClaimedRun | EventsAppended | PlanSaved | StepsRegistered | StepClaimed | StepEnded | RunEnded
_KINDS: dict[str, type[Write]] = {
    "run": ClaimedRun, "events": EventsAppended, "plan": PlanSaved, "steps": StepsRegistered,
    "step_claimed": StepClaimed, "step_ended": StepEnded, "ended": RunEnded,
}  # fmt: skip
_NAMES = {record: name for name, record in _KINDS.items()}
_ADAPTERS: dict[str, TypeAdapter[Write]] = {name: TypeAdapter(record) for name, record in _KINDS.items()}


def entry_of(write: Write) -> Entry:
    """The write as it lies in the spool."""
    return Entry(_NAMES[type(write)], json_of(write))


def writes_in(entries: Iterable[Entry]) -> Iterator[Write]:
    """The writes again. Raises ``ValueError`` for an entry that is none."""
    for entry in entries:
        if entry.kind not in _ADAPTERS:
            raise ValueError(f"the spool holds an entry of unknown kind {entry.kind!r}")
        yield _ADAPTERS[entry.kind].validate_json(entry.body)


def json_of(record: Record) -> str:
    """A record as PostgreSQL and the spool store it."""
    try:
        return storable(record.model_dump_json())
    except ValueError:  # text that is not Unicode
        return dump(record.model_dump())


def row_of(entry: JournalEntry) -> tuple[int, str, str]:
    """A journal entry as (seq, type, JSON)."""
    return entry.seq, entry.event.type, json_of(entry.event)


def event_of(row: tuple[int, str, str]) -> JournalEntry:
    """`row_of`, the other way."""
    event: Event = read_event(_JSON.validate_json(row[2]))
    return JournalEntry(seq=row[0], event=event)


_JSON: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
Fate = Literal["brought_in", "taken_over", "late", "lost", "erased"]


class ReplayResult(Record):
    """What became of the writes of one run."""

    fate: Fate
    place: Place
    entries: tuple[JournalEntry, ...] = ()


Replay = Callable[[SpooledRun, bool], Awaitable[ReplayResult]]
"""Writes everything that waits of a run in one transaction; the flag says whether this process still works on it.

Safe to repeat. Raises `AppError` while the database cannot be reached."""


@dataclass
class ActiveRun:
    """A run this process holds, as far as its writes are concerned."""

    held: ClaimedRun
    is_live: bool = True
    """Somebody works on it; else it only waits to be brought in."""
    is_spooled: bool = False
    has_events: bool = False
    """The spool holds every event of this attempt up to now."""
    told: tuple[JournalEntry, ...] = ()
    """The whole run, when its end waits in the spool."""
    steps: dict[UUID, "ActiveStep"] = field(default_factory=dict)
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
class ActiveStep:
    """A step of a run of this process, as it was registered; what claims it need not ask the database."""

    new_task: NewTask
    context: PrivateContext | None
    attempt: int = 0
    """As which it was claimed last; 0 = never."""
    ended: StepEnded | None = None
