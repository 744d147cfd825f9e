"""Utterances with known kinds, and how near a new one is to them.

The utterances are in ``exemplars.jsonl``; their vectors, and what was
fitted to them, are kept between processes.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args
from zipfile import BadZipFile

import numpy as np

from app.domain.knowledge import Language
from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.embedding.cached import StoredVectors
from app.reasoning.local.chitchat import Talk
from app.reasoning.local.views import Middles, Numbers, Utterances, Views, Weights

Asking = Literal["task", "world", "request"]
TALKS: tuple[Talk, ...] = get_args(Talk)


WEIGHTS = Weights(meaning=1.0, spelling=2.0, manner=0.11)
STIFFNESS = 1.0
"""How little a single exemplar may bend the verdict."""


class KindModel:
    """One regression a kind, over the same views."""

    def __init__(self, views: Views, slopes: Numbers):
        """Use `fit`."""
        self.views, self.slopes = views, slopes

    @classmethod
    def fit(
        cls,
        known: Utterances,
        targets: Numbers,
        groups: Sequence[str],
        *,
        weights: Weights = WEIGHTS,
        stiffness: float = STIFFNESS,
    ) -> "KindModel":
        """Fit on exemplars; about 0.3 s of CPU for 1,300 of them.

        Args:
            known: The exemplars.
            targets: Shape (exemplars, kinds), 1 where an exemplar is of the kind and -1 where not.
            groups: Exemplars of one group share the weight of a group, however many they are.
            weights: What the likenesses weigh; `bench.intent --cross-validate` shows what others would do.
            stiffness: The ridge.
        """
        views, learnt = Views.learn(known, weights)
        rows = learnt.astype(np.float64)
        sizes = {group: groups.count(group) for group in set(groups)}
        slack = np.array([sizes[group] * len(sizes) / len(groups) for group in groups])
        shares = np.linalg.solve(rows @ rows.T + stiffness * np.diag(slack), targets)
        return cls(views, (rows.T @ shares).astype(np.float32))

    def scores(self, text: str, vector: Vectors | None) -> Numbers:
        """About -1 to 1 for each kind; above 0 the utterance is rather of the kind than not."""
        own = vector[None, :] if vector is not None else None
        scores: Numbers = (self.views.of(Utterances((text,), own)) @ self.slopes)[0]
        return scores


@dataclass(frozen=True, slots=True)
class Exemplar:
    """An utterance of a known kind."""

    text: str
    kind: Talk | Asking
    """``task`` asks something of a company, ``world`` something of the world or of the asker's own day; ``request``
    wants what no document can give: music, a taxi."""
    language: Language

    @property
    def talk(self) -> Talk | None:
        """The kind of small talk; None for what is asked."""
        return next((talk for talk in TALKS if talk == self.kind), None)

    @property
    def is_elsewhere(self) -> bool:
        """Whether it belongs to no department."""
        return self.kind in ("world", "request")


@dataclass(frozen=True, slots=True)
class Nearness:
    """How an utterance stands between small talk and questions."""

    margin: float
    """About -1 to 1; above 0 it is rather small talk."""
    talk: Talk
    """The kind of small talk it would be."""


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """The utterances of the package, read once."""
    lines = files(__package__).joinpath("exemplars.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Exemplar(row["text"], row["kind"], row["language"]) for row in rows)


def fitted(
    known: Sequence[Exemplar],
    vectors: Vectors | None,
    *,
    weights: Weights = WEIGHTS,
    stiffness: float = STIFFNESS,
) -> KindModel:
    """A model of the exemplars: its first score is for small talk as such, then one for each of `TALKS`.

    What is asked counts as much as small talk, and one language as much as the other.
    """
    targets = np.array([[exemplar.talk is not None, *(exemplar.talk == talk for talk in TALKS)] for exemplar in known])
    signs: Numbers = np.where(targets, 1.0, -1.0).astype(np.float32)
    groups = [f"{exemplar.language} {exemplar.talk is not None}" for exemplar in known]
    utterances = Utterances([exemplar.text for exemplar in known], vectors)
    return KindModel.fit(utterances, signs, groups, weights=weights, stiffness=stiffness)


def _read_or_fit(folder: Path | None, embedder_model: str, vectors: Vectors | None) -> KindModel:
    """The model an earlier process fitted and left in `folder`, or a new one, left there from now on; blocks, a second
    for a new one. The file is named by all that the model follows from, the files of this room and of `text` too."""
    if folder is None:
        return fitted(exemplars(), vectors)
    digest = hashlib.sha256(f"{embedder_model}\n{WEIGHTS}\n{STIFFNESS}".encode())
    here = Path(__file__).parent
    for path in sorted([*here.iterdir(), *(here.parents[1] / "text").iterdir()]):
        digest.update(path.read_bytes() if path.is_file() else b"")
    path = folder / f"kinds-{digest.hexdigest()[:24]}.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            middles = Middles({"vi": stored["vi"], "en": stored["en"]}) if "vi" in stored else None
            return KindModel(Views(WEIGHTS, stored["rarity"], middles), stored["slopes"])
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        model = fitted(exemplars(), vectors)
    with suppress(OSError):  # where nothing can be written, the next process fits it again
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.stem}.{os.getpid()}.npz")
        arrays: dict[str, Any] = {"slopes": model.slopes, "rarity": model.views.rarity}
        if model.views.middles:
            arrays |= {str(language): mean for language, mean in model.views.middles.means.items()}
        np.savez(draft, **arrays)
        draft.replace(path)
    return model


def read_scores(scores: Numbers) -> Nearness:
    """What the scores of a model made by `fitted` say."""
    return Nearness(float(scores[0]), TALKS[int(np.argmax(scores[1:]))])


class ExemplarBank:
    """How near an utterance is to the exemplars."""

    def __init__(self, embedder: Embedder, kept: StoredVectors):
        """`kept` holds the exemplars' own vectors."""
        self._embedder = embedder
        self._kept = kept
        self._models: dict[bool, KindModel] = {}
        self._middles: Middles | None = None
        self._fitting = asyncio.Lock()

    async def nearness(self, text: str) -> Nearness:
        """Compare a text with the exemplars; embeds the text, and the exemplars the first time ever.

        By spelling and manner alone where there is no vector.
        """
        try:
            model = await self._model(by_meaning=True)
            return read_scores(model.scores(text, (await self._embedder.embed_queries([text]))[0]))
        except EmbeddingUnavailable:
            pass
        return read_scores((await self._model(by_meaning=False)).scores(text, None))

    async def vectors(self) -> Vectors:
        """One row an exemplar."""
        return await self._kept.of([exemplar.text for exemplar in exemplars()])

    async def middles(self) -> Middles:
        """The mean vector of each language. Raises `EmbeddingUnavailable`."""
        if self._middles is None:
            self._middles = Middles.learn(Utterances([exemplar.text for exemplar in exemplars()], await self.vectors()))
        return self._middles

    async def elsewhere(self, *, by_meaning: bool) -> Utterances:
        """What belongs to no department; with vectors `by_meaning`, which raises `EmbeddingUnavailable`."""
        chosen = [exemplar.is_elsewhere for exemplar in exemplars()]
        texts = [exemplar.text for exemplar in exemplars() if exemplar.is_elsewhere]
        return Utterances(texts, (await self.vectors())[np.array(chosen)] if by_meaning else None)

    async def warm(self) -> None:
        """Have the models now instead of at the first question. Raises `EmbeddingUnavailable`."""
        for by_meaning in (False, True):
            await self._model(by_meaning=by_meaning)

    async def _model(self, *, by_meaning: bool) -> KindModel:
        async with self._fitting:
            if by_meaning not in self._models:
                vectors, name = (await self.vectors(), self._embedder.model) if by_meaning else (None, "")
                self._models[by_meaning] = await asyncio.to_thread(_read_or_fit, self._kept.folder, name, vectors)
            return self._models[by_meaning]
