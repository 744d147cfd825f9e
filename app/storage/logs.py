"""System log lines: storing, counting, finding. They lie by month (`storage.log_lines`)."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from itertools import islice
from typing import Any

import asyncpg

from app.storage.database import Transaction
from app.storage.log_lines import (
    COUNT,
    INSERT,
    PAGE,
    SUMMARISE,
    LogCounts,
    LogFilter,
    LogKind,
    LogLine,
    LogPosition,
    LogSummary,
    StoredLine,
)

_BATCH = 5_000
_MOST_GROUPS = 200
"""Sources, levels and kinds of message that are told apart; what is rarer is only in the total."""
_PLURAL = re.compile(r"(?<=[a-z]{3}[a-rt-z])s$")
_LIKE_SIGNS = re.compile(r"([%_\\])")


async def insert_logs(tx: Transaction, lines: Iterable[LogLine]) -> int:
    """Store lines under the principal's tenant; gives back how many are new. Only an administrator may, or asyncpg
    raises.

    A line that is stored already is left alone. Equal lines of one call (`_BATCH` at a time) are told apart by their
    order, so the same call again stores nothing.
    """
    remaining, stored = iter(lines), 0
    while batch := list(islice(remaining, _BATCH)):
        # From arrays: COPY is not possible on tables with row policies.
        rows = [(line.logged_at, line.source, line.level, line.department, line.scope, line.message) for line in batch]
        columns = [list(column) for column in zip(*rows, strict=True)]
        done = await tx.driver.execute(INSERT, tx.tenant_id, *columns, _occurrences(rows))
        stored += int(done.rsplit(" ", 1)[1])
    return stored


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
    row = await tx.driver.fetchrow(COUNT, *filter_arguments(tx, wanted))
    assert row is not None
    return LogCounts(**dict(row))


async def page_logs(
    tx: Transaction, wanted: LogFilter, *, limit: int, before: LogPosition | None = None
) -> list[StoredLine]:
    """Matching lines, newest first; `before` a place, those behind it."""
    rows = await tx.driver.fetch(f"{PAGE} limit $16", *_page_arguments(tx, wanted, before), limit)
    return [StoredLine(*row) for row in rows]


async def search_logs(tx: Transaction, wanted: LogFilter, *, limit: int = 100) -> tuple[LogLine, ...]:
    """Matching lines, newest first."""
    return tuple(found.line for found in await page_logs(tx, wanted, limit=limit))


async def read_logs(
    tx: Transaction, wanted: LogFilter, *, size: int, before: LogPosition | None = None
) -> AsyncGenerator[list[StoredLine], None]:
    """Matching lines, newest first, `size` at a time, read from the server as they are taken."""
    cursor = await tx.driver.cursor(PAGE, *_page_arguments(tx, wanted, before))
    while rows := await cursor.fetch(size):
        yield [StoredLine(*row) for row in rows]


def _kind(row: asyncpg.Record) -> LogKind:
    newest = dict(zip(LogLine.model_fields, tuple(row)[5:], strict=True))  # in this order, whatever they are called
    return LogKind(lines=row["lines"], newest=LogLine.model_validate(newest))


def _occurrences(rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """For each row how many equal ones came before it."""
    seen: Counter[tuple[Any, ...]] = Counter()
    numbers = []
    for row in rows:
        numbers.append(seen[row])
        seen[row] += 1
    return numbers


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
