"""Documents over time: which version of which document stood on a day, and what took its place by another day."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Literal
from uuid import UUID

from app.domain.principal import Scope
from app.domain.record import Record

_DAY = timedelta(days=1)
_NEW_DAYS = 366
"""Without a day to compare with, a document that replaces none is news for a year."""


class DocumentVersion(Record):
    """A published version of a document, as whoever asks may read it."""

    document_id: UUID
    external_id: str
    supersedes: str | None
    """external_id of the document this one replaces."""
    version: int
    title: str
    url: str
    department: str
    scope: Scope
    language: str
    authority: str
    created_at: datetime
    """As its bringer said it."""
    effective_from: date | None
    effective_to: date | None
    published_at: datetime
    closes: date | None
    """The last day of the whole document, when it has one: its own, or that before its successor begins."""
    text: str

    @property
    def says_from(self) -> date:
        """The day from which it speaks by its own account."""
        return self.effective_from or self.created_at.date()


@dataclass(frozen=True, slots=True)
class Standing:
    """A version with the days it stood on."""

    version: DocumentVersion
    begins: date
    ends: date | None

    @property
    def has_days(self) -> bool:
        """Whether it stood at all; a version that was put right on the day it came did not."""
        return self.ends is None or self.begins <= self.ends

    def holds_on(self, day: date) -> bool:
        """Whether it is what the document says on that day."""
        return self.begins <= day and (self.ends is None or day <= self.ends)


@dataclass(frozen=True, slots=True)
class Succession:
    """What became of one document between two days."""

    kind: Literal["replaced", "added", "ended", "unchanged"]
    """``replaced`` also by a later version of its own."""
    old: Standing | None
    new: Standing | None

    @property
    def documents(self) -> frozenset[UUID]:
        """The documents it is about."""
        return frozenset(side.version.document_id for side in (self.old, self.new) if side)

    @property
    def since(self) -> date:
        """When it came to be so."""
        if self.new:
            return self.new.begins
        return (self.old.ends or self.old.begins) + _DAY if self.old else date.min


def successions(versions: Sequence[DocumentVersion], before: date | None, now: date) -> list[Succession]:
    """What became of the documents from the day `before` to the day `now`, the latest change first.

    Without a day before, every document is held against what it replaced, whenever that was, and documents that
    replace nothing count as added when they began within a year.
    """
    by_document = groupby(sorted(versions, key=lambda one: one.document_id), lambda one: one.document_id)
    lines = [standings(list(rows)) for _, rows in by_document]
    names = {line[0].version.external_id: line for line in lines}
    told = [one for line in lines if (one := _of_current(line, names, before, now))]
    replaced = [one.old for one in told]
    if before is not None:
        ended = (_on(line, before) for line in lines if _on(line, now) is None)
        told += [Succession("ended", old, None) for old in ended if old and old not in replaced]
    order = {"replaced": 0, "added": 1, "ended": 1, "unchanged": 2}
    return sorted(told, key=lambda one: (order[one.kind], -one.since.toordinal(), _name(one)))


def standings(versions: Sequence[DocumentVersion]) -> list[Standing]:
    """The versions of one document with their days, oldest first.

    A version that begins no later than the one before it took its place on the day it was published; so did one
    without days of its own.
    """
    ordered = sorted(versions, key=lambda version: version.version)
    begins: list[date] = []
    for version in ordered:
        begun = version.says_from
        if begins and begun <= begins[-1]:
            begun = max(version.published_at.date(), begins[-1])
        begins.append(begun)
    closes = ordered[-1].closes
    ends: list[date | None] = [*(day - _DAY for day in begins[1:]), closes]
    return [
        Standing(version, begun, min(filter(None, (until, version.effective_to, closes)), default=None))
        for version, begun, until in zip(ordered, begins, ends, strict=True)
    ]


def _of_current(
    line: Sequence[Standing], names: Mapping[str, Sequence[Standing]], before: date | None, now: date
) -> Succession | None:
    """What the document that stands now took the place of; None when it does not stand."""
    current = _on(line, now)
    if current is None:
        return None
    if before is None:
        old = next(_predecessors(line, current, names), None)
        if old:
            return Succession("replaced", old, current)
        return Succession("added" if (now - current.begins).days < _NEW_DAYS else "unchanged", None, current)
    if current.begins <= before:
        return Succession("unchanged", current, current)
    known = [one for one in _predecessors(line, current, names) if one.has_days]
    old = next((one for one in known if one.holds_on(before)), known[0] if known else None)
    return Succession("replaced" if old else "added", old, current)


def _predecessors(
    line: Sequence[Standing], current: Standing, names: Mapping[str, Sequence[Standing]]
) -> Iterator[Standing]:
    """What stood in the place of the current version before it, the latest first."""
    seen: set[str] = set()
    own: Sequence[Standing] = line[: line.index(current)]
    while True:
        yield from reversed(own)
        version = line[0].version
        seen.add(version.external_id)
        if version.supersedes is None or version.supersedes in seen or version.supersedes not in names:
            return
        line = own = names[version.supersedes]


def _on(line: Sequence[Standing], day: date) -> Standing | None:
    return next((one for one in reversed(line) if one.holds_on(day)), None)


def _name(one: Succession) -> str:
    standing = one.new or one.old
    return standing.version.title if standing else ""
