"""What administrators see of their company's tasks, spending and kept evaluations: figures, no text of anybody."""

import re
from datetime import date, datetime
from typing import Literal
from uuid import UUID

from app.domain.record import Record
from app.domain.tasks import TaskHead, TaskKind, TaskStatus

OWNER_STOPPED = "cancelled by its owner"
"""What a run says that was stopped by the person who asked."""


class Wanted(Record):
    """Which tasks to list; what is None does not matter."""

    status: TaskStatus | None = None
    kind: TaskKind | None = None
    """None = whole runs: questions and documents, not their steps."""
    user_id: UUID | None = None


class TaskFigures(TaskHead):
    """A task of anybody in the tenant. Neither title nor request, plan or result is in it."""

    user_id: UUID
    user: str | None
    """Name; None for people who are known by their tokens alone."""
    mode: str | None
    """Of a question: ``auto``, ``department`` or ``deep``."""
    document_id: UUID | None
    """Of a document on its way."""
    agent: str | None
    """Of a step."""
    holder: str | None
    """The worker that has, or had last, the task."""
    lease_until: datetime | None
    is_lost: bool
    """In progress, but its holder gave no sign of life for a whole lease: another takes it up."""
    deadline: datetime | None
    outcome: str | None
    error_code: str | None
    error_message: str | None
    """Of documents alone: what a failed question says is its asker's."""
    steps: int
    steps_done: int
    is_stopped_by_owner: bool
    """The person who asked wanted no answer any more."""

    @property
    def is_run(self) -> bool:
        """Whether it is a whole run, not a step of one."""
        return self.task_id == self.root_task_id

    @property
    def can_be_stopped(self) -> bool:
        """Whether stopping it would change anything."""
        return self.is_run and not self.status.is_terminal

    def can_be_retried_by(self, user_id: UUID) -> bool:
        """Whether it may be registered anew by this administrator: it ended without an answer, and not because its
        owner wanted it to."""
        ended = self.status in (TaskStatus.FAILED, TaskStatus.CANCELLED)
        return self.is_run and ended and (not self.is_stopped_by_owner or self.user_id == user_id)


class Line(Record):
    """A queue, as far as jobs of the tenant are in it."""

    line: str
    waiting: int
    running: int
    oldest: datetime | None
    """Since when the first of those that wait does."""


class Failure(Record):
    """What steps of an agent failed with."""

    agent: str
    tool: str | None
    code: Literal["TOOL_FAILED", "TOOL_TIMEOUT"]
    count: int
    last_at: datetime | None


class Spent(Record):
    """What was asked of models in some time."""

    runs: int = 0
    """Questions that were asked; those of conversations erased since are not among them."""
    failed: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    open_tokens: int = 0
    """Reserved for calls that have not ended, or whose process died: they count as taken."""
    cost_micros: int = 0
    """Millionths of the operator's currency, by the prices that were set when a call ended."""


class DaySpent(Spent):
    """Of one day, UTC."""

    day: date


class UserSpent(Spent):
    """Of one person."""

    user_id: UUID
    user: str | None
    """Name; None for people who are known by their tokens alone, or not any more."""


class Spending(Record):
    """What a tenant asked of models."""

    since: date
    """The first day, UTC."""
    until: date
    """The last one: today."""
    is_priced: bool
    """Whether prices are set, or were; else costs say nothing."""
    total: Spent
    days: tuple[DaySpent, ...]
    """In order, those without anything left out."""
    users: tuple[UserSpent, ...]
    """Who took most first; at most 100."""
    user_count: int
    """Everybody who took anything."""


RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
"""When the run was made, and six digits by chance."""


class KeptRate(Record):
    """A rate with its bootstrap interval."""

    value: float
    low: float
    high: float


class KeptGate(Record):
    """A threshold, held against the run."""

    metric: str
    where: str
    demand: str
    value: float | None
    holds: bool


class RunFigures(Record):
    """The main figures of one evaluation; nothing anybody asked or was told."""

    run_id: str
    made_at: datetime
    version: str
    """Of the program."""
    mind: str
    """Who answered: the rules of a release, or models with their prompts."""
    datasets: tuple[str, ...]
    questions: int
    leak_count: int
    rates: dict[str, KeptRate]
    """``right facts recall …``, as `docs/evaluation.md` names them."""
    calibration_error: float | None
    median_seconds: float
    p95_seconds: float
    tokens_per_question: float
    gates: tuple[KeptGate, ...]
    holds: bool
    """Whether no gate is broken."""


class KeptRun(RunFigures):
    """A run as it is kept."""

    tenants: tuple[str, ...]
    """Names of those whose documents were asked about, besides the datasets' own documents: nobody else's to know."""
