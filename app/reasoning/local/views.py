"""How like utterances are to each other: in meaning, in spelling and in manner, each as inner products of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.knowledge import Language
from app.domain.language import guess_language
from app.embedding import Vectors
from app.reasoning.local.manner import Numbers, cues_of, spelling_of

_COMMON = 0.3
"""Least weight of what stands in every exemplar."""
_FEWEST = 20
"""Texts of a language that tell its mean; fewer are taken with all others."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What the likenesses weigh; spelling takes over the share of meaning where there are no vectors."""

    meaning: float
    spelling: float
    manner: float = 0.0


@dataclass(frozen=True, slots=True)
class Utterances:
    """Texts and, if known, their vectors, one row each."""

    texts: Sequence[str]
    vectors: Vectors | None


class Middles:
    """The mean vector of each language, to be taken out: what is left compares across languages."""

    def __init__(self, known: Utterances):
        """Learn them from many texts with vectors."""
        if known.vectors is None:
            raise ValueError("means are learnt from vectors")
        spoken = np.array([guess_language(text) for text in known.texts])
        languages: tuple[Language, ...] = ("vi", "en")
        self._of: Mapping[Language, Vectors] = {
            language: (known.vectors[own] if own.sum() >= _FEWEST else known.vectors).mean(axis=0)
            for language in languages
            for own in [spoken == language]
        }

    def centred(self, texts: Sequence[str], vectors: Vectors) -> Numbers:
        """Unit rows without the mean of their text's language."""
        return unit(vectors - np.stack([self._of[guess_language(text)] for text in texts]))


class Views:
    """Utterances in numbers, each view scaled so that the inner product of two rows is their likeness."""

    def __init__(self, known: Utterances, weights: Weights, middles: Middles | None = None):
        """Learn the scales from the exemplars; the means too unless given."""
        self._has_meaning = known.vectors is not None
        self._middles = (middles or Middles(known)) if self._has_meaning else None
        self._weights = weights
        counted = spelling_of(known.texts)
        holders = (counted > 0).sum(axis=0)
        self._rarity = np.log((len(known.texts) + 1) / (holders + 1)) + _COMMON
        self.exemplars: Numbers = self._rows(known, counted)

    def of(self, asked: Utterances) -> Numbers:
        """Rows of the same columns; with vectors exactly if the exemplars have them."""
        return self._rows(asked, spelling_of(asked.texts))

    def _rows(self, asked: Utterances, counted: Numbers) -> Numbers:
        weights = self._weights
        spelling = weights.spelling + (0 if self._has_meaning else weights.meaning)
        views: list[Numbers] = [np.sqrt(spelling) * unit(counted * self._rarity)]
        if weights.manner:
            views.append(np.sqrt(weights.manner) * cues_of(asked.texts))
        if self._middles is not None and asked.vectors is not None:
            views.append(np.sqrt(weights.meaning) * self._middles.centred(asked.texts, asked.vectors))
        return np.concatenate(views, axis=1).astype(np.float32, copy=False)


def unit(rows: Numbers) -> Numbers:
    """Rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Numbers = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32, copy=False)
    return scaled
