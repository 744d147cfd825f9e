"""What is wrong with the documents of a tenant, as its administrators read it."""

from enum import StrEnum
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


class HealthReport(Record):
    """A page of what is wrong, gravest first, and how much of each kind there is altogether."""

    items: tuple[HealthItem, ...]
    counts: dict[HealthKind, int]
    next_cursor: str | None
    """Ask again with it for the next page; None at the end."""
