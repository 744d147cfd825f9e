"""Finding the passages a person may read that bear on a question."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import TypeVar

from app.domain.knowledge import Passage, SearchPlan, SearchResult, When
from app.domain.principal import Principal
from app.embedding import Embedder, Vectors
from app.retrieval.cache import Area, CacheKey, CorpusView, ResultCache, Rights
from app.retrieval.ranking import (
    RANK_CONSTANT,
    Calibration,
    Legs,
    QuestionAdapter,
    best_first,
    legs_of,
    stored_adapter,
    telling_clauses,
    vector_leg,
)
from app.retrieval.text import Question, read_question, weigh
from app.storage.database import Database, Transaction
from app.storage.search import (
    ChunkQuery,
    DepartmentHit,
    Hit,
    SearchState,
    search_chunks,
    search_departments,
    search_state,
)
from app.text.dates import today_in, zone_named
from app.text.language import normalise

_AnyHit = TypeVar("_AnyHit", Hit, DepartmentHit)

_CANDIDATES = 50
"""Taken from each leg before they are fused."""
_RANKED = 40
"""Fused candidates whose relevance is computed; the best `limit` of them are the result."""
_FEW = 1_000
"""Visible chunks whose words are read: .5 ms. Looked up, they may be made anew for every row (7 ms at 370 rows)."""
_MAX_QUERY_CHARS = 2_000
"""A longer question is searched by its beginning; the model reads no more anyway."""


@dataclass(frozen=True)
class _Asked:
    """A question as it is searched."""

    text: str
    question: Question
    vector: Vectors
    """One vector, in the space of the calibration."""
    legs: Legs
    by_words_alone: bool = False
    """The tenant's vectors lie in another space: they cannot be compared with the question's."""

    def within(self, state: SearchState, space: str) -> "_Asked":
        """The question as it can be asked of a tenant."""
        if state.space == space:
            return self
        return replace(self, by_words_alone=True, legs=Legs(0.0, self.legs.text, None, self.legs.is_folded))


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
        today: Callable[[tzinfo], date] = today_in,
        timer: Callable[[], float] = time.monotonic,
        adapter: QuestionAdapter | None = None,
    ):
        """`embedder` should remember question vectors (`CachedEmbedder`): they cost far more than the search.
        `adapter`: another one than the package's."""
        self._database = database
        self._embedder = embedder
        self._calibration = calibration
        self._adapter = adapter or stored_adapter()
        self._today = today
        self._results = ResultCache(ttl_seconds=cache_ttl_seconds, timer=timer) if caching else None
        self._view = CorpusView()

    async def search(
        self,
        principal: Principal,
        query: str,
        *,
        departments: tuple[str, ...] | None,
        limit: int = 8,
        as_of: date | None = None,
        when: When = "in_force",
    ) -> SearchResult:
        """The passages `principal` may read that bear most on `query`, best first, of those in force today or on
        `as_of` (or of those that `when` names); `departments` narrows the search (None = all). Raises
        `EmbeddingUnavailable`."""
        started = time.perf_counter()
        asked = (await self._read([query]))[0]
        async with self._database.statements_scope(principal, durable=False) as tx:
            state = await search_state(tx, self._calibration.space)
            chosen = departments and tuple(sorted(departments))
            area = Area(chosen, as_of or self._day(state), as_of is not None, when)
            key = self._key(principal, state, asked, area, limit)
            if self._results and key and (known := self._results.get(key)):
                return known.model_copy(update={"query": query})
            asked = asked.within(state, self._calibration.space)
            visible = await self._view.visible(tx, state, area)
            wanted = await self._chunk_query(tx, state, asked, area, visible)
            wanted = wanted._replace(candidates=max(_CANDIDATES, limit), limit=max(_RANKED, limit))
            wanted, hits = (
                await _find(search_chunks, tx, wanted, visible) if visible or when == "in_force" else (wanted, [])
            )
        passages = self._best_passages(hits, asked, limit)
        plan = SearchPlan(
            strategy="ann" if wanted.vector_leg == "ann" else "exact",
            embedding_model=self._calibration.space,
            legs=asked.legs.named(),
            unaccented=asked.question.is_unaccented,
            by_words_alone=asked.by_words_alone,
            visible=visible,
            candidates=hits[0].candidates if hits else 0,
            returned=len(passages),
            duration_ms=(time.perf_counter() - started) * 1000,
        )
        result = SearchResult(query=query, passages=passages, plan=plan)
        if self._results and key:
            self._results.put(key, result)
        return result

    async def probe(
        self, principal: Principal, queries: Sequence[str], *, as_of: date | None = None
    ) -> tuple[dict[str, float], ...]:
        """For each query the best relevance among the visible passages of each department; reads no document text."""
        prepared = await self._read(queries)
        found: list[dict[str, float]] = []
        async with self._database.statements_scope(principal, durable=False) as tx:
            state = await search_state(tx, self._calibration.space)
            area = Area(None, as_of or self._day(state), as_of is not None)
            visible = await self._view.visible(tx, state, area)
            for one in prepared:
                asked = one.within(state, self._calibration.space)
                wanted = await self._chunk_query(tx, state, asked, area, visible)
                _, hits = await _find(search_departments, tx, wanted, visible)
                found.append(self._best(hits, asked))
        return tuple(found)

    async def prepare(self, queries: Sequence[str]) -> None:
        """Embed many questions at once, so that searching for them finds their vectors ready."""
        await self._embedder.embed_queries([normalise(query[:_MAX_QUERY_CHARS]) for query in queries])

    async def _read(self, queries: Sequence[str]) -> list[_Asked]:
        texts = [normalise(query[:_MAX_QUERY_CHARS]) for query in queries]
        questions = [read_question(text) for text in texts]
        raw = await self._embedder.embed_queries(texts)
        centred = self._calibration.centre_queries(raw, [question.language for question in questions])
        vectors = self._adapter.move(centred, self._calibration.space)
        return [_Asked(*one, legs_of(one[1])) for one in zip(texts, questions, vectors, strict=True)]

    def _day(self, state: SearchState) -> date:
        """The day it is for the tenant: rules in force from today are searched from its own midnight on."""
        return self._today(zone_named(state.time_zone))

    def _key(self, principal: Principal, state: SearchState, asked: _Asked, area: Area, limit: int) -> CacheKey | None:
        if state.corpus_version is None:
            return None
        return CacheKey(Rights.of(principal), state.corpus_version, self._calibration.space, asked.text, area, limit)

    async def _chunk_query(
        self, tx: Transaction, state: SearchState, asked: _Asked, area: Area, visible: int
    ) -> ChunkQuery:
        legs = asked.legs
        statistics = await self._view.words(tx, state, self._day(state), folded=legs.is_folded)
        terms = weigh(asked.question, statistics)
        # A tenant with an index of its own for vectors has one for words, too.
        in_shared_lists = visible > _FEW and state.indexed_chunks is None and await self._view.words_are_indexed(tx)
        return ChunkQuery(
            vector=asked.vector,
            embedding_model=self._calibration.space,
            terms=[(term.query, weight) for term, weight in terms],
            clauses=telling_clauses(terms, statistics, visible),
            is_folded=legs.is_folded,
            vector_weight=legs.vector,
            text_weight=legs.text,
            rank_constant=RANK_CONSTANT,
            other_language=legs.other_language or "",
            departments=area.departments,
            on=area.on,
            with_superseded=area.with_superseded,
            candidates=_CANDIDATES,
            limit=2 * _CANDIDATES,
            vector_leg="off" if asked.by_words_alone else vector_leg(visible, state.indexed_chunks, _CANDIDATES),
            word_leg="lookup" if in_shared_lists else "rows",
            when=area.when,
        )

    def _best_passages(self, hits: Sequence[Hit], asked: _Asked, limit: int) -> tuple[Passage, ...]:
        relevances = [self._relevance(hit, asked) for hit in hits]
        order = best_first(hits, relevances, asked.legs)
        return tuple(_passage(hits[at], relevances[at]) for at in order[:limit])

    def _best(self, hits: Sequence[DepartmentHit], asked: _Asked) -> dict[str, float]:
        best: dict[str, float] = {}
        for hit in hits:
            best[hit.department] = max(best.get(hit.department, 0.0), self._relevance(hit, asked))
        return best

    def _relevance(self, hit: Hit | DepartmentHit, asked: _Asked) -> float:
        question = asked.question
        return self._calibration.relevance(
            hit.similarity,
            hit.coverage,
            same_language=hit.language == question.language,
            unaccented=question.is_unaccented,
            by_words_alone=asked.by_words_alone,
        )


async def _find(
    search: Callable[[Transaction, ChunkQuery], Awaitable[list[_AnyHit]]],
    tx: Transaction,
    wanted: ChunkQuery,
    visible: int,
) -> tuple[ChunkQuery, list[_AnyHit]]:
    """What was found, and how. An index walk that ends early is made good by reading every visible chunk."""
    hits = await search(tx, wanted)
    if wanted.vector_leg == "ann" and (hits[0].nearest if hits else 0) < min(wanted.candidates, visible):
        wanted = wanted._replace(vector_leg="exact")
        hits = await search(tx, wanted)
    return wanted, hits


def _passage(hit: Hit, relevance: float) -> Passage:
    fields = hit._asdict()
    del fields["coverage"], fields["candidates"], fields["nearest"]
    return Passage(**fields, relevance_score=relevance)
