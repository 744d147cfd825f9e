"""Whether passages say what a statement says: figures of both, weighed by small trees (``training/reader/support.py``).

The figures are exact where figures can be (numbers, values that exclude each other, permissions) and near where words
differ: how like the tokens of the statement the likest ones of the passages are.
"""

import math
from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any

import numpy as np

from app.claims.record import opposes, polarity_of
from app.domain.knowledge import Language
from app.embedding import PIECE, Tokens
from app.embedding.pairs import Floats, units_of
from app.reasoning.local.features import Candidate
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.rivals import claims_of, words_of
from app.reasoning.local.terms import Bag, bag_of
from app.text.language import guess_language, normalise

READ, MOST_READ = 4, 12
"""Pieces that are read with a statement: of one passage, and of all."""
COLUMNS = (
    "covered", "covered_by_one", "pairs", "holds", "concepts", "numbers", "numbers_missing", "numbers_of_one_missing",
    "unit", "excludes", "common", "opposes", "same_polarity", "near", "near_one", "lowest", "gap", "wide_gap", "cosine",
    "rarity", "rarest", "length", "length_one", "language", "title", "asks",
)  # fmt: skip
"""Names of the columns of `measured`."""
_PRIOR, _READ_BEFORE = 8, 0.1
"""Words a piece is taken to have more than it has, so that short ones do not win; what having been read counts."""
_LOW = 0.15
"""Share of a statement's rarer tokens that counts as its least likely ones."""


def nearest(statement: str, candidates: Sequence[Candidate], read: Container[tuple[str, str]] = ()) -> list[Candidate]:
    """The pieces to read with a statement: a few of each passage, those that share most words with it, and those that
    were `read` already before others."""
    said = bag_of(normalise(statement), folded=True).stems
    shared = {id(one): len(said & _bag(one).stems) / (len(_bag(one).stems) + _PRIOR) for one in candidates}
    own: dict[object, int] = {}
    chosen: list[Candidate] = []
    for one in sorted(candidates, key=lambda one: -shared[id(one)] - _READ_BEFORE * (one.read in read)):
        own[one.passage.chunk_id] = own.get(one.passage.chunk_id, 0) + 1
        if own[one.passage.chunk_id] <= READ and len(chosen) < MOST_READ:
            chosen.append(one)
    return chosen


def measured(
    statement: str, mine: Tokens, pieces: Sequence[Candidate], tokens: Mapping[tuple[str, str], Tokens]
) -> tuple[float, ...]:
    """The figures of a statement held against pieces that were read, at least one, in the order of `COLUMNS`."""
    spelt = normalise(statement)
    said, own = bag_of(spelt, folded=True), [_bag(one) for one in pieces]
    near = [_likest(mine, tokens[one.read]) for one in pieces]
    telling, rarity = mine.kinds == PIECE, mine.rarity
    best = max(range(len(pieces)), key=lambda at: float((near[at] * rarity)[telling].sum()))
    piece, all_stems = pieces[best], frozenset[str]().union(*(one.stems for one in own))
    together, rare = np.max(near, axis=0)[telling], rarity[telling]
    gaps = np.sort(rare * (1 - together))[::-1]
    lowest = np.sort(together[rare >= np.median(rare)])
    numbers = [numbers_of(spelt, language) for language in _LANGUAGES]
    texts = {f"{one.passage.title}\n{one.passage.section}\n{one.passage.text}" for one in pieces}
    held = frozenset[Decimal]().union(*(numbers_of(text, language) for text in texts for language in _LANGUAGES))
    near_held = frozenset[Decimal]().union(*(numbers_of(_whole(piece), language) for language in _LANGUAGES))
    return (
        _share(said.stems, all_stems), _share(said.stems, own[best].stems), _share(said.pairs, own[best].pairs),
        _share(bag_of(piece.unit.text, folded=True).stems, said.stems), _share(said.concepts, own[best].concepts),
        float(max(map(len, numbers))), float(min(len(one - held) for one in numbers)),
        float(min(len(one - near_held) for one in numbers)),
        *_values(spelt, piece), *_polarities(spelt, piece),
        float((together * rare).sum() / max(float(rare.sum()), 1e-6)),
        float((near[best][telling] * rare).sum() / max(float(rare.sum()), 1e-6)),
        float(lowest[: max(1, round(_LOW * len(lowest)))].mean()), float(gaps[0]), float(gaps[:3].mean()),
        float(max(mine.vector @ tokens[one.read].vector for one in pieces)),
        float(rare.mean()), float(rare.max()), math.log1p(len(spelt)), math.log1p(len(piece.unit.text)),
        float(guess_language(spelt) == piece.passage.language),
        _share(words_of(spelt), words_of(f"{piece.passage.title} {piece.passage.section}")),
        float(spelt.rstrip().endswith("?")),
    )  # fmt: skip


def by_words(statement: str, pieces: Sequence[Candidate]) -> float:
    """Share of a statement's words that pieces hold, 0–1."""
    stems = bag_of(normalise(statement), folded=True).stems
    held = frozenset[str]().union(*(_bag(one).stems for one in pieces))
    return len(stems & held) / len(stems) if stems else 1.0


_LANGUAGES: tuple[Language, ...] = ("vi", "en")


def _bag(one: Candidate) -> Bag:
    return bag_of(_whole(one), folded=True)


def _whole(one: Candidate) -> str:
    return " ".join((one.unit.text, *one.context))


def _share(of: AbstractSet[Any], among: AbstractSet[Any]) -> float:
    """Share of one set that stands in the other; nan of nothing."""
    return len(of & among) / len(of) if of else math.nan


def _likest(mine: Tokens, theirs: Tokens) -> Floats:
    """Of each token of a statement how like it the likest one of the other text is."""
    left, right = (units_of(one.states.astype(np.float32)) for one in (mine, theirs))
    return np.asarray((left @ right.T).max(axis=1))


def _values(statement: str, piece: Candidate) -> tuple[float, float, float]:
    """Whether both give values of one unit, some exclude each other, and some are common."""
    own = claims_of(statement, "", "en" if guess_language(statement) == "en" else "vi")
    theirs = claims_of(piece.unit.text, piece.passage.section, "en" if piece.passage.language == "en" else "vi")
    pairs = [(a, b) for a in own for b in theirs if a.unit == b.unit]
    excludes, common = any(a.excludes(b) for a, b in pairs), any(a.values & b.values for a, b in pairs)
    return float(bool(pairs)), float(excludes), float(common)


def _polarities(statement: str, piece: Candidate) -> tuple[float, float]:
    one, other = polarity_of(statement), polarity_of(piece.unit.text)
    return float(opposes(one, other)), float(one == other)
