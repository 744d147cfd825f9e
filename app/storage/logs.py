"""System log lines: storing, counting, finding; every statement names tenant, scopes and departments itself, too."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from app.domain.principal import Scope
from app.domain.record import Record
from app.storage.database import Transaction

PATTERN_LINES = 20_000
"""Newest matching lines that patterns are counted over."""
_BATCH = 5_000
_PATTERNS = 400


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


class LogFilter(Record):
    """Which lines are wanted; empty fields want all that the principal may read."""

    terms: tuple[str, ...] = ()
    """Beginnings of words of the message, in any case (``fail``, ``203.0.113``); ``logins`` finds login."""
    any_term: bool = False
    """One of the terms is enough."""
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

    total: int
    first: datetime | None
    last: datetime | None
    by_source: dict[str, int]
    """Most lines first."""
    by_level: dict[str, int]


class LogPattern(Record):
    """A kind of message: its text with every number as ``#``."""

    text: str
    lines: int


# Words are compared line by line: under row policies PostgreSQL uses no text index, and lines are read by time anyway.
_INSERT = """
insert into system_logs (tenant_id, logged_at, source, level, department, scope, message)
select $1, line.* from unnest($2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) as line
"""
_MATCHING = """
from system_logs
where tenant_id = $1 and scope = any($2::text[])
  and (scope <> 'private' or department = 'general' or department = any($3::text[]))
  and (cardinality($4::text[]) = 0 or department = any($4::text[]))
  and ($5::timestamptz is null or logged_at >= $5) and ($6::timestamptz is null or logged_at < $6)
  and (cardinality($7::text[]) = 0 or level = any($7::text[]))
  and ($8::text = '' or starts_with(lower(source), lower($8::text)))
  and case when $10::boolean then lower(message) ~ any($9::text[]) else lower(message) ~ all($9::text[]) end
"""
_COUNT = f"""
select source, level, grouping(source) = 0 as of_source, grouping(level) = 0 as of_level,
       count(*) as lines, min(logged_at) as first, max(logged_at) as last
{_MATCHING}
group by grouping sets ((), (source), (level))
order by lines desc, source, level
"""
_SEARCH = f"""
select logged_at, source, level, department, scope, message
{_MATCHING}
order by case when $11::boolean then array_position(array['FATAL', 'CRITICAL', 'ERROR', 'WARN', 'WARNING'], level) end,
         logged_at desc, source, message
limit $12
"""
_PATTERN = f"""
select regexp_replace(message, '[0-9]+', '#', 'g') as text, count(*) as lines
from (select message {_MATCHING} order by logged_at desc limit $11) as newest
group by 1 order by lines desc, text limit $12
"""


async def insert_logs(tx: Transaction, lines: Iterable[LogLine]) -> int:
    """Store lines under the principal's tenant; gives back how many. Only an administrator may, or asyncpg raises.

    Inserts from arrays, a few thousand lines a statement: COPY is not possible on tables with row policies.
    """
    remaining, stored = iter(lines), 0
    while batch := list(islice(remaining, _BATCH)):
        columns = [
            [line.logged_at for line in batch],
            *([str(getattr(line, name)) for line in batch] for name in _TEXT_COLUMNS),
        ]
        await tx.driver.execute(_INSERT, tx.principal.tenant_id, *columns)
        stored += len(batch)
    return stored


async def count_by(tx: Transaction, wanted: LogFilter) -> LogCounts:
    """Count the matching lines, in all, by source and by level."""
    rows = await tx.driver.fetch(_COUNT, *_arguments(tx, wanted))
    whole = next(row for row in rows if not row["of_source"] and not row["of_level"])
    return LogCounts(
        total=whole["lines"],
        first=whole["first"],
        last=whole["last"],
        by_source={row["source"]: row["lines"] for row in rows if row["of_source"]},
        by_level={row["level"]: row["lines"] for row in rows if row["of_level"]},
    )


async def search_logs(
    tx: Transaction, wanted: LogFilter, *, limit: int = 100, severe_first: bool = False
) -> tuple[LogLine, ...]:
    """Matching lines, newest first; with `severe_first` by level before."""
    rows = await tx.driver.fetch(_SEARCH, *_arguments(tx, wanted), severe_first, limit)
    return tuple(LogLine(**dict(row)) for row in rows)


async def count_patterns(tx: Transaction, wanted: LogFilter) -> tuple[LogPattern, ...]:
    """Kinds of messages among the newest `PATTERN_LINES` matching lines, most frequent first."""
    rows = await tx.driver.fetch(_PATTERN, *_arguments(tx, wanted), PATTERN_LINES, _PATTERNS)
    return tuple(LogPattern(text=row["text"], lines=row["lines"]) for row in rows)


def _beginning_of_word(term: str) -> str:
    """A pattern that finds `term` where a word begins, without its plural ending."""
    stem = _PLURAL.sub("", term.lower())
    return f"(^|[^[:alnum:]]){re.escape(stem)}"


_PLURAL = re.compile(r"(?<=[a-z]{3}[a-rt-z])s$")
_TEXT_COLUMNS = ("source", "level", "department", "scope", "message")


def _arguments(tx: Transaction, wanted: LogFilter) -> Sequence[Any]:
    """The parameters $1 to $10 of `_MATCHING`."""
    asker = tx.principal
    return (
        asker.tenant_id,
        sorted(asker.scopes),
        sorted(asker.departments),
        list(wanted.departments),
        wanted.since,
        wanted.until,
        list(wanted.levels),
        wanted.source,
        [_beginning_of_word(term) for term in wanted.terms],
        wanted.any_term and bool(wanted.terms),
    )
