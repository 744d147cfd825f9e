"""Utterances with known kinds, and how near a new one is to them.

The utterances are in ``exemplars.jsonl``. Their vectors are made once per process and, when a folder is given, kept
there by model and content, so that a restart costs nothing.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from app.domain.knowledge import Language
from app.embedding import Embedder, Vectors
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
    """The vectors of the exemplars."""

    def __init__(self, embedder: Embedder, folder: Path | None = None):
        """`folder` keeps the vectors between processes; it is made when needed."""
        self._embedder = embedder
        self._folder = folder
        self._vectors: Vectors | None = None
        self._making = asyncio.Lock()

    async def nearness(self, text: str) -> Nearness:
        """Compare a text with the exemplars; embeds the text, and the exemplars the first time."""
        own = (await self._embedder.embed_queries([text]))[0]
        cosine = (await self.vectors()) @ own
        is_talk = np.array([exemplar.talk is not None for exemplar in exemplars()])
        talk, task = (np.sort(cosine[mask])[-_NEIGHBOURS:].mean() for mask in (is_talk, ~is_talk))
        nearest = exemplars()[int(np.argmax(np.where(is_talk, cosine, -1.0)))]
        return Nearness(float(talk - task), nearest.talk or "smalltalk")

    async def vectors(self) -> Vectors:
        """One row an exemplar; read from the folder, or embedded (about 10 ms each) and kept."""
        async with self._making:
            if self._vectors is None:
                self._vectors = await asyncio.to_thread(self._read) if self._folder else None
            if self._vectors is None:
                self._vectors = await self._embedder.embed_queries([exemplar.text for exemplar in exemplars()])
                if self._folder:
                    await asyncio.to_thread(self._keep, self._vectors)
            return self._vectors

    @property
    def _path(self) -> Path:
        content = "\n".join(exemplar.text for exemplar in exemplars())
        digest = hashlib.sha256(f"{self._embedder.model}\n{content}".encode()).hexdigest()[:16]
        return (self._folder or Path()) / f"exemplars-{digest}.npy"

    def _read(self) -> Vectors | None:
        try:
            kept: Vectors = np.load(self._path, allow_pickle=False)
        except (OSError, ValueError):
            return None
        return kept if kept.shape == (len(exemplars()), self._embedder.dimensions) else None

    def _keep(self, vectors: Vectors) -> None:
        """Write beside the final name first: another process never reads half a file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(f".{id(self)}.tmp.npy")
        np.save(draft, vectors)
        draft.replace(self._path)
