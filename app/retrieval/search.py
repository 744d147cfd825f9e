"""Finding the passages a person may read that bear on a question."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from cachetools import LRUCache

from app.domain.knowledge import Passage, SearchPlan, SearchResult
from app.domain.language import normalise
from app.domain.principal import Principal
from app.embedding import Embedder, Vectors
from app.retrieval.cache import CacheKey, ResultCache, Rights
from app.retrieval.calibration import Calibration
from app.retrieval.fusion import RANK_CONSTANT, Legs, legs_of
from app.retrieval.text import Question, TermStatistics, read_question, weigh
from app.storage.database import Database, Transaction
from app.storage.search import (
    ChunkQuery,
    DepartmentHit,
    Hit,
    corpus_version,
    count_words,
    search_chunks,
    search_departments,
)

_CANDIDATES = 50
"""Taken from each leg before they are fused."""
_RANKED = 40
"""Fused candidates whose relevance is computed; the best `limit` of them are the result."""
_MAX_QUERY_CHARS = 2_000
"""A longer question is searched by its beginning; the model reads no more anyway."""


@dataclass(frozen=True)
class _Asked:
    """A question as it is searched."""

    text: str
    question: Question
    vector: Vectors
    """One vector, in the space of the stored ones."""
    legs: Legs


@dataclass(frozen=True)
class _Area:
    """Which of the visible documents are searched."""

    departments: tuple[str, ...] | None
    on: date
    with_superseded: bool


class Retriever:
    """Searches one corpus with one embedding model. Safe for concurrent use."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        calibration: Calibration,
        *,
        caching: bool = True,
        cache_ttl_seconds: int = 3600,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
        timer: Callable[[], float] = time.monotonic,
    ):
        """`embedder` should remember question vectors (`CachedEmbedder`): they cost far more than the search."""
        self._database = database
        self._embedder = embedder
        self._calibration = calibration
        self._today = today
        self._results = ResultCache(ttl_seconds=cache_ttl_seconds, timer=timer) if caching else None
        self._statistics: LRUCache[tuple[Rights, int, bool, date], TermStatistics] = LRUCache(64)

    async def search(
        self,
        principal: Principal,
        query: str,
        *,
        departments: tuple[str, ...] | None,
        limit: int = 8,
        as_of: date | None = None,
    ) -> SearchResult:
        """The passages `principal` may read that bear most on `query`, most relevant first.

        `departments` narrows the search (None = all that may be read; one the principal may not read finds nothing).
        Documents in force today are searched; with `as_of` those in force on that day, also if superseded since.
        Raises `EmbeddingUnavailable`.
        """
        started = time.perf_counter()
        asked = (await self._read([query]))[0]
        area = _Area(departments and tuple(sorted(departments)), as_of or self._today(), as_of is not None)
        async with self._database.principal_scope(principal, durable=False) as tx:
            version = await corpus_version(tx)
            key = self._key(principal, version, asked, area, limit)
            if self._results and key and (known := self._results.get(key)):
                return known.model_copy(update={"query": query})
            hits = await search_chunks(tx, await self._chunk_query(tx, version, asked, area, max(_RANKED, limit)))
        result = SearchResult(
            query=query,
            passages=self._best_passages(hits, asked.question, limit),
            plan=self._plan(asked, hits, (time.perf_counter() - started) * 1000),
        )
        if self._results and key:
            self._results.put(key, result)
        return result

    async def probe(
        self, principal: Principal, queries: Sequence[str], *, as_of: date | None = None
    ) -> tuple[dict[str, float], ...]:
        """For each query the best relevance among the visible passages of each department; reads no document text."""
        prepared = await self._read(queries)
        area = _Area(None, as_of or self._today(), as_of is not None)
        found: list[dict[str, float]] = []
        async with self._database.principal_scope(principal, durable=False) as tx:
            version = await corpus_version(tx)
            for asked in prepared:
                wanted = await self._chunk_query(tx, version, asked, area, 2 * _CANDIDATES)
                found.append(self._best(await search_departments(tx, wanted), asked.question))
        return tuple(found)

    async def prepare(self, queries: Sequence[str]) -> None:
        """Embed many questions at once, so that searching for them finds their vectors ready."""
        await self._embedder.embed_queries([normalise(query[:_MAX_QUERY_CHARS]) for query in queries])

    async def _read(self, queries: Sequence[str]) -> list[_Asked]:
        texts = [normalise(query[:_MAX_QUERY_CHARS]) for query in queries]
        questions = [read_question(text) for text in texts]
        raw = await self._embedder.embed_queries(texts)
        vectors = self._calibration.centre_queries(raw, [question.language for question in questions])
        return [_Asked(*one, legs_of(one[1])) for one in zip(texts, questions, vectors, strict=True)]

    def _key(
        self, principal: Principal, version: int | None, asked: _Asked, area: _Area, limit: int
    ) -> CacheKey | None:
        if version is None:
            return None
        return CacheKey(
            rights=Rights.of(principal),
            corpus_version=version,
            space=self._calibration.space,
            query=asked.text,
            departments=area.departments,
            on=area.on,
            with_superseded=area.with_superseded,
            limit=limit,
        )

    async def _chunk_query(
        self, tx: Transaction, version: int | None, asked: _Asked, area: _Area, limit: int
    ) -> ChunkQuery:
        legs = asked.legs
        terms = weigh(asked.question, await self._words(tx, version, folded=legs.is_folded))
        return ChunkQuery(
            vector=asked.vector,
            embedding_model=self._calibration.space,
            terms=[(term.query, weight) for term, weight in terms],
            match=" | ".join(term.query for term, _ in terms if len(term.words) == 1),
            is_folded=legs.is_folded,
            vector_weight=legs.vector,
            text_weight=legs.text,
            rank_constant=RANK_CONSTANT,
            other_language=legs.other_language or "",
            departments=area.departments,
            on=area.on,
            with_superseded=area.with_superseded,
            candidates=_CANDIDATES,
            limit=limit,
        )

    def _plan(self, asked: _Asked, hits: Sequence[Hit], duration_ms: float) -> SearchPlan:
        return SearchPlan(
            strategy="exact",
            embedding_model=self._calibration.space,
            legs=asked.legs.named(),
            unaccented=asked.question.is_unaccented,
            candidates=hits[0].candidates if hits else 0,
            duration_ms=duration_ms,
        )

    async def _words(self, tx: Transaction, version: int | None, *, folded: bool) -> TermStatistics:
        """How common words are among what the principal may read; counted once for each state of the corpus."""
        today = self._today()
        key = (Rights.of(tx.principal), version or 0, folded, today)
        known = self._statistics.get(key) if version is not None else None
        if known is None:
            known = TermStatistics(*await count_words(tx, folded=folded, on=today))
            self._statistics[key] = known
        return known

    def _best_passages(self, hits: Sequence[Hit], question: Question, limit: int) -> tuple[Passage, ...]:
        scored = [(self._relevance(hit, question), hit) for hit in hits]
        scored.sort(key=lambda pair: (-pair[0], -pair[1].fused_score, pair[1].chunk_id))
        return tuple(_passage(hit, relevance) for relevance, hit in scored[:limit])

    def _best(self, hits: Sequence[DepartmentHit], question: Question) -> dict[str, float]:
        best: dict[str, float] = {}
        for hit in hits:
            best[hit.department] = max(best.get(hit.department, 0.0), self._relevance(hit, question))
        return best

    def _relevance(self, hit: Hit | DepartmentHit, question: Question) -> float:
        return self._calibration.relevance(
            hit.similarity,
            hit.coverage,
            same_language=hit.language == question.language,
            unaccented=question.is_unaccented,
        )


def _passage(hit: Hit, relevance: float) -> Passage:
    fields = hit._asdict()
    del fields["coverage"], fields["candidates"]
    return Passage(**fields, relevance_score=relevance)
