"""Whose question it is by its look: how densely an agent's exemplars lie around it.

Density, not the nearest exemplar alone, and the mean over an agent's exemplars: an agent with five of them is judged by
the same measure as one with sixty. What belongs to no department at all (the world's knowledge, the asker's own
calendar, requests no document answers) has exemplars of its own and counts for the fallback agent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.embedding import Vectors
from app.reasoning.local.manner import Numbers
from app.reasoning.local.views import Middles, Utterances, Views, Weights

WEIGHTS = Weights(meaning=0.7, spelling=0.3)
_REACH, _SPELT_REACH = 0.09, 0.05
"""How far an exemplar is felt, in likeness; by spelling alone likeness is small."""
_LEAD, _SPELT_LEAD = 0.05, 0.02
"""What belongs nowhere is so varied that its exemplars lie thin."""
_TEMPERATURE = 0.05
"""How a difference in density becomes a share: 0.05 means 2.7 times as likely."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Exemplars that speak for one agent."""

    agent: str
    known: Utterances
    is_elsewhere: bool = False


class Belonging:
    """Which agent questions belong to."""

    def __init__(self, domains: Sequence[Domain], middles: Middles | None):
        """Exemplars of all domains have vectors or none has; `middles` are needed for vectors."""
        texts = [text for domain in domains for text in domain.known.texts]
        rows = [domain.known.vectors for domain in domains if domain.known.vectors is not None]
        vectors = np.concatenate(rows) if rows else None
        self._reach, self._lead = (_REACH, _LEAD) if rows else (_SPELT_REACH, _SPELT_LEAD)
        self._views, learnt = Views.learn(Utterances(texts, vectors), WEIGHTS, middles=middles)
        self._columns = np.ascontiguousarray(learnt.T)
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
