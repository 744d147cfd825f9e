"""`PlainReader`: one logistic regression over words, vectors and places of pieces. Implements `Reader`.

The weights are fitted by ``training/reader/plain.py`` and described in ``docs/reader.md``. All pieces are measured by
words; the most promising are compared with the question by their vectors, too, and only these can be the answer. For a
question without diacritics, and while the model for vectors is away, words alone decide.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from cachetools import LRUCache

from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.reasoning.local.features import (
    MEANING_FEATURES,
    WORD_FEATURES,
    Asked,
    Candidate,
    Numbers,
    candidates_of,
    meaning_features,
    word_features,
)
from app.reasoning.local.terms import bag_of
from app.reasoning.reader import Piece, Reading, ReadRequest

COMPARED = 8
"""Pieces compared by their vectors: a few milliseconds each, none for pieces that were compared before."""
_REMEMBERED = 4_000
_OF_ANOTHER = 0.6
"""The most a reading is sure whose passage lacks a name of the question: it may answer for something else."""
CONFIDENCE_FEATURES = (
    "answer", "lead", "unseen", "passage_share", "names_missing", "similarity", "relevance", "foreign", "cosine",
)  # fmt: skip
"""What the calibration of the whole reading looks at."""


@dataclass(frozen=True)
class Weights:
    """Logistic functions: the constant first, then the features in order; `number` is of a question's vector."""

    words: Numbers
    meaning: Numbers
    confidence: Numbers
    confidence_words: Numbers
    number: Numbers
    sharpness: dict[str, float]
    """How much further two pieces of one question are apart than their odds over all questions say."""
    model: str
    """Of the vectors they were fitted on; those of another mean nothing to them."""
    version: str


@cache
def stored_weights() -> Weights:
    """The weights of the package."""
    held = json.loads(files(__package__).joinpath("plain_reader.json").read_text("utf-8"))
    names = {"words": WORD_FEATURES, "meaning": (*WORD_FEATURES, *MEANING_FEATURES)}
    names |= {"confidence": CONFIDENCE_FEATURES, "confidence_words": CONFIDENCE_FEATURES}
    by_name = {
        key: np.array([held[key][name] for name in ("constant", *features)], dtype=np.float64)
        for key, features in names.items()
    }
    return Weights(
        **by_name,
        number=np.array(held["number"], dtype=np.float64),
        sharpness=held["sharpness"],
        model=held["model"],
        version=held["version"],
    )


def chance(weights: Numbers, features: Numbers) -> Numbers:
    """The logistic function of rows of features, 0–1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(features @ weights[1:] + weights[0], -30, 30))))


@dataclass(frozen=True)
class Measured:
    """The pieces of a request for one part of its question, most likely first."""

    asked: Asked
    candidates: Sequence[Candidate]
    words: Numbers
    """Word features of all pieces, in the candidates' order."""
    compared: bool
    """Whether vectors were there; if so the pieces that were compared come first."""
    answers: Numbers
    cosine: float
    """Of the question and the first piece, scaled; 0 where there were no vectors."""


class PlainReader:
    """Scores pieces without any language model."""

    def __init__(self, embedder: Embedder, weights: Weights | None = None):
        self._embedder = embedder
        self._weights = weights or stored_weights()
        self._vectors: LRUCache[str, Vectors] = LRUCache(_REMEMBERED)

    @property
    def identity(self) -> str:
        """The weights and the model for vectors."""
        return f"plain/{self._weights.version}/{self._embedder.model}"

    async def read(self, request: ReadRequest) -> Reading:
        """The pieces, most likely first; the confidence is of the first."""
        candidates = candidates_of(request.passages)
        if not candidates:
            return Reading(pieces=(), confidence=0.0)
        best: dict[tuple[object, int], Piece] = {}
        sure = []
        for part, text in enumerate(request.parts or (request.question,)):
            measured = await self.measure(request, text, candidates)
            sure.append(self.confidence(measured))
            for candidate, answers in zip(measured.candidates, self._shared(measured, sure[-1]), strict=True):
                unit, key = candidate.unit, (candidate.passage.chunk_id, candidate.unit.start)
                if key not in best or best[key].answers < answers:
                    best[key] = Piece(
                        passage=candidate.passage, start=unit.start, end=unit.end, answers=float(answers), part=part
                    )
        ranked = sorted(best.values(), key=lambda piece: -piece.answers)
        return Reading(pieces=tuple(ranked), confidence=max(sure))

    async def measure(self, request: ReadRequest, text: str, candidates: Sequence[Candidate]) -> Measured:
        """The pieces scored for one part of the question."""
        asked = Asked.of(text, request.language, candidates)
        vector = await self._question_vector(text)
        wants = 0.5 if vector is None else float(chance(self._weights.number, vector[None, :].astype(np.float64))[0])
        words = word_features(asked, candidates, wants, request.department, request.today)
        answers = chance(self._weights.words, words)
        order = np.argsort(-answers, kind="stable")
        chosen = order[:COMPARED]
        pieces = None if vector is None or asked.folded else await self._piece_vectors(candidates, chosen.tolist())
        cosine = 0.0
        if vector is not None and pieces is not None:
            foreign = words[chosen, WORD_FEATURES.index("foreign")]
            meaning = meaning_features(np.asarray(pieces @ vector, dtype=np.float64), foreign)
            near = chance(self._weights.meaning, np.column_stack([words[chosen], meaning]))
            # A piece that was not compared cannot stand before one that was.
            answers = np.minimum(answers, near.min())
            answers[chosen] = near
            order = np.argsort(-answers, kind="stable")
            cosine = float(meaning[near.argmax(), 0])
        ranked = [candidates[at] for at in order]
        return Measured(asked, ranked, words[order], pieces is not None, answers[order], cosine)

    def confidence(self, measured: Measured) -> float:
        """How likely the first piece answers, 0–1."""
        weights = self._weights.confidence if measured.compared else self._weights.confidence_words
        sure = float(chance(weights, confidence_features(measured)[None, :])[0])
        return min(sure, _OF_ANOTHER) if _lacks_a_name(measured) else sure

    def _shared(self, measured: Measured, confidence: float) -> Numbers:
        """The chance that each piece answers: the first's is the confidence, the others' by how far they lie behind."""
        sharpness = self._weights.sharpness["meaning" if measured.compared else "words"]
        behind = odds_of(measured.answers) - odds_of(measured.answers[:1])
        return np.asarray(confidence * np.exp(np.minimum(behind * sharpness, 0.0)))

    async def _question_vector(self, text: str) -> Vectors | None:
        if self._embedder.model != self._weights.model:
            return None
        try:
            return np.asarray((await self._embedder.embed_queries([text]))[0])
        except EmbeddingUnavailable:
            return None

    async def _piece_vectors(self, candidates: Sequence[Candidate], chosen: Sequence[int]) -> Vectors | None:
        texts = [candidates[at].text for at in chosen]
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        try:
            made = await self._embedder.embed_passages(missing) if missing else ()
        except EmbeddingUnavailable:
            return None
        rows = {text: self._vectors[text] for text in texts if text in self._vectors} | dict(
            zip(missing, made, strict=True)
        )
        self._vectors.update({text: rows[text].copy() for text in missing})
        return np.stack([rows[text] for text in texts])


def _lacks_a_name(measured: Measured) -> bool:
    """Whether the passage of the first piece, in the question's language, lacks a name or code of the question."""
    passage, asked = measured.candidates[0].passage, measured.asked
    about = bag_of(f"{passage.title} {passage.section} {passage.text}", asked.folded).stems
    return passage.language == asked.language and any(not name.isdigit() for name in asked.names - about)


def odds_of(chances: Numbers) -> Numbers:
    """The logarithm of the odds."""
    bounded = np.clip(chances, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(bounded / (1 - bounded)))


def confidence_features(measured: Measured) -> Numbers:
    """Shape (`CONFIDENCE_FEATURES`), of the first of at least one piece."""
    asked, best, words = measured.asked, measured.candidates[0], measured.words
    odds = odds_of(measured.answers)
    own = [at for at, one in enumerate(measured.candidates) if one.passage.chunk_id == best.passage.chunk_id]
    column = {name: at for at, name in enumerate(WORD_FEATURES)}
    return np.array([
        odds[0] / 4,
        min(2.0, odds[0] - odds[1]) / 2 if len(odds) > 1 else 1.0,
        asked.unseen,
        words[own, column["near"]].max(),
        words[own, column["names_missing"]].min(),
        best.passage.similarity,
        best.passage.relevance_score,
        words[0, column["foreign"]],
        measured.cosine,
    ])  # fmt: skip
