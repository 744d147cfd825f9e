"""Which agent answers which question: by what the agents are for, and by where the evidence lives."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from cachetools import LRUCache

from app.domain.knowledge import Language
from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.embedding.cached import StoredVectors
from app.reasoning import AgentOffer, Probe
from app.reasoning.local.chitchat import Numbers, means_of, spelling_of, stored_heads, unit
from app.text.language import guess_language

Means = Mapping[Language, Vectors]
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


_MEANING, _SPELLING = 0.7, 0.3
"""What the likenesses weigh; spelling takes over the share of meaning where there are no vectors."""
_COMMON = 0.3
"""Least weight of what stands in every exemplar."""


class Belonging:
    """Which agent questions belong to, by exemplars that speak for each. All of these have vectors, or none has."""

    def __init__(self, owners: Sequence[str], texts: Sequence[str], vectors: Vectors | None, means: Means | None):
        """`owners`: the agent of each text, empty for what belongs nowhere; `means`: see `means_of`, learnt where none
        are given."""
        self._reach, self._lead = (_REACH, _LEAD) if vectors is not None else (_SPELT_REACH, _SPELT_LEAD)
        self._means = (means or means_of(texts, vectors)) if vectors is not None else None
        spelling = spelling_of(texts)
        self._rarity = np.log((len(texts) + 1) / ((spelling > 0).sum(axis=0) + 1)) + _COMMON
        self._columns = np.ascontiguousarray(self._rows(texts, spelling, vectors).T)
        self._owners = np.array(owners)

    def shares(self, text: str, vector: Vectors | None, fallback: str) -> Mapping[str, float]:
        """A share of every agent, summing to 1, with a vector exactly if the exemplars have them; what belongs nowhere
        is the `fallback`'s."""
        row = self._rows([text], spelling_of([text]), vector[None, :] if vector is not None else None)[0]
        told = np.flatnonzero(row)  # most columns are spellings that a question does not have
        felt = np.exp(row[told] @ self._columns[told] / self._reach)
        density: dict[str, float] = {}
        for owner in dict.fromkeys(self._owners.tolist()):
            own = self._reach * float(np.log(felt[self._owners == owner].mean())) + self._lead * (not owner)
            agent = owner or fallback
            density[agent] = max(own, density.get(agent, own))
        top = max(density.values())
        raised = {agent: math.exp((value - top) / _TEMPERATURE) for agent, value in density.items()}
        return {agent: value / sum(raised.values()) for agent, value in raised.items()}

    def _rows(self, texts: Sequence[str], spelling: Numbers, vectors: Vectors | None) -> Numbers:
        """Shape (texts, columns): the inner product of two rows is how like their texts are."""
        share = _SPELLING if self._means else _SPELLING + _MEANING
        views: list[Numbers] = [np.sqrt(share) * unit(spelling * self._rarity)]
        if self._means is not None and vectors is not None:
            middles = np.stack([self._means[guess_language(text)] for text in texts])
            views.append(np.sqrt(_MEANING) * unit(vectors - middles))
        return np.concatenate(views, axis=1).astype(np.float32, copy=False)


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
            [vector] = await self._embedder.embed_queries([query])
        except EmbeddingUnavailable:
            belonging, vector = await self._belonging(agents, by_meaning=False), None
        return belonging.shares(query, vector, _fallback(agents))

    async def _belonging(self, agents: Sequence[AgentOffer], *, by_meaning: bool) -> Belonging:
        key = (by_meaning, *((agent.name, agent.exemplars, agent.description) for agent in agents))
        if (found := self._fitted.get(key)) is not None:
            return found
        texts = [text for agent in agents for text in (*agent.exemplars, agent.description)] + list(elsewhere())
        owners = [agent.name for agent in agents for _ in (*agent.exemplars, agent.description)]
        owners += [""] * (len(texts) - len(owners))
        vectors = np.concatenate([await self._vectors(agent) for agent in agents]) if by_meaning else None
        if vectors is not None:
            vectors = np.concatenate([vectors, await self._kept.of(elsewhere())])
        known = stored_heads()
        means = known.middles if known.model == self._embedder.model else None
        self._fitted[key] = found = await asyncio.to_thread(Belonging, owners, texts, vectors, means)
        return found

    async def _vectors(self, agent: AgentOffer) -> Vectors:
        """Of its exemplars and its description, which a caller may have worded (so that one is not kept)."""
        told = await self._embedder.embed_queries([agent.description])
        return np.concatenate([await self._kept.of(agent.exemplars), told])


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
