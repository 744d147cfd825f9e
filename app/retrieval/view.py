"""What a caller sees of the corpus, as far as a search is planned by it. Counted once for each state of the corpus."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from cachetools import LRUCache

from app.retrieval.cache import Rights
from app.retrieval.text import TermStatistics
from app.storage.database import Transaction
from app.storage.search import SearchState, count_visible, count_words, words_are_indexed

_MOVES_LITTLE = 0.05
"""Share of a large corpus that may come or go before its words are counted again."""
_LARGE = 2_000
"""Chunks from which counting words anew after every change costs more than it tells."""


@dataclass(frozen=True)
class Area:
    """Which of the visible documents are searched."""

    departments: tuple[str, ...] | None
    on: date
    with_superseded: bool


class _Counted(NamedTuple):
    """Words as they were counted once."""

    version: int
    visible: int
    statistics: TermStatistics


class CorpusView:
    """Remembers counts, each for one set of rights. Safe for concurrent use."""

    def __init__(self) -> None:
        self._visible: LRUCache[tuple[Rights, int, str, date, bool], dict[str, int]] = LRUCache(256)
        self._words: LRUCache[tuple[Rights, bool, date], _Counted] = LRUCache(64)
        self._words_are_indexed: bool | None = None

    async def visible(self, tx: Transaction, state: SearchState, area: Area) -> int:
        """How many chunks of `area` the caller may see."""
        counts = await self._by_department(tx, state, area.on, with_superseded=area.with_superseded)
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
        self, tx: Transaction, state: SearchState, on: date, *, with_superseded: bool
    ) -> dict[str, int]:
        if state.corpus_version is None:
            return await count_visible(tx, state.space, on=on, with_superseded=with_superseded)
        key = (Rights.of(tx.principal), state.corpus_version, state.space, on, with_superseded)
        if (known := self._visible.get(key)) is None:
            known = await count_visible(tx, state.space, on=on, with_superseded=with_superseded)
            self._visible[key] = known
        return known


def _still_holds(known: _Counted, version: int, visible: int) -> bool:
    if known.version == version:
        return True
    return visible >= _LARGE and abs(visible - known.visible) <= _MOVES_LITTLE * known.visible
