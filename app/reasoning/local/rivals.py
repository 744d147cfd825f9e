"""Whether two pieces of different documents that both answer a question give different values of one thing.

Measured on both, their documents and the tokens the reader has read anyway, and weighed by small trees
(``training/reader/rivals.py``; decision 0033). Which of both holds is not said here.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache

import numpy as np

from app.claims.reading import claims_in
from app.claims.record import Claim, dice_of, overlap_of
from app.claims.sentences import marked_claims
from app.claims.statements import aligned
from app.domain.knowledge import Language, Passage
from app.embedding import PIECE, Tokens
from app.embedding.pairs import units_of
from app.reasoning.local.features import Asked, Candidate, Numbers
from app.text.language import content_words, fold

RIVALS, RIVAL, BESIDE = 6, 0.01, 0.1
"""The most pieces that are held against the first one, and the least share of its probability they need; and need to be
held against what its document says elsewhere."""
COLUMNS = (
    "unit", "excludes", "common", "aligned", "shared", "asked_one", "asked_other", "label", "title", "years",
    "department", "scope", "authority", "language", "alike", "most_alike", "cosine", "length_one", "length_other",
)  # fmt: skip
"""Names of the columns of `measured`."""


def figures_of(
    asked: Asked, first: Candidate, others: Sequence[Candidate], tokens: Mapping[tuple[str, str], Tokens]
) -> Numbers:
    """The figures of each of the others held against the first piece, a row each. CPU only."""
    rows = [measured(asked.text, first, one, tokens[first.read], tokens[one.read]) for one in others]
    return np.array(rows, np.float64)


def measured(question: str, one: Candidate, other: Candidate, mine: Tokens, theirs: Tokens) -> tuple[float, ...]:
    """The figures of a pair, in the order of `COLUMNS`."""
    left, right, asked = words_of(one.unit.text), words_of(other.unit.text), words_of(question)
    here, there = one.passage, other.passage
    alike = _alike(mine, theirs)
    return (
        *_values(one, other),
        aligned(one.unit.text, other.unit.text).ratio,
        dice_of(left, right),
        len(asked & left) / max(1, len(asked)),
        len(asked & right) / max(1, len(asked)),
        overlap_of(words_of(_label(one)), words_of(_label(other))) if _label(one) and _label(other) else math.nan,
        dice_of(words_of(here.title), words_of(there.title)),
        abs((_day(here) - _day(there)).days) / 365,
        float(here.department == there.department),
        float(here.scope == there.scope),
        float(here.authority == there.authority),
        float(here.language == there.language),
        min(alike),
        max(alike),
        float(mine.vector @ theirs.vector),
        math.log1p(len(one.unit.text)),
        math.log1p(len(other.unit.text)),
    )


def _values(one: Candidate, other: Candidate) -> tuple[float, float, float]:
    """Whether both give values of one unit, some exclude each other, and some are common."""
    pairs = [(a, b) for a in _claims(one) for b in _claims(other) if a.unit == b.unit]
    excludes, common = any(a.excludes(b) for a, b in pairs), any(a.values & b.values for a, b in pairs)
    return float(bool(pairs)), float(excludes), float(common)


def _claims(one: Candidate) -> tuple[Claim, ...]:
    return claims_of(one.unit.text, one.passage.section, "en" if one.passage.language == "en" else "vi")


@lru_cache(maxsize=2048)
def claims_of(text: str, section: str, language: Language) -> tuple[Claim, ...]:
    """Every value a text states, and its marks."""
    return (*claims_in(text, section, language), *marked_claims(text, section))


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """Folded content words without figures."""
    return frozenset(fold(word) for word in content_words(text) if not any(map(str.isdigit, word)))


def _label(one: Candidate) -> str:
    """The first cell of a row, what stands before an item's colon; nothing of a sentence."""
    if one.unit.kind == "sentence":
        return ""
    return one.unit.cells[0] if one.unit.kind == "row" and one.unit.cells else one.unit.text.partition(":")[0]


def _day(passage: Passage) -> date:
    return passage.effective_from or passage.created_at.date()


def _alike(mine: Tokens, theirs: Tokens) -> tuple[float, float]:
    """How like the tokens of each piece the likest ones of the other are, weighed by how rare they are."""
    sides = [(text.states[text.kinds == PIECE], text.rarity[text.kinds == PIECE]) for text in (mine, theirs)]
    if not all(len(states) for states, _ in sides):
        return 0.0, 0.0
    (left, mine_rare), (right, their_rare) = sides
    near = units_of(left.astype(np.float32)) @ units_of(right.astype(np.float32)).T
    one = float((near.max(axis=1) * mine_rare).sum() / max(float(mine_rare.sum()), 1e-6))
    return one, float((near.max(axis=0) * their_rare).sum() / max(float(their_rare.sum()), 1e-6))
