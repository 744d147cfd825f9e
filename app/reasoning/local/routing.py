"""Which agent answers which question: by what the agents are for, and by where the evidence lives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.language import is_unaccented_vietnamese
from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.embedding.kept import KeptVectors
from app.reasoning import AgentOffer, Probe
from app.reasoning.local.terms import bag_of, coverage, terms_of

_EVIDENCE, _LIKENESS, _WORDS = 0.55, 0.3, 0.15
_TEMPERATURE = 0.03
"""Cosines of e5 lie close together: this spreads the difference between agents over 0–1."""
_PLAUSIBLE, _PLAUSIBLE_SHARE, _PLAUSIBLE_EVIDENCE = 0.15, 0.85, 0.5
"""A second agent is asked when the question is this likely its own and its evidence comes this near the best's."""
_EQUAL_SHARE, _EQUAL_EVIDENCE, _CLEAR_OWNER = 0.95, 0.9, 0.9
"""Or when its documents bear on the question just as much, unless the question is clearly the best agent's own."""
_NO_EVIDENCE = 0.25
_MIN_WORDS = 0.3


@dataclass(frozen=True, slots=True)
class Route:
    """Agents for one query, best first."""

    query: str
    agents: tuple[str, ...]


class Router:
    """Routes queries among offered agents."""

    def __init__(self, embedder: Embedder, kept: KeptVectors):
        """`kept` holds the vectors of the agents' exemplars."""
        self._embedder = embedder
        self._kept = kept

    async def route(self, queries: Sequence[str], agents: Sequence[AgentOffer], probes: Sequence[Probe]) -> list[Route]:
        """One route a query; the fallback agent where nothing points anywhere. Embeds queries (cached) and, once,
        the agents' exemplars."""
        evidence = {probe.query: probe.relevance_by_department for probe in probes}
        likeness = await self._likeness(queries, agents)
        return [
            Route(query, _chosen(query, agents, evidence.get(query, {}), likeness[at]))
            for at, query in enumerate(queries)
        ]

    async def _likeness(self, queries: Sequence[str], agents: Sequence[AgentOffer]) -> list[dict[str, float]]:
        """Softmax over agents of the mean of the best exemplar cosines; empty without embeddings."""
        if len(agents) < 2:
            return [{} for _ in queries]
        try:
            vectors = await self._embedder.embed_queries(queries)
            stored = [await self._exemplars(agent) for agent in agents]
        except EmbeddingUnavailable:
            return [{} for _ in queries]
        return [_softmax({a.name: _nearest(own, v) for a, own in zip(agents, stored, strict=True)}) for v in vectors]

    async def _exemplars(self, agent: AgentOffer) -> Vectors:
        """One row an exemplar, then the description, which a caller may have worded (so it is not kept)."""
        told = await self._embedder.embed_queries([agent.description])
        return np.concatenate([await self._kept.of(agent.exemplars), told])


def _nearest(stored: Vectors, vector: Vectors) -> float:
    cosine = stored @ vector
    return float(0.7 * cosine.max() + 0.3 * np.sort(cosine)[-3:].mean())


def _softmax(values: Mapping[str, float]) -> dict[str, float]:
    top = max(values.values())
    raised = {name: float(np.exp((value - top) / _TEMPERATURE)) for name, value in values.items()}
    total = sum(raised.values())
    return {name: value / total for name, value in raised.items()}


def _chosen(
    query: str, agents: Sequence[AgentOffer], evidence: Mapping[str, float], likeness: Mapping[str, float]
) -> tuple[str, ...]:
    """The best agent, and a second whose documents bear on the query about as much."""
    reading = {agent.name: max((evidence.get(d, 0.0) for d in agent.departments), default=0.0) for agent in agents}
    words = {agent.name: _word_match(query, agent) for agent in agents}
    # Without diacritics vectors say nothing about the subject.
    likely = {} if is_unaccented_vietnamese(query) else likeness
    scores = {
        name: _EVIDENCE * reading[name] + _LIKENESS * likely.get(name, 0.0) + _WORDS * words[name] for name in reading
    }
    fallback = next((agent.name for agent in agents if agent.is_fallback), agents[0].name)
    if max(reading.values()) < _NO_EVIDENCE and max(words.values()) < _MIN_WORDS:
        return (fallback,)
    ranked = sorted(scores, key=lambda name: (-scores[name], name == fallback))
    best, others = ranked[0], ranked[1:]
    second = [name for name in others if _may_know(name, best, reading, likely or words)]
    return (best, *second[:1])


def _may_know(name: str, best: str, reading: Mapping[str, float], likely: Mapping[str, float]) -> bool:
    """Whether another agent's documents may hold the answer, or contradict it."""
    share = reading[name] / max(reading[best], _PLAUSIBLE_EVIDENCE)
    if likely[name] >= _PLAUSIBLE and share >= _PLAUSIBLE_SHARE:
        return True
    equal = share >= _EQUAL_SHARE and reading[name] >= _EQUAL_EVIDENCE
    return equal and likely[best] < _CLEAR_OWNER


def _word_match(query: str, agent: AgentOffer) -> float:
    """Best share of the query's weight that one exemplar or the description mentions."""
    folded = is_unaccented_vietnamese(query)
    terms = terms_of(query, folded)
    weights = [term.weight for term in terms]
    return max(coverage(terms, weights, bag_of(text, folded)) for text in (*agent.exemplars, agent.description))
