"""How like utterances are to each other, in meaning and in spelling, each as inner products of rows."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from app.domain.knowledge import Language
from app.embedding import Vectors
from app.text.language import fold, guess_language, normalise

Numbers = npt.NDArray[np.float32]

BUCKETS = 4096
"""Columns into which words, neighbouring words and runs of letters are hashed."""
_LONGEST_REMARK = 300
"""Characters that are looked at: nobody's small talk is longer."""
_RUN_LENGTHS, _RUN_WEIGHT = (3, 4), 0.5
_WORD = re.compile(r"[^\W_]+")


def spelling_of(texts: Sequence[str]) -> Numbers:
    """Shape (texts, `BUCKETS`): how often each word, pair of words and run of letters stands in a text."""
    counted = np.zeros((len(texts), BUCKETS), dtype=np.float32)
    for row, text in zip(counted, texts, strict=True):
        for gram, times in Counter(_grams(text)).items():
            row[zlib.crc32(gram.encode()) % BUCKETS] += times * (_RUN_WEIGHT if gram[0] == "~" else 1.0)
    return counted


def _grams(text: str) -> Iterator[str]:
    words = _WORD.findall(fold(normalise(text[:_LONGEST_REMARK])).lower())
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(["^", *words, "$"]))
    line = f" {' '.join(words)} "
    for length in _RUN_LENGTHS:
        yield from (f"~{line[at : at + length]}" for at in range(len(line) - length + 1))


_COMMON = 0.3
"""Least weight of what stands in every exemplar."""
_FEWEST = 20
"""Texts of a language that tell its mean; fewer are taken with all others."""


MEANING, SPELLING = 0.7, 0.3
"""What the likenesses weigh; spelling takes over the share of meaning where there are no vectors."""


@dataclass(frozen=True, slots=True)
class Utterances:
    """Texts and, if known, their vectors, one row each."""

    texts: Sequence[str]
    vectors: Vectors | None


class Middles:
    """The mean vector of each language, to be taken out: what is left compares across languages."""

    def __init__(self, means: Mapping[Language, Vectors]):
        """Use `learn`."""
        self.means = means

    @classmethod
    def learn(cls, known: Utterances) -> "Middles":
        """Learn them from many texts with vectors."""
        if known.vectors is None:
            raise ValueError("means are learnt from vectors")
        spoken = np.array([guess_language(text) for text in known.texts])
        languages: tuple[Language, ...] = ("vi", "en")
        return cls(
            {
                language: (known.vectors[own] if own.sum() >= _FEWEST else known.vectors).mean(axis=0)
                for language in languages
                for own in [spoken == language]
            }
        )

    def centred(self, texts: Sequence[str], vectors: Vectors) -> Numbers:
        """Unit rows without the mean of their text's language."""
        return unit(vectors - np.stack([self.means[guess_language(text)] for text in texts]))


class Views:
    """Exemplars in numbers, and utterances as rows of the same columns: an inner product of two is their likeness."""

    def __init__(self, known: Utterances, middles: Middles | None = None):
        """Learn the scales of exemplars, and the means unless given."""
        spelling = spelling_of(known.texts)
        self.rarity = np.log((len(known.texts) + 1) / ((spelling > 0).sum(axis=0) + 1)) + _COMMON
        self.middles = (middles or Middles.learn(known)) if known.vectors is not None else None
        self.known = self._rows(known, spelling)

    def of(self, asked: Utterances) -> Numbers:
        """Rows of utterances; with vectors exactly if the exemplars have them."""
        return self._rows(asked, spelling_of(asked.texts))

    def _rows(self, asked: Utterances, counted: Numbers) -> Numbers:
        views: list[Numbers] = [np.sqrt(SPELLING if self.middles else SPELLING + MEANING) * unit(counted * self.rarity)]
        if self.middles is not None and asked.vectors is not None:
            views.append(np.sqrt(MEANING) * self.middles.centred(asked.texts, asked.vectors))
        return np.concatenate(views, axis=1).astype(np.float32, copy=False)


def unit(rows: Numbers) -> Numbers:
    """Rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Numbers = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32, copy=False)
    return scaled
