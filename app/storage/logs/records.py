"""What a log line is, which lines are wanted, and what a search comes to."""

from datetime import datetime
from typing import NamedTuple

from app.domain.principal import Scope
from app.domain.record import Record


class LogLine(Record):
    """One line of a system log."""

    logged_at: datetime
    """Aware."""
    source: str
    """The machine or service that wrote it: ``vpn-gw-01``."""
    level: str
    """``INFO``, ``WARN``, ``ERROR`` …, upper case."""
    department: str
    scope: Scope
    message: str


class LogPosition(NamedTuple):
    """Where a line stands among the lines of its tenant: what is sorted by, and no two lines share."""

    logged_at: datetime
    content_hash: int
    occurrence: int


class StoredLine(NamedTuple):
    """A line as it is read in great numbers; field names are the columns of the statement."""

    logged_at: datetime
    source: str
    level: str
    department: str
    scope: Scope
    message: str
    kind: int
    """The same for lines that differ in numbers, addresses, ids and users alone."""
    content_hash: int
    occurrence: int

    @property
    def line(self) -> LogLine:
        """It as a record."""
        return LogLine(
            logged_at=self.logged_at,
            source=self.source,
            level=self.level,
            department=self.department,
            scope=self.scope,
            message=self.message,
        )

    @property
    def position(self) -> LogPosition:
        """Where it stands."""
        return LogPosition(self.logged_at, self.content_hash, self.occurrence)


class LogFilter(Record):
    """Which lines are wanted; empty fields want all that the principal may read."""

    terms: tuple[str, ...] = ()
    """Beginnings of words of the message, in any case (``fail``, ``203.0.113``); ``logins`` finds login."""
    any_term: bool = False
    """One of the terms is enough."""
    contains: str = ""
    """A piece of the message, in any case."""
    levels: tuple[str, ...] = ()
    source: str = ""
    """Beginning of a source's name, in any case."""
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    departments: tuple[str, ...] = ()
    """Narrows what the principal may read; never widens it."""


class LogCounts(Record):
    """How many lines match, and when the first and the last were written."""

    total: int = 0
    first: datetime | None = None
    last: datetime | None = None
    by_source: dict[str, int] = {}
    """Most lines first."""
    by_level: dict[str, int] = {}


class LogKind(Record):
    """Lines of one level that differ in numbers, addresses, ids and users alone."""

    lines: int
    newest: LogLine


class LogSummary(Record):
    """What the matching lines are."""

    counts: LogCounts = LogCounts()
    kinds: tuple[LogKind, ...] = ()
    """The most frequent ones, most lines first."""
