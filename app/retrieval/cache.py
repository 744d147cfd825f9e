"""Keep what a search needs again: results of earlier searches, and counts of what a caller sees of the corpus.

Whatever is remembered belongs to exactly one set of rights at one state of the corpus.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple
from uuid import UUID

from cachetools import LRUCache, TTLCache

from app.domain.conflicts import Known
from app.domain.knowledge import SearchResult, When
from app.domain.principal import Principal
from app.retrieval.text import TermStatistics
from app.storage.conflicts import known_contradictions
from app.storage.database import Database, Transaction
from app.storage.search import SearchState, count_visible, count_words, search_state, words_are_indexed
from app.telemetry import count_lookups


@dataclass(frozen=True)
class Rights:
    """Everything about a caller that decides what may be read; two callers with equal rights read the same."""

    tenant_id: UUID
    scopes: frozenset[str]
    departments: frozenset[str]
    roles: frozenset[str]

    @classmethod
    def of(cls, principal: Principal) -> "Rights":
        """The rights of one caller."""
        return cls(principal.tenant_id, principal.scopes, principal.departments, principal.roles)


class Corpus:
    """The documents of every tenant as far as remembering needs to know them: which state they are in."""

    def __init__(self, database: Database, space: str):
        """`space` names the vectors they are searched by: model and centring."""
        self._database = database
        self.space = space

    async def version(self, principal: Principal) -> int | None:
        """The present state of the caller's tenant, read from the database each time: a change is seen by the next
        question in every process. None when the tenant is not registered."""
        async with self._database.statements_scope(principal, durable=False) as tx:
            return (await search_state(tx, self.space)).corpus_version

    async def known(self, who: Principal, chunks: Collection[UUID], today: date, as_of: date | None) -> list[Known]:
        """What documents are known to say otherwise than these chunks, as far as the caller may read them."""
        async with self._database.statements_scope(who, durable=False) as tx:
            return await known_contradictions(tx, chunks, today, as_of)


@dataclass(frozen=True)
class Area:
    """Which of the visible documents are searched."""

    departments: tuple[str, ...] | None
    on: date
    with_superseded: bool
    when: When = "in_force"


@dataclass(frozen=True)
class CacheKey:
    """All a result depends on. Anything new that may change a result must become a field."""

    rights: Rights
    corpus_version: int
    space: str
    """Model and centring of the vectors."""
    query: str
    """Normalised."""
    area: Area
    limit: int


class ResultCache:
    """A bounded store whose entries end after a while, or at once when the corpus changes."""

    def __init__(self, *, ttl_seconds: int, max_entries: int = 2_000, timer: Callable[[], float]):
        """`timer` is a monotonic clock in seconds."""
        self._entries: TTLCache[CacheKey, SearchResult] = TTLCache(max_entries, ttl_seconds, timer)

    def get(self, key: CacheKey) -> SearchResult | None:
        """The result, marked as cached."""
        found = self._entries.get(key)
        count_lookups(found is not None, cache="searches")
        return found and found.model_copy(update={"plan": found.plan.model_copy(update={"cached": True})})

    def put(self, key: CacheKey, result: SearchResult) -> None:
        """Keep a result."""
        self._entries[key] = result


_MOVES_LITTLE = 0.05
"""Share of a large corpus that may come or go before its words are counted again."""
_LARGE = 2_000
"""Chunks from which counting words anew after every change costs more than it tells."""


class _Counted(NamedTuple):
    """Words as they were counted once."""

    version: int
    visible: int
    statistics: TermStatistics


class CorpusView:
    """Remembers counts, each for one set of rights. Safe for concurrent use."""

    def __init__(self) -> None:
        self._visible: LRUCache[tuple[object, ...], dict[str, int]] = LRUCache(256)
        self._words: LRUCache[tuple[Rights, bool, date], _Counted] = LRUCache(64)
        self._words_are_indexed: bool | None = None

    async def visible(self, tx: Transaction, state: SearchState, area: Area) -> int:
        """How many chunks of `area` the caller may see."""
        counts = await self._by_department(tx, state, area.on, area.when, with_superseded=area.with_superseded)
        wanted: Collection[str] = counts if area.departments is None else set(area.departments)
        return sum(count for department, count in counts.items() if department in wanted)

    async def words_are_indexed(self, tx: Transaction) -> bool:
        """Whether words may be looked up; asked once in a process."""
        if self._words_are_indexed is None:
            self._words_are_indexed = await words_are_indexed(tx)
        return self._words_are_indexed

    async def words(self, tx: Transaction, state: SearchState, today: date, *, folded: bool) -> TermStatistics:
        """How common words are among what the caller may read."""
        if state.corpus_version is None:
            return TermStatistics(*await count_words(tx, folded=folded, on=today))
        visible = sum((await self._by_department(tx, state, today, with_superseded=False)).values())
        key = (Rights.of(tx.principal), folded, today)
        known = self._words.get(key)
        if known is None or not _still_holds(known, state.corpus_version, visible):
            statistics = TermStatistics(*await count_words(tx, folded=folded, on=today))
            known = self._words[key] = _Counted(state.corpus_version, visible, statistics)
        return known.statistics

    async def _by_department(
        self, tx: Transaction, state: SearchState, on: date, when: When = "in_force", *, with_superseded: bool
    ) -> dict[str, int]:
        if state.corpus_version is None:
            return await count_visible(tx, state.space, on=on, with_superseded=with_superseded, when=when)
        key = (Rights.of(tx.principal), state.corpus_version, state.space, on, with_superseded, when)
        if (known := self._visible.get(key)) is None:
            known = await count_visible(tx, state.space, on=on, with_superseded=with_superseded, when=when)
            self._visible[key] = known
        return known


def _still_holds(known: _Counted, version: int, visible: int) -> bool:
    if known.version == version:
        return True
    return visible >= _LARGE and abs(visible - known.visible) <= _MOVES_LITTLE * known.visible
