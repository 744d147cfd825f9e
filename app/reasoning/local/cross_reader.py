"""Scores pieces by reading question and piece together: the trained cross-encoder over the bundled e5-small.

The lower layers are those of the bundled embedder and read question and piece apart, each once; the upper ones, stored
in ``cross_reader.npz`` and trained by ``training/reader/cross.py``, read both together.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from app.embedding import EmbeddingUnavailable
from app.embedding.onnx import _built_once, _session
from app.embedding.tokenizer import Tokenizer, sentencepiece_model
from app.embedding.weights import Weights
from app.reasoning.local.features import Candidate
from app.reasoning.local.pieces import readable
from app.text.language import normalise

Floats = npt.NDArray[np.float32]
QUESTION, CONTEXT, OWN, PADDING = 0, 1, 2, 3
"""Segments of tokens: the question's, those around a piece, the piece's own; nothing."""
_QUESTION_TOKENS, _PIECE_TOKENS = 32, 64
_OWN_TOKENS, _HEAD_TOKENS, _BEFORE_TOKENS = 46, 18, 12


class Encoded(NamedTuple):
    """A text as the lower layers read it: tokens, special ones included, and their segments."""

    ids: list[int]
    segments: list[int]


def encoded_question(tokenizer: Tokenizer, weights: Weights, text: str) -> Encoded:
    """A question, cut to its first tokens."""
    own = tokenizer.ids(f"query: {normalise(text)}")[: _QUESTION_TOKENS - 2]
    ids = [weights.vocabulary.begin, *own, weights.vocabulary.end]
    return Encoded(ids, [QUESTION] * len(ids))


def encoded_piece(tokenizer: Tokenizer, weights: Weights, candidate: Candidate) -> Encoded:
    """A piece between its title and heading, what stands before and what stands after it."""
    unit = candidate.unit
    before, _, after = candidate.near.partition(unit.text)
    heading = unit.heading or candidate.passage.section
    head = " › ".join(part for part in (candidate.passage.title, heading) if part)
    own = tokenizer.ids(normalise(readable(unit)))[:_OWN_TOKENS]
    room = _PIECE_TOKENS - 2 - len(own)
    above = tokenizer.ids(normalise(f"passage: {head}:"))[: min(_HEAD_TOKENS, room)]
    lead = tokenizer.ids(normalise(unit.lead or before))
    lead = lead[max(0, len(lead) - min(_BEFORE_TOKENS, room - len(above))) :]
    below = tokenizer.ids(normalise(after))[: room - len(above) - len(lead)]
    vocabulary = weights.vocabulary
    ids = [vocabulary.begin, *above, *lead, *own, *below, vocabulary.end]
    around = 1 + len(above) + len(lead)
    return Encoded(ids, [CONTEXT] * around + [OWN] * len(own) + [CONTEXT] * (1 + len(below)))


DIGEST = "2f14859990cdc4d7cd3274a7eca4b055518f40b45137314f31791ed69453d0d8"
"""SHA-256 of the weights of the package."""
FAMILY = "conclave-reader"
_REMEMBERED = 2_000
"""Pieces whose lower states are remembered: 40 kB each at most."""
_BUILDER = "app.reasoning.local.cross_graph"
_BUILD_SECONDS = 120
_RECIPE = 1
"""Counts up whenever the builder's models compute something else."""


def stored() -> dict[str, Any]:
    """The trained weights. Raises `EmbeddingUnavailable` where they are away or changed."""
    try:
        with files(__package__).joinpath("cross_reader.npz").open("rb") as file:
            if DIGEST and hashlib.file_digest(file, "sha256").hexdigest() != DIGEST:
                raise EmbeddingUnavailable("the reader's weights are damaged")
            file.seek(0)
            with np.load(file, allow_pickle=False) as held:
                return dict(held)
    except (OSError, ValueError) as error:
        raise EmbeddingUnavailable(f"the reader's weights cannot be read: {error}") from error


class CrossReader:
    """Scores the pieces found for a question; blocks for tens of milliseconds, so call it on a thread. Thread-safe."""

    def __init__(self, lower: Any, upper: Any, weights: Weights, tokenizer: Tokenizer):
        """Use `open`."""
        self._lower, self._upper, self._weights, self._tokenizer = lower, upper, weights, tokenizer
        self._states: LRUCache[tuple[int, ...], Any] = LRUCache(_REMEMBERED)
        self._lock = Lock()

    @classmethod
    def open(cls, folder: Path) -> "CrossReader":
        """Load both halves from `folder`, or build them there. Raises `EmbeddingUnavailable`, `BadWeights`, OSError."""
        weights = Weights()
        family = f"{FAMILY}.{_RECIPE}.{weights.identity}"
        halves = [
            _session(_built_once(folder, f"{family}.{half}.{DIGEST[:8]}", "onnx", partial(_build, half)))
            for half in ("lower", "upper")
        ]
        vocabulary = partial(sentencepiece_model, weights.vocabulary)
        pieces = _built_once(folder, family, "pieces", vocabulary)
        return cls(*halves, weights, Tokenizer(weights, pieces))

    @property
    def identity(self) -> str:
        """The release of the weights."""
        return f"cross/{DIGEST[:8]}"

    def score(self, question: str, candidates: Sequence[Candidate]) -> Floats:
        """One logit a piece: how likely it answers the question."""
        if not candidates:
            return np.empty(0, np.float32)
        asked = encoded_question(self._tokenizer, self._weights, question)
        start = self._run(asked)
        encoded = [encoded_piece(self._tokenizer, self._weights, one) for one in candidates]
        states = [self._remembered(one) for one in encoded]
        longest = len(asked.ids) + max(len(one.ids) for one in encoded)
        rows = np.zeros((len(encoded), longest, self._weights.shape.hidden), np.float32)
        segments = np.full((len(encoded), longest), PADDING, np.int64)
        for at, (one, own) in enumerate(zip(encoded, states, strict=True)):
            end = len(asked.ids) + len(one.ids)
            rows[at, : len(asked.ids)], rows[at, len(asked.ids) : end] = start, own
            segments[at, :end] = asked.segments + one.segments
        (logits,) = self._upper.run(None, {"states": rows, "segments": segments})
        return np.asarray(logits)

    def _remembered(self, text: Encoded) -> Any:
        key = tuple(text.ids)
        with self._lock:
            found = self._states.get(key)
        if found is None:
            found = self._run(text).astype(np.float16)
            with self._lock:
                self._states[key] = found
        return found

    def _run(self, text: Encoded) -> Floats:
        words = self._weights.word_rows(np.array(text.ids))[np.newaxis]
        (states,) = self._lower.run(None, {"words": words})
        return np.asarray(states[0])


def _build(half: str) -> bytes:
    """Build a model in a process of its own, which may need much memory."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", _BUILDER, half], capture_output=True, check=True, timeout=_BUILD_SECONDS,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
    except subprocess.SubprocessError as error:
        raise EmbeddingUnavailable(f"the model cannot be built on this machine: {error}") from error
    return done.stdout
