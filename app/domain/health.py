"""What is wrong with the documents of a tenant, as its administrators read it."""

from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import Field

from app.domain.principal import Scope
from app.domain.record import Record


class HealthKind(StrEnum):
    """What is wrong, gravest first; the order of the members is the order of the report."""

    CONTRADICTION = "contradiction"
    """Two documents in force give amounts that cannot both hold."""
    DUPLICATE = "duplicate"
    """Two documents in force say nearly the same in the same words."""
    FAILED = "failed"
    """The newest version could not be brought in."""
    PARTIAL = "partial"
    """Some of its text could not be read."""
    EMPTY = "empty"
    """It is there, but nothing of it can be found."""
    EXPIRED = "expired"
    """Its last day has passed and nothing takes its place."""
    EXPIRING = "expiring"
    """Its last day is near and nothing takes its place."""
    OLD = "old"
    """Nobody has renewed it for a long time."""
    NOT_COMPARED = "not_compared"
    """Nobody with the reader's rights has compared it with the other documents."""


class Advice(Record):
    """One sentence or two for a person: what is wrong, and what to do next."""

    vi: str
    en: str


class Side(Record):
    """A document of a health item, and what it says there."""

    document_id: UUID
    external_id: str
    title: str
    url: str
    department: str
    scope: Scope
    chunk_id: UUID | None = None
    section: str = ""
    value: str = ""
    """The amounts as written, ``14 ngày``; contradictions only."""
    sentence: str = ""
    """What stands in the document; empty where the item is about the document as a whole."""


FindingStatus = Literal["open", "decided", "dismissed"]
Verdict = Literal["holds", "different_cases", "no_contradiction"]
"""One of the two documents holds; both do, for different cases; they do not contradict each other."""
FindingAct = Literal["assign", "decide", "dismiss", "reopen"]


class Ruling(Record):
    """What an administrator says of a finding."""

    verdict: Verdict | None = None
    holds: UUID | None = None
    """The document that holds; with the verdict ``holds`` alone."""
    supersedes: bool = False
    """Whether the one that holds takes the other's place from now on."""
    assignee: UUID | None = None
    """Who looks after it."""
    note: str = ""


class Judgement(Record):
    """What a person made of a finding."""

    status: FindingStatus = "open"
    verdict: Verdict | None = None
    holds: UUID | None = None
    decided_by: UUID | None = None
    decided_at: datetime | None = None
    note: str = ""


class Handling(Judgement):
    """How far people are with a finding."""

    finding_id: UUID
    judge: Literal["rule", "model", "person"]
    """Who says so: an examination, or a person, whom none overrules."""
    assignee: UUID | None
    earlier: Judgement | None
    """What was decided before it was reopened, or before one of its sentences changed."""


class HealthItem(Record):
    """One thing to look after."""

    kind: HealthKind
    document: Side
    other: Side | None = None
    """The second document of a contradiction or a duplicate."""
    unit: str = ""
    """What is counted: ``day``, ``VND``, ``clock`` …; contradictions only."""
    score: float = Field(ge=0, le=1)
    """How sure it is; of a duplicate the share of the smaller document that the other one repeats. 1 for facts."""
    advice: Advice
    handling: Handling | None = None
    """Of a contradiction or a duplicate."""


class HealthFilter(Record):
    """Which items to list, on either side; what is None does not matter. What is no finding is open."""

    status: FindingStatus = "open"
    kind: HealthKind | None = None
    document_id: UUID | None = None
    department: str | None = None
    assignee: UUID | None = None


class HealthReport(Record):
    """A page of what is wrong, gravest first, and how much of each kind there is altogether."""

    items: tuple[HealthItem, ...]
    counts: dict[HealthKind, int]
    statuses: dict[FindingStatus, int]
    """Of the kind that was asked for, as `counts` are of the status."""
    next_cursor: str | None
    """Ask again with it for the next page; None at the end."""
