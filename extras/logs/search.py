"""Log lines by a regular expression: narrowed by SQL, read from the database in batches, matched in a thread.

Bounded by lines and by time; what was not looked through is told. No expression of an asker reaches PostgreSQL.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from app.storage.database import Transaction
from extras.logs.reading import (
    LogCounts,
    LogFilter,
    LogKind,
    LogPosition,
    LogSummary,
    StoredLine,
    count_logs,
    read_logs,
)
from extras.logs.regex import Regex

MAX_LINES = 1_000_000
SECONDS = 8.0
_BATCH = 2_000
_MOST_KINDS, _TOLD_KINDS = 10_000, 200


class Looked(NamedTuple):
    """How far a search got."""

    lines: int
    """Looked through, the newest."""
    of: int
    """Lines there were to look through."""

    @property
    def is_cut(self) -> bool:
        """Whether some were left out."""
        return self.lines < self.of


class FoundLines(NamedTuple):
    """A page of lines that match."""

    lines: list[StoredLine]
    """Newest first."""
    behind: LogPosition | None
    """Where to go on; None at the end."""
    looked_through: int


async def summarise_by_regex(
    tx: Transaction, wanted: LogFilter, regex: Regex, *, until: float
) -> tuple[LogSummary, Looked]:
    """What the lines of `wanted` that match are, as far as there is time until `until` (the event loop's)."""
    tally, examined, is_cut = _Tally(), 0, False
    wanted = wanted.model_copy(update={"contains": regex.literal})
    async with aclosing(_matching(tx, wanted, regex, None, until)) as batches:
        async for batch in batches:
            tally.add(batch.lines)
            examined += batch.looked_through
            is_cut = batch.behind is not None
    total = (await count_logs(tx, wanted)).total if is_cut else examined
    return tally.summary(), Looked(examined, max(total, examined))


async def find_by_regex(
    tx: Transaction, wanted: LogFilter, regex: Regex, *, limit: int, before: LogPosition | None, until: float
) -> FoundLines:
    """The first `limit` lines that match behind `before`; fewer, with a place to go on, when time is up."""
    found: list[StoredLine] = []
    examined, behind = 0, before
    wanted = wanted.model_copy(update={"contains": regex.literal})
    async with aclosing(_matching(tx, wanted, regex, before, until)) as batches:
        async for batch in batches:
            found += batch.lines
            examined += batch.looked_through
            behind = batch.behind
            if len(found) >= limit:
                return FoundLines(found[:limit], found[limit - 1].position, examined)
    return FoundLines(found, behind, examined)


async def _matching(
    tx: Transaction, wanted: LogFilter, regex: Regex, before: LogPosition | None, until: float
) -> AsyncGenerator[FoundLines, None]:
    """Lines that match, batch by batch; the last batch says where to go on, if it was cut."""
    loop, examined = asyncio.get_running_loop(), 0
    async with aclosing(read_logs(tx, wanted, size=_BATCH, before=before)) as batches:
        async for batch in batches:
            found, count = await asyncio.to_thread(_matches, regex, batch, until, loop)
            examined += count
            is_over = count < len(batch) or examined >= MAX_LINES or loop.time() >= until
            yield FoundLines(found, batch[count - 1].position if is_over else None, count)
            if is_over:
                return


def _matches(
    regex: Regex, batch: Sequence[StoredLine], until: float, loop: asyncio.AbstractEventLoop
) -> tuple[list[StoredLine], int]:
    """The lines that match and how many were looked at, at least one; stops when time is up."""
    found = []
    for count, line in enumerate(batch, 1):
        if regex.matches(line.message):
            found.append(line)
        if loop.time() >= until:
            return found, count
    return found, len(batch)


@dataclass
class _Tally:
    """Counts lines that come newest first."""

    newest: StoredLine | None = None
    oldest: StoredLine | None = None
    sources: Counter[str] = field(default_factory=Counter)
    levels: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, int]] = field(default_factory=Counter)
    examples: dict[tuple[str, int], StoredLine] = field(default_factory=dict)
    """The newest line of each kind."""

    def add(self, lines: Sequence[StoredLine]) -> None:
        for line in lines:
            kind = (line.level, line.kind)
            if kind in self.examples or len(self.examples) < _MOST_KINDS:
                self.examples.setdefault(kind, line)
                self.kinds[kind] += 1
            self.sources[line.source] += 1
            self.levels[line.level] += 1
        if lines:
            self.newest, self.oldest = self.newest or lines[0], lines[-1]

    def summary(self) -> LogSummary:
        counts = LogCounts(
            total=self.levels.total(),
            first=self.oldest.logged_at if self.oldest else None,
            last=self.newest.logged_at if self.newest else None,
            by_source=dict(self.sources.most_common(_TOLD_KINDS)),
            by_level=dict(self.levels.most_common(_TOLD_KINDS)),
        )
        most = self.kinds.most_common(_TOLD_KINDS)
        return LogSummary(
            counts=counts, kinds=tuple(LogKind(lines=lines, newest=self.examples[kind].line) for kind, lines in most)
        )
