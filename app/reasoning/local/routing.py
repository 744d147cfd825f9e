"""Which agent answers which question: by what the agents are for, and by where the evidence lives."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from cachetools import LRUCache

from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.embedding.cached import StoredVectors
from app.reasoning import AgentOffer, Probe
from app.reasoning.local.chitchat import stored_heads
from app.reasoning.local.similarity import Middles, Numbers, Utterances, Views

_REACH, _SPELT_REACH = 0.09, 0.05
"""How far an exemplar is felt, in likeness; by spelling alone likeness is small."""
_LEAD, _SPELT_LEAD = 0.05, 0.02
"""What belongs nowhere is so varied that its exemplars lie thin."""
_TEMPERATURE = 0.05
"""How a difference in density becomes a share: 0.05 means 2.7 times as likely."""


@cache
def elsewhere() -> tuple[str, ...]:
    """Questions and requests that belong to no department: of the world, of the asker's own day."""
    lines = files(__package__).joinpath("elsewhere.jsonl").read_text("utf-8").splitlines()
    return tuple(json.loads(line)["text"] for line in lines)


@dataclass(frozen=True, slots=True)
class Domain:
    """Exemplars that speak for one agent."""

    agent: str
    known: Utterances
    is_elsewhere: bool = False


class Belonging:
    """Which agent questions belong to."""

    def __init__(self, domains: Sequence[Domain], middles: Middles | None = None):
        """Exemplars of all domains have vectors or none has; their own `middles` are taken where none are given."""
        texts = [text for domain in domains for text in domain.known.texts]
        rows = [domain.known.vectors for domain in domains if domain.known.vectors is not None]
        vectors = np.concatenate(rows) if rows else None
        self._reach, self._lead = (_REACH, _LEAD) if rows else (_SPELT_REACH, _SPELT_LEAD)
        self._views = Views(Utterances(texts, vectors), middles)
        self._columns = np.ascontiguousarray(self._views.known.T)
        self._domains = domains
        self._owner = np.repeat(np.arange(len(domains)), [len(domain.known.texts) for domain in domains])

    def shares(self, text: str, vector: Vectors | None) -> Mapping[str, float]:
        """A share of every agent, summing to 1; with a vector exactly if the exemplars have them."""
        row = self._views.of(Utterances((text,), vector[None, :] if vector is not None else None))[0]
        told = np.flatnonzero(row)  # most columns are spellings that a question does not have
        return self._shares(np.exp(row[told] @ self._columns[told] / self._reach))

    def _shares(self, felt: Numbers) -> Mapping[str, float]:
        density: dict[str, float] = {}
        for at, domain in enumerate(self._domains):
            own = self._reach * float(np.log(felt[self._owner == at].mean())) + self._lead * domain.is_elsewhere
            density[domain.agent] = max(own, density.get(domain.agent, own))
        return softmax(density)


def softmax(values: Mapping[str, float]) -> dict[str, float]:
    """Shares that sum to 1."""
    top = max(values.values())
    raised = {name: float(np.exp((value - top) / _TEMPERATURE)) for name, value in values.items()}
    total = sum(raised.values())
    return {name: value / total for name, value in raised.items()}


_EVIDENCE, _BELONGING = 0.8, 1.0
_TELLING, _CERTAIN = 0.7, 0.995
"""Relevance below the limit of what may be answered from tells nothing. Above, it is weighed as log odds: between 0.9
and 0.99 lies as much as between 0.5 and 0.9."""
_NEAR, _FAINT = 0.7, 0.25
"""Share of the best department's relevance from which another one's agent is asked as well, and the least relevance: of
265 questions about invented organisations (training) the department that answers was asked in .94 with it, in .81 with
the one or two agents chosen by their exemplars; 2.3 agents a question."""
_OWNER, _LEADING = 0.9, 0.95
"""Nobody else is asked what is so clearly an agent's own, where its documents bear on it about as much as any."""
_FITTED = 16
"""Sets of agents whose exemplars are kept compared; callers may narrow and describe agents as they like."""


class Router:
    """Routes queries among offered agents."""

    def __init__(self, embedder: Embedder, kept: StoredVectors):
        """`kept` holds the vectors of the agents' exemplars, and of what belongs to no department."""
        self._embedder = embedder
        self._kept = kept
        self._fitted: LRUCache[tuple[object, ...], Belonging] = LRUCache(_FITTED)

    async def route(
        self, queries: Sequence[str], agents: Sequence[AgentOffer], probes: Sequence[Probe]
    ) -> list[tuple[str, ...]]:
        """The agents of each query, best first; the fallback agent where nothing points anywhere."""
        evidence = {probe.query: probe.relevance_by_department for probe in probes}
        return [await self._chosen(query, agents, evidence.get(query, {})) for query in queries]

    async def _chosen(self, query: str, agents: Sequence[AgentOffer], evidence: Mapping[str, float]) -> tuple[str, ...]:
        if len(agents) < 2:
            return (agents[0].name,)
        return _ranked(agents, evidence, await self._shares(query, agents))

    async def _shares(self, query: str, agents: Sequence[AgentOffer]) -> Mapping[str, float]:
        """How likely the question is each agent's own; by spelling alone where vectors would say nothing."""
        try:
            belonging = await self._belonging(agents, by_meaning=True)
            return belonging.shares(query, (await self._embedder.embed_queries([query]))[0])
        except EmbeddingUnavailable:
            pass
        return (await self._belonging(agents, by_meaning=False)).shares(query, None)

    async def _belonging(self, agents: Sequence[AgentOffer], *, by_meaning: bool) -> Belonging:
        key = (by_meaning, *((agent.name, agent.exemplars, agent.description, agent.is_fallback) for agent in agents))
        found = self._fitted.get(key)
        if found is None:
            domains = [Domain(agent.name, await self._exemplars(agent, by_meaning=by_meaning)) for agent in agents]
            texts = elsewhere()
            nowhere = Utterances(texts, await self._kept.of(texts) if by_meaning else None)
            domains.append(Domain(_fallback(agents), nowhere, is_elsewhere=True))
            known = stored_heads()
            middles = Middles(known.middles) if known.model == self._embedder.model else None
            self._fitted[key] = found = await asyncio.to_thread(Belonging, domains, middles)
        return found

    async def _exemplars(self, agent: AgentOffer, *, by_meaning: bool) -> Utterances:
        """The exemplars and the description, which a caller may have worded (so its vector is not kept)."""
        texts = (*agent.exemplars, agent.description)
        if not by_meaning:
            return Utterances(texts, None)
        told = await self._embedder.embed_queries([agent.description])
        return Utterances(texts, np.concatenate([await self._kept.of(agent.exemplars), told]))


def _fallback(agents: Sequence[AgentOffer]) -> str:
    return next((agent.name for agent in agents if agent.is_fallback), agents[0].name)


def _ranked(
    agents: Sequence[AgentOffer], evidence: Mapping[str, float], shares: Mapping[str, float]
) -> tuple[str, ...]:
    """The best agent, and all others whose documents bear on the query nearly as much as any."""
    reading = {agent.name: max((evidence.get(d, 0.0) for d in agent.departments), default=0.0) for agent in agents}
    scores = {
        agent.name: _EVIDENCE * _strength(reading[agent.name]) + _BELONGING * shares[agent.name] for agent in agents
    }
    fallback = _fallback(agents)
    best, *others = sorted(scores, key=lambda name: (-scores[name], name == fallback))
    most = max(reading.values())
    if shares[best] >= _OWNER and reading[best] >= _LEADING * most:
        return (best,)
    return (best, *(name for name in others if reading[name] >= max(_FAINT, _NEAR * most)))


def _strength(relevance: float) -> float:
    """What documents of this relevance say, 0–1."""
    least, most = _log_odds(_TELLING), _log_odds(_CERTAIN)
    return (_log_odds(min(max(relevance, _TELLING), _CERTAIN)) - least) / (most - least)


def _log_odds(chance: float) -> float:
    return math.log(chance / (1 - chance))
