"""Utterances with known kinds, and how near a new one is to them.

The utterances are in ``exemplars.jsonl``; their vectors are kept, so that a restart costs nothing.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from app.domain.knowledge import Language
from app.embedding import Embedder, Vectors
from app.embedding.kept import KeptVectors
from app.reasoning.local.chitchat import Talk

_NEIGHBOURS = 3


@dataclass(frozen=True, slots=True)
class Exemplar:
    """An utterance; `talk` is None for a question."""

    text: str
    talk: Talk | None
    language: Language


@dataclass(frozen=True, slots=True)
class Nearness:
    """How an utterance stands between small talk and questions."""

    margin: float
    """Mean cosine to the nearest small talk minus that to the nearest questions; above 0 small talk is nearer."""
    talk: Talk
    """The kind of the small talk that is nearest."""


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """The utterances of the package, read once."""
    lines = files(__package__).joinpath("exemplars.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Exemplar(row["text"], None if row["kind"] == "task" else row["kind"], row["language"]) for row in rows)


class ExemplarBank:
    """How near an utterance is to the exemplars."""

    def __init__(self, embedder: Embedder, kept: KeptVectors):
        """`kept` holds the exemplars' own vectors."""
        self._embedder = embedder
        self._kept = kept

    async def nearness(self, text: str) -> Nearness:
        """Compare a text with the exemplars; embeds the text, and the exemplars the first time ever."""
        own = (await self._embedder.embed_queries([text]))[0]
        cosine = (await self.vectors()) @ own
        is_talk = np.array([exemplar.talk is not None for exemplar in exemplars()])
        talk, task = (np.sort(cosine[mask])[-_NEIGHBOURS:].mean() for mask in (is_talk, ~is_talk))
        nearest = exemplars()[int(np.argmax(np.where(is_talk, cosine, -1.0)))]
        return Nearness(float(talk - task), nearest.talk or "smalltalk")

    async def vectors(self) -> Vectors:
        """One row an exemplar."""
        return await self._kept.of([exemplar.text for exemplar in exemplars()])
