"""Log lines: which are wanted, the statements over them, counting and finding them, and removing old ones.

Each statement names tenant, scopes and departments itself, beside the row policies. Words are compared line by line:
under row policies PostgreSQL uses no text index, as its operators are not leakproof. What is cheap goes first: a piece
of text is looked for before a word's beginning is.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from app.domain.principal import Scope
from app.domain.record import Record
from app.storage.database import OperatorTransaction, Transaction
from extras.logs.lines import LogLine

_MOST_GROUPS = 200
"""Sources, levels and kinds of message that are told apart; what is rarer is only in the total."""
_PLURAL = re.compile(r"(?<=[a-z]{3}[a-rt-z])s$")
_LIKE_SIGNS = re.compile(r"([%_\\])")


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
        return LogLine(**{name: getattr(self, name) for name in LogLine.model_fields})

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


_MATCHING = """
from system_logs
where tenant_id = $1 and scope = any($2::text[])
  and (scope <> 'private' or department = 'general' or department = any($3::text[]))
  and (cardinality($4::text[]) = 0 or department = any($4::text[]))
  and ($5::timestamptz is null or logged_at >= $5) and ($6::timestamptz is null or logged_at < $6)
  and (cardinality($7::text[]) = 0 or level = any($7::text[]))
  and ($8::text = '' or starts_with(lower(source), lower($8::text)))
  and ($12::text = '' or strpos(lower(message), lower($12::text)) > 0)
  and case when cardinality($9::text[]) = 0 then true
           when $11::boolean then case when lower(message) like any($10::text[])
                                       then lower(message) ~ any($9::text[]) else false end
           else case when lower(message) like all($10::text[]) then lower(message) ~ all($9::text[]) else false end
      end
"""
_SUMS = "sum(lines)::bigint as lines, min(first) as first, max(last) as last"
_NO_LINE = "null::timestamptz, null::text, null::text, null::text, null::text, null::text"
SUMMARISE = f"""
with grouped as materialized (
    select source, level, kind, count(*) as lines, min(logged_at) as first, max(logged_at) as last
    {_MATCHING}
    group by source, level, kind
), kinds as (
    select level, kind, {_SUMS} from grouped group by level, kind order by lines desc, last desc, kind limit $13
)
select 'all' as part, '' as name, coalesce(sum(lines), 0)::bigint as lines, min(first) as first, max(last) as last,
       {_NO_LINE} from grouped
union all (
    select 'source', source, {_SUMS}, {_NO_LINE} from grouped group by source order by lines desc, source limit $13)
union all (
    select 'level', level, {_SUMS}, {_NO_LINE} from grouped group by level order by lines desc, level limit $13)
union all (
    select 'kind', '', kinds.lines, kinds.first, kinds.last, newest.* from kinds cross join lateral (
        select logged_at, source, level, department, scope, message
        {_MATCHING} and logged_at = kinds.last and level = kinds.level and kind = kinds.kind
        order by source, message limit 1
    ) as newest
    order by kinds.lines desc, kinds.last desc
)
"""
"""Everything about the matching lines in one pass over them; the newest line of each kind is looked up by its time."""
_COUNT = f"""
select coalesce(sum(lines), 0)::bigint as total, min(first) as first, max(last) as last
from (select count(*) as lines, min(logged_at) as first, max(logged_at) as last {_MATCHING}) as counted
"""
_PAGE = f"""
select logged_at, source, level, department, scope, message, kind, content_hash, occurrence
{_MATCHING}
  and ($13::timestamptz is null or (logged_at, content_hash, occurrence) < ($13, $14::bigint, $15::integer))
order by logged_at desc, content_hash desc, occurrence desc
"""


async def summarise_logs(tx: Transaction, wanted: LogFilter) -> LogSummary:
    """What the matching lines are: counts, by source, by level, by kind of message."""
    rows = await tx.driver.fetch(SUMMARISE, *filter_arguments(tx, wanted), _MOST_GROUPS)
    whole = next(row for row in rows if row["part"] == "all")
    return LogSummary(
        counts=LogCounts(
            total=whole["lines"],
            first=whole["first"],
            last=whole["last"],
            by_source={row["name"]: row["lines"] for row in rows if row["part"] == "source"},
            by_level={row["name"]: row["lines"] for row in rows if row["part"] == "level"},
        ),
        kinds=tuple(_kind(row) for row in rows if row["part"] == "kind"),
    )


async def count_logs(tx: Transaction, wanted: LogFilter) -> LogCounts:
    """How many lines match, and the first and last time; not by what."""
    row = await tx.driver.fetchrow(_COUNT, *filter_arguments(tx, wanted))
    assert row is not None
    return LogCounts(**dict(row))


async def page_logs(
    tx: Transaction, wanted: LogFilter, *, limit: int, before: LogPosition | None = None
) -> list[StoredLine]:
    """Matching lines, newest first; `before` a place, those behind it."""
    rows = await tx.driver.fetch(f"{_PAGE} limit $16", *_page_arguments(tx, wanted, before), limit)
    return [StoredLine(*row) for row in rows]


async def search_logs(tx: Transaction, wanted: LogFilter, *, limit: int = 100) -> tuple[LogLine, ...]:
    """Matching lines, newest first."""
    return tuple(found.line for found in await page_logs(tx, wanted, limit=limit))


async def read_logs(
    tx: Transaction, wanted: LogFilter, *, size: int, before: LogPosition | None = None
) -> AsyncGenerator[list[StoredLine], None]:
    """Matching lines, newest first, `size` at a time, read from the server as they are taken."""
    await tx.driver.execute("set transaction read only")  # a cursor needs a transaction that has begun
    cursor = await tx.driver.cursor(_PAGE, *_page_arguments(tx, wanted, before))
    while rows := await cursor.fetch(size):
        yield [StoredLine(*row) for row in rows]


def _kind(row: asyncpg.Record) -> LogKind:
    newest = dict(zip(LogLine.model_fields, tuple(row)[5:], strict=True))  # in this order, whatever they are called
    return LogKind(lines=row["lines"], newest=LogLine.model_validate(newest))


def _beginning_of_word(stem: str) -> str:
    """A pattern that finds a piece of text where a word begins."""
    return f"(^|[^[:alnum:]]){re.escape(stem)}"


def _containing(stem: str) -> str:
    """What LIKE calls a text that holds a piece of text."""
    return "%" + _LIKE_SIGNS.sub(r"\\\1", stem) + "%"


def filter_arguments(tx: Transaction, wanted: LogFilter) -> Sequence[Any]:
    """The parameters $1 to $12 of every statement."""
    stems = [_PLURAL.sub("", term.lower()) for term in wanted.terms]
    return (
        *tx.reader,
        list(wanted.departments),
        wanted.since,
        wanted.until,
        list(wanted.levels),
        wanted.source,
        [_beginning_of_word(stem) for stem in stems],
        [_containing(stem) for stem in stems],
        wanted.any_term,
        wanted.contains,
    )


def _page_arguments(tx: Transaction, wanted: LogFilter, before: LogPosition | None) -> Sequence[Any]:
    return (*filter_arguments(tx, wanted), *(before or (None, None, None)))


async def prune_logs(tx: OperatorTransaction, before: datetime) -> int:
    """Remove the lines of all tenants from before `before`, whole months at once; gives back how many."""
    dropped: int = await tx.driver.fetchval("select drop_log_months($1)", before)
    done = await tx.driver.execute("delete from system_logs where logged_at < $1", before)
    return dropped + int(done.rsplit(" ", 1)[1])


async def count_older(tx: OperatorTransaction, before: datetime) -> int:
    """How many lines of all tenants are from before `before`."""
    count: int = await tx.driver.fetchval("select count(*) from system_logs where logged_at < $1", before)
    return count
