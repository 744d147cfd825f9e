"""`PlainReader`: boosted trees over words, vectors and places of pieces, and a network that reads each together with
the question (`pairs`). Implements `Reader`.

The weights are fitted by ``training/reader`` and described in ``docs/reader.md``. All pieces are measured by words; the
most promising are read together with the question, too, and only these can be the answer. While the bundled model is
away words alone decide.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from app.claims.record import dice_of
from app.domain.knowledge import Passage
from app.embedding import Embedder, EmbeddingUnavailable, TokenReader, Tokens
from app.embedding.pairs import PairScores, stored_net
from app.reasoning.local import support
from app.reasoning.local.answer import SURE
from app.reasoning.local.features import Asked, Candidate, Numbers, candidates_of, features_of, with_cosines
from app.reasoning.local.rivals import BESIDE, RIVAL, RIVALS, figures_of, words_of
from app.reasoning.local.terms import bag_of
from app.reasoning.reader import Piece, Reading, ReadRequest, Says

COMPARED = 16
"""Pieces read together with the question; the model's layers read each of them once, 25 ms of a core."""
_REMEMBERED = 1_000
"""Pieces kept as they were read, 45 kB each."""
_ASKED = 100
"""Questions kept: every department reads the same one."""
SAYS: tuple[Says | None, ...] = (None, "yes", "no")
_SURE_OF_SAYING = 0.9
_LEAF = -1
_OF_ANOTHER = 0.6
"""The most a reading is sure whose passage lacks a name of the question: it may answer for something else."""


@dataclass(frozen=True)
class Trees:
    """Boosted trees laid end to end; of each node its column, its limit, where to go, and what a leaf adds."""

    roots: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    """The column a node looks at; -1 for a leaf."""
    limits: Numbers
    below: npt.NDArray[np.intp]
    """The next node for a figure up to the limit."""
    above: npt.NDArray[np.intp]
    missing_below: npt.NDArray[np.bool_]
    """Whether a figure that is not there counts as one up to the limit."""
    values: Numbers

    @classmethod
    def read(cls, arrays: Mapping[str, Any]) -> "Trees":
        """From arrays under the names of the fields, as a weight file holds them."""
        kinds = {"limits": np.float64, "values": np.float64, "missing_below": np.bool_}
        return cls(**{name: arrays[name].astype(kinds.get(name, np.intp)) for name in cls.__dataclass_fields__})

    def score(self, rows: Numbers) -> Numbers:
        """The sum of the leaves that each row ends in (log odds); figures may be missing (nan)."""
        at = np.tile(self.roots, (len(rows), 1))
        row = np.arange(len(rows))[:, None]
        while (inner := self.columns[at] != _LEAF).any():
            figures = rows[row, np.where(inner, self.columns[at], 0)]
            goes_below = np.where(np.isnan(figures), self.missing_below[at], figures <= self.limits[at])
            at = np.where(inner, np.where(goes_below, self.below[at], self.above[at]), at)
        return np.asarray(self.values[at].sum(axis=1))


@dataclass(frozen=True)
class Weights:
    """What was learnt."""

    trees: Trees
    mix: Numbers
    """Shape (2,): factors of what trees and the reading of pairs make of a piece."""
    with_vectors: Numbers
    """Shape (2,): constant and factor that turn a mixed score into the log odds that the first piece answers."""
    words_alone: Numbers
    """The same for a score by the trees where nothing was read."""
    model: str
    """Of the vectors they were fitted on; those of another mean nothing to them."""
    version: str


@cache
def stored_weights() -> Weights:
    """The weights of the package."""
    with np.load(BytesIO(files(__package__).joinpath("plain_reader.npz").read_bytes())) as held:
        return Weights(
            Trees.read(held), held["mix"], held["with_vectors"], held["words_alone"], str(held["model"]),
            str(held["version"]),
        )  # fmt: skip


@cache
def stored_trees(name: str) -> Trees:
    """The trees of the package that tell another value (`rivals`), or that a statement is supported (`support`)."""
    with np.load(BytesIO(files(__package__).joinpath(f"{name}.npz").read_bytes())) as held:
        return Trees.read(held)


@dataclass(frozen=True)
class Measured:
    """The pieces of a request for one part of its question, most likely first."""

    asked: Asked
    candidates: Sequence[Candidate]
    scores: Numbers
    """Log odds by the trees, falling."""
    compared: bool
    """Whether the bundled model was there; if so the pieces that it read come first."""
    says: Sequence[Says | None]
    """What each piece surely says to a question for yes or no."""
    tokens: Mapping[tuple[str, str], Tokens]
    """Of the pieces that were read together with the question, by `Candidate.read`."""


class PlainReader:
    """Scores pieces without any language model."""

    def __init__(self, embedder: Embedder):
        self._embedder, self._weights, self._net = embedder, stored_weights(), stored_net()
        self._read: LRUCache[tuple[str, str], Tokens] = LRUCache(_REMEMBERED)
        self._asked: LRUCache[str, Tokens] = LRUCache(_ASKED)

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
        for part, text in enumerate(request.parts or (request.question,)):
            measured = await self.measure(request, text, candidates)
            chances = self.chances(measured)
            against = await self._against(measured, chances)
            told = zip(measured.candidates, chances, measured.says, strict=True)
            for at, (candidate, answers, says) in enumerate(told):
                unit, key = candidate.unit, (candidate.passage.chunk_id, candidate.unit.start)
                if key not in best or best[key].answers < answers:
                    best[key] = Piece(
                        passage=candidate.passage, start=unit.start, end=unit.end, answers=float(answers), part=part,
                        says=says, against=against.get(at),
                    )  # fmt: skip
        ranked = sorted(best.values(), key=lambda piece: -piece.answers)
        return Reading(pieces=tuple(ranked), confidence=ranked[0].answers)

    async def _against(self, measured: Measured, answers: Numbers) -> dict[int, Piece]:
        """What pieces of other documents tell another value than, by their place: the first piece, or where that one is
        sure, the piece of its document that is most like them in words, which is read as well."""
        first, found = measured.candidates[0], dict[int, Piece]()
        own = [one for one in measured.candidates if one.passage.document_id == first.passage.document_id]
        rivals = dict([
            (at, one) for at, one in enumerate(measured.candidates)
            if one.read in measured.tokens and one.passage.document_id != first.passage.document_id
            and answers[at] >= RIVAL * answers[0]
        ][:RIVALS])  # fmt: skip
        told = await asyncio.to_thread(_differ, measured.asked, first, [*rivals.values()], measured.tokens)
        for (at, one), differs in zip(rivals.items(), told, strict=True):
            held = first if differs else None
            if not differs and answers[0] >= SURE and answers[at] >= BESIDE * answers[0]:
                near = max(own, key=lambda other: dice_of(words_of(other.unit.text), words_of(one.unit.text)))
                tokens = await self._tokens_of([near.read, one.read])
                held = near if tokens and _differ(measured.asked, near, [one], tokens)[0] else None
            if held:
                found[at] = Piece(passage=held.passage, start=held.unit.start, end=held.unit.end, answers=0.0)
        return found

    async def supports(self, statement: str, passages: Sequence[Passage]) -> Sequence[float]:
        """How likely passages say what a statement says (0–1): together, then each by itself; by the share of its words
        they hold while the bundled model is away."""
        chosen = support.nearest(statement, candidates_of(passages), self._read)
        tokens = await self._tokens_of([("", statement), *(one.read for one in chosen)])
        parts = [chosen, *([one for one in chosen if one.passage is passage] for passage in passages)]
        if tokens is None:
            return [support.by_words(statement, part) for part in parts]
        rows = [support.measured(statement, tokens["", statement], part, tokens) for part in parts if part]
        chances = (
            iter(1 / (1 + np.exp(-stored_trees("support").score(np.array(rows, np.float64))))) if rows else iter(())
        )
        return [float(next(chances)) if part else 0.0 for part in parts]

    async def _tokens_of(self, wanted: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Tokens] | None:
        """The tokens of pieces with what stands above them, kept for the next time; None as `_read_together`."""
        if self._embedder.model != self._weights.model or not isinstance(self._embedder, TokenReader):
            return None
        # Taken before anything is awaited: another reading may push them out of what is kept.
        rows = {piece: self._read[piece] for piece in wanted if piece in self._read}
        missing = [piece for piece in dict.fromkeys(wanted) if piece not in rows]
        try:
            rows |= dict(zip(missing, await self._embedder.read_pieces(missing), strict=True))
        except EmbeddingUnavailable:
            return None
        self._read.update({piece: rows[piece] for piece in missing})
        return rows

    async def measure(self, request: ReadRequest, text: str, candidates: Sequence[Candidate]) -> Measured:
        """The pieces scored for one part of the question."""
        asked = Asked.of(text, request.language, candidates)
        cosines = np.full(len(candidates), np.nan)
        features = features_of(asked, candidates, cosines, request.department, request.today)
        scores = self._weights.trees.score(features)
        chosen = np.argsort(-scores, kind="stable")[:COMPARED]
        says: list[Says | None] = [None] * len(candidates)
        read = await self._read_together(text, [candidates[at] for at in chosen])
        tokens: Mapping[tuple[str, str], Tokens] = {}
        if read is not None:
            cosines[chosen], told, tokens = read
            compared = self._weights.trees.score(with_cosines(features, cosines))[chosen]
            mixed = self._weights.mix @ np.stack([compared, told.answers])
            # A piece that was not compared cannot stand before one that was.
            scores = np.minimum(scores, mixed.min())
            scores[chosen] = mixed
            for at, chances in zip(chosen, told.says, strict=True):
                says[at] = _said(chances)
        order = np.argsort(-scores, kind="stable")
        ranked = [says[at] for at in order]
        return Measured(asked, [candidates[at] for at in order], scores[order], read is not None, ranked, tokens)

    def chances(self, measured: Measured) -> Numbers:
        """How likely each piece answers, 0–1, in the order of the scores."""
        constant, factor = self._weights.with_vectors if measured.compared else self._weights.words_alone
        sure = np.asarray(1 / (1 + np.exp(-np.clip(constant + factor * measured.scores, -30, 30))))
        return sure * min(1.0, _OF_ANOTHER / sure[0]) if _lacks_a_name(measured) else sure

    async def _read_together(
        self, text: str, candidates: Sequence[Candidate]
    ) -> tuple[Numbers, PairScores, Mapping[tuple[str, str], Tokens]] | None:
        """Cosines of question and pieces, what is made of both together, and the pieces' tokens; None where the
        bundled model is not to be had or another one made the vectors."""
        wanted = [one.read for one in candidates]
        rows = await self._tokens_of(wanted)
        if rows is None or not isinstance(self._embedder, TokenReader):
            return None
        try:
            self._asked[text] = question = self._asked.get(text) or await self._embedder.read_question(text)
        except EmbeddingUnavailable:
            return None
        pieces = [rows[piece] for piece in wanted]
        told = await asyncio.to_thread(self._net.read, question, pieces)
        return np.asarray(np.stack([piece.vector for piece in pieces]) @ question.vector, np.float64), told, rows


def _differ(
    asked: Asked, one: Candidate, others: Sequence[Candidate], tokens: Mapping[tuple[str, str], Tokens]
) -> list[bool]:
    """Whether each of the others more likely than not tells another value than the one."""
    rows = figures_of(asked, one, others, tokens)
    return [bool(odds >= 0) for odds in stored_trees("rivals").score(rows)] if others else []


def _said(chances: Numbers) -> Says | None:
    """Whether a piece surely says yes or no to the question."""
    at = int(chances.argmax())
    return SAYS[at] if chances[at] >= _SURE_OF_SAYING else None


def _lacks_a_name(measured: Measured) -> bool:
    """Whether the passage of the first piece, in the question's language, lacks a name or code of the question."""
    passage, asked = measured.candidates[0].passage, measured.asked
    about = bag_of(f"{passage.title} {passage.section} {passage.text}", asked.folded).stems
    return passage.language == asked.language and any(not name.isdigit() for name in asked.names - about)
