"""Moves the vectors of questions nearer to passages that answer them. Those of passages stay as they are, so nothing
is embedded again. ``training/reader/questions.py`` fits it, `docs/decisions/0032-question-adapter.md` says what it
brings."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np

from app.embedding import Vectors


@dataclass(frozen=True)
class QuestionAdapter:
    """A linear step for the vectors of one space."""

    space: str
    """`Calibration.space` of the vectors it was fitted on; it knows nothing of others."""
    turn: Vectors
    """Shape (dimensions, dimensions)."""
    shift: Vectors
    """Shape (dimensions,)."""

    def move(self, questions: Vectors, space: str) -> Vectors:
        """Questions, shape (questions, dimensions), moved and made of length 1; those of another space stay."""
        if space != self.space or not len(questions):
            return questions
        moved = questions + questions @ self.turn.T + self.shift
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


@cache
def stored_adapter() -> QuestionAdapter:
    """The adapter of the package."""
    return read_adapter(files(__package__).joinpath("adapter.npz").read_bytes())


def read_adapter(content: bytes) -> QuestionAdapter:
    """An adapter from its file."""
    with np.load(BytesIO(content)) as held:
        turn, shift = (held[name].astype(np.float32) for name in ("turn", "shift"))
        return QuestionAdapter(str(held["space"]), turn, shift)
