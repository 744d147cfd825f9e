"""Who may see what on which day, in plain Python: what the random tests hold the database against."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from app.domain.principal import Principal, Scope

_DAY = timedelta(days=1)


@dataclass
class Version:
    """What one arrival said."""

    number: int
    serial: int
    """Stands in its text and in no other."""
    is_file: bool
    bringer: str
    fields: dict[str, Any]
    """department, scope, effective_from, effective_to, supersedes, created_at"""
    is_published: bool = False
    has_text: bool = True
    """Whether it still stands for days of its own; what was wrong never comes back."""

    @property
    def begins(self) -> date:
        return self.fields["effective_from"] or date.min

    @property
    def speaks_from(self) -> date:
        """As others see it who must make room."""
        begins: date = self.fields["effective_from"] or self.fields["created_at"].date()
        return begins


@dataclass
class Document:
    """A document with its fields as they stand."""

    external_id: str
    fields: dict[str, Any]
    versions: list[Version] = field(default_factory=list)
    current: int = 0
    amended: dict[str, Any] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        scope: Scope = self.fields["scope"]
        return scope

    @property
    def department(self) -> str:
        return str(self.fields["department"])

    @property
    def standing(self) -> list[Version]:
        """The version that is found and those before it that have days of their own."""
        return [one for one in self.versions if one.is_published and one.has_text]

    def forget_what_was_wrong(self) -> None:
        standing = self.standing
        for place, version in enumerate(standing):
            later = [one.begins for one in standing[place + 1 :]]
            version.has_text = not later or min(later) > version.begins

    def days(self) -> Iterator[tuple[Version, date, date]]:
        """(version, its first day, its last day), when no other document takes its place."""
        standing = self.standing
        for place, version in enumerate(standing):
            ends = [one.begins - _DAY for one in standing[place + 1 :]]
            yield version, version.begins, min([version.fields["effective_to"] or date.max, *ends])


class Tenant:
    """The documents of a company."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}

    def take_up(self, external_id: str, version: Version) -> Version:
        document = self.documents.setdefault(external_id, Document(external_id, dict(version.fields)))
        version.number = len(document.versions) + 1
        document.versions.append(version)
        document.amended = {}
        return version

    def publish(self, document: Document, version: Version) -> bool:
        """Unless it is not the newest arrival any more."""
        if self.documents.get(document.external_id) is not document or version is not document.versions[-1]:
            return False
        version.fields |= document.amended
        version.is_published, document.current = True, version.number
        document.fields = dict(version.fields)
        document.forget_what_was_wrong()
        return True

    def amend(self, document: Document, changes: dict[str, Any]) -> None:
        document.fields |= changes
        document.amended |= changes
        rights: dict[str, Any] = {name: changes[name] for name in ("department", "scope") if name in changes}
        for version in document.versions:
            if not version.is_published:
                version.fields |= rights
            elif version.number == document.current:
                version.fields |= changes
        document.forget_what_was_wrong()

    def found(self, asker: Principal, on: date, *, with_superseded: bool, today: date) -> set[int]:
        """Serials of the versions a search on that day finds."""
        return {
            version.serial
            for document in self.documents.values()
            if asker.may_read(document.scope, document.department)
            and (with_superseded or (closes := self._makes_room(document)) is None or closes >= today)
            for version, first, last in document.days()
            if first <= on <= min(last, self._makes_room(document) or date.max)
        }

    def _makes_room(self, document: Document) -> date | None:
        """The last day before another document takes its place."""
        begins = [
            min(version.speaks_from for version in other.standing)
            for other in self.documents.values()
            if other is not document and other.current and other.fields["supersedes"] == document.external_id
        ]
        return min(begins) - _DAY if begins else None

    def sees_document(self, asker: Principal, document: Document) -> bool:
        """In the catalogue."""
        if asker.is_admin:
            return True
        return document.current > 0 and asker.may_read(document.scope, document.department)

    def sees_version(self, asker: Principal, document: Document, version: Version) -> bool:
        if asker.is_admin and version.bringer == asker.name:
            return True
        rights = document.fields if version.is_published else version.fields
        may_read = asker.may_read(rights["scope"], rights["department"])
        return may_read and (version.is_published or asker.is_admin)
