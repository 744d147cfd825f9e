"""Reads a question together with pieces of text: a small network over what the bundled model makes of their tokens.

The model's own layers are not trained; what is, are two small blocks of attention over question and piece laid side by
side, which know of every token how near its likest one in the other text is. ``training/reader/pairs.py`` trains them,
numpy reads them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.embedding import ASKED, PIECE, Tokens

Floats = npt.NDArray[np.float32]
KINDS = 3
"""`ASKED`, `CONTEXT`, `PIECE`."""
EXTRA = 6
"""Figures of a token: likeness of the likest token in the other text, whether it stands there; of a question's tokens
the same of the piece itself; rarity, rarity times likeness."""


class PairScores(NamedTuple):
    """What the network makes of a question with each of its pieces."""

    answers: npt.NDArray[np.float64]
    """Shape (pieces,): log probability that the piece answers, among all of them and that none does."""
    says: npt.NDArray[np.float64]
    """Shape (pieces, 3): probabilities that the piece tells neither yes nor no, yes, no."""


class Laid(NamedTuple):
    """Pairs laid end to end, and how near the tokens of each pair are."""

    rows: npt.NDArray[np.intp]
    """Of each token its row among those of all texts, question first."""
    kinds: npt.NDArray[np.uint8]
    extra: Floats
    """Shape (tokens, `EXTRA`)."""
    starts: Sequence[int]
    """Where each pair begins, and behind the last one."""
    nearness: Sequence[Floats]
    """Of each pair, shape (its tokens, its tokens): cosines across the texts, 0 within one."""


def laid(question: Tokens, pieces: Sequence[Tokens], units: Sequence[Floats]) -> Laid:
    """Lay a question beside each piece; `units`: the tokens of the question and of each piece, of length 1."""
    asked, first = len(question.ids), len(question.ids)
    rows, kinds, extra, starts, nearness = [], [], [], [0], []
    for piece, unit in zip(pieces, units[1:], strict=True):
        size = len(piece.ids)
        near = units[0] @ unit.T
        same = (question.ids[:, None] == piece.ids[None]).astype(np.float32)
        own = (piece.kinds == PIECE).astype(np.float32)
        figures = np.zeros((asked + size, EXTRA), np.float32)
        figures[:, 0] = np.concatenate([near.max(axis=1), near.max(axis=0)])
        figures[:, 1] = np.concatenate([same.max(axis=1), same.max(axis=0)])
        figures[:asked, 2] = (near + 2 * (own - 1)).max(axis=1)
        figures[:asked, 3] = (same * own).max(axis=1)
        figures[:, 4] = np.concatenate([question.rarity, piece.rarity])
        figures[:, 5] = figures[:, 0] * figures[:, 4]
        whole = np.zeros((asked + size, asked + size), np.float32)
        whole[:asked, asked:], whole[asked:, :asked] = near, near.T
        rows.append(np.concatenate([np.arange(asked), np.arange(first, first + size)]))
        kinds.append(np.concatenate([question.kinds, piece.kinds]))
        extra.append(figures)
        nearness.append(whole)
        starts.append(starts[-1] + asked + size)
        first += size
    return Laid(np.concatenate(rows), np.concatenate(kinds), np.concatenate(extra), starts, nearness)


def among(odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Log probabilities of pieces by their log odds against that none answers."""
    return np.asarray(odds - np.logaddexp.reduce(np.append(odds, 0.0)))


def units_of(states: Floats) -> Floats:
    """States of tokens made of length 1."""
    return np.asarray(states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12), np.float32)


@dataclass(frozen=True)
class PairNet:
    """The weights by the names that the training gives them, in single precision."""

    arrays: Mapping[str, Floats]
    heads: int = 4

    @property
    def blocks(self) -> int:
        """How many blocks of attention there are."""
        return sum(name.endswith(".qkv.weight") for name in self.arrays)

    def read(self, question: Tokens, pieces: Sequence[Tokens]) -> PairScores:
        """Read a question with each of at least one piece. CPU only, thread-safe."""
        states = np.concatenate([question.states, *(piece.states for piece in pieces)]).astype(np.float32)
        states -= self.arrays["mean"]
        ends = np.cumsum([len(question.ids), *(len(piece.ids) for piece in pieces)])
        units = np.split(units_of(states), ends[:-1])
        pairs = laid(question, pieces, units)
        x = self._linear("inp", states)[pairs.rows] + self._linear("ext", pairs.extra) + self.arrays["seg"][pairs.kinds]
        x = self._norm("ln", x)
        for number in range(self.blocks):
            x = self._block(f"blocks.{number}", x, pairs)
        told = self._pooled(self._norm("lnf", x), pairs)
        answers, says = (self._head(name, told) for name in ("head", "says"))
        chances = np.exp(says - says.max(axis=1, keepdims=True))
        says = (chances / chances.sum(axis=1, keepdims=True)).astype(np.float64)
        return PairScores(among(answers[:, 0].astype(np.float64)), says)

    def _block(self, name: str, x: Floats, pairs: Laid) -> Floats:
        joined = self._linear(f"{name}.qkv", self._norm(f"{name}.n1", x))
        seen = np.empty_like(x)
        for start, end, near in zip(pairs.starts, pairs.starts[1:], pairs.nearness, strict=False):
            seen[start:end] = self._attended(joined[start:end], near, self.arrays[f"{name}.scale"])
        x = x + self._linear(f"{name}.o", seen)
        inner = np.maximum(self._linear(f"{name}.f1", self._norm(f"{name}.n2", x)), 0)
        return x + self._linear(f"{name}.f2", inner)

    def _attended(self, joined: Floats, near: Floats, scale: Floats) -> Floats:
        """Attention of one pair's tokens to each other; each head weighs nearness as it has learnt."""
        size, width = len(joined), joined.shape[1] // 3
        q, k, v = joined.reshape(size, 3, self.heads, width // self.heads).transpose(1, 2, 0, 3)
        odds = q @ k.transpose(0, 2, 1) / np.float32((width // self.heads) ** 0.5) + near * scale[:, None, None]
        weights = np.exp(odds - odds.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        return np.asarray((weights @ v).transpose(1, 0, 2).reshape(size, width))

    def _pooled(self, x: Floats, pairs: Laid) -> Floats:
        """Of each pair a weighted and a plain mean of the question's tokens, then of the piece's."""
        weights = self._linear("pool", x)
        found = []
        for start, end in zip(pairs.starts, pairs.starts[1:], strict=False):
            told = []
            for at, kind in enumerate((ASKED, PIECE)):
                own = np.flatnonzero(pairs.kinds[start:end] == kind) + start
                if not len(own):
                    told += [np.zeros(x.shape[1], np.float32)] * 2
                    continue
                share = np.exp(weights[own, at] - weights[own, at].max())
                told += [share @ x[own] / share.sum(), x[own].mean(axis=0)]
            found.append(np.concatenate(told))
        return np.stack(found)

    def _head(self, name: str, told: Floats) -> Floats:
        return self._linear(f"{name}.3", np.maximum(self._linear(f"{name}.0", told), 0))

    def _linear(self, name: str, x: Floats) -> Floats:
        return np.asarray(x @ self.arrays[f"{name}.weight"].T + self.arrays[f"{name}.bias"])

    def _norm(self, name: str, x: Floats) -> Floats:
        centred = x - x.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5))
        return np.asarray(centred / spread * self.arrays[f"{name}.weight"] + self.arrays[f"{name}.bias"])


@cache
def stored_net() -> PairNet:
    """The network of the package."""
    with np.load(BytesIO(files(__package__).joinpath("pairs.npz").read_bytes())) as held:
        return PairNet({name: held[name].astype(np.float32) for name in held})
