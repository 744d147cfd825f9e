"""Figures of the parts of a question to a table, from what was learnt of others: words, columns, anchors."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.tables.sheet import Column, Sheet
from training.tables.anchors import FEW, Anchor, Anchors
from training.tables.lexicon import (
    ROLES,
    SIGNS,
    STATES,
    Lexicon,
    Likeness,
    Named,
    Numbers,
    Scorer,
    by_vector,
    by_words,
    context_of,
    dotted,
    log_softmax,
    named,
    ngrams_of,
    pair_score,
    states_of,
    words_around,
    words_of,
)


def column_features(
    anchors: Anchors, lexicon: Lexicon, column: Column, how: Named, others: Sequence[Named], pairs: tuple[float, float],
    best_pair: float, cosine: float, cosines: Numbers, operations: Numbers,
) -> list[float]:  # fmt: skip
    """What may tell whether a question is about a column."""
    count = len(column.values)
    different = len(set(column.values))
    taken = {at for one in anchors.values if one.quality > 0.8 for at in one.places}
    first = min(how.places, default=-1)
    spread = float(cosines.std()) or 1.0
    value = max((one.quality * one.spelling for one in anchors.values if one.condition.column is column), default=0.0)
    return [
        how.covered, how.alike, how.heavy, len(how.places),
        how.covered - max((one.covered for one in others), default=0.0),
        len(how.places & taken), first / max(len(anchors.said), 1), *pairs, pairs[0] - best_pair,
        cosine, (cosine - float(cosines.mean())) / spread, cosine - float(cosines.max()),
        float(column.kind == "number"), float(column.kind == "day"), float(column.is_text),
        float(column.kind in ("month", "quarter", "year")), different / max(count, 1), min(different, 50),
        float(any(value is None for value in column.values)), column.at, column.at / len(anchors.sheet.columns),
        value, sum(one.kind == column.kind for one in anchors.sheet.columns), float("%" in column.units), *operations,
        *_by_place(anchors, lexicon, how),
    ]  # fmt: skip


def _by_place(anchors: Anchors, lexicon: Lexicon, how: Named) -> Numbers:
    """What the words around a column's name say of its role."""
    if not how.places:
        return np.full(len(ROLES), np.nan)
    words = words_around("column", [token.key for token in anchors.said], min(how.places), max(how.places))
    count = len(lexicon.contexts)
    return np.asarray(dotted(lexicon.contexts, lexicon.places[:count], words) + lexicon.places[-1])


def anchor_features(
    anchors: Anchors, one: Anchor, signs: Numbers | None, roles: Mapping[int, Numbers], how: Named, cosine: Numbers,
    states: Numbers, lexicon: Lexicon,
) -> list[float]:  # fmt: skip
    """What may tell whether a question states a condition. `signs`: log odds of each sign by the words around."""
    said = anchors.said
    places = sorted(one.places)
    column = one.condition.column
    rivals = [
        other for other in anchors.values
        if other.condition != one.condition and other.places & one.places and other.kind == "value"
    ]  # fmt: skip
    kinds = ("value", "not", "number", "time", "weak", "empty", "filled", "columns")
    rare = [lexicon.rare(said[at]) for at in places]
    gap = min((abs(a - b) for a in how.places for b in places), default=20)
    own = SIGNS.index(one.sign) if signs is not None and one.sign in SIGNS else -1
    other = one.condition.other
    return [
        float(kinds.index(one.kind)), one.quality, one.spelling, len(places), max(rare, default=0.0), sum(rare),
        sum(len(said[at].written) for at in places), float(any(said[at].written[:1].isupper() for at in places if at)),
        float(any(char.isdigit() for at in places for char in said[at].key)),
        max((r.quality * r.spelling for r in rivals), default=0.0), max((len(r.places) for r in rivals), default=0),
        len(one.condition.values), one.mask.mean(), one.mask.sum(), gap, how.covered, how.heavy, *roles[column.at],
        *(roles[other.at] if other is not None else [np.nan] * len(ROLES)), states[STATES.index(one.kind)], *states[:5],
        signs[own] if signs is not None and own >= 0 else np.nan, signs[0] if signs is not None else np.nan,
        signs[own] - signs.max() if signs is not None and own >= 0 else np.nan,
        float(len(column.distinct)), float(column.kind == "number"), *cosine,
        float(other.at if other else -1) >= 0, float(one.sign in (">", ">=")), float(one.sign in ("<", "<=")),
        float(one.sign == "="), float(one.sign == "between"), places[0] / len(said) if places else np.nan,
        _agrees(one, column),
    ]  # fmt: skip


def _agrees(one: Anchor, column: Column) -> float:
    """Where a number lies among those of its column, 0–1; below or above them it is of another column."""
    if one.kind != "number":
        return np.nan
    values = np.array([float(value) for value in column.values if value is not None])  # type: ignore[arg-type]
    limit = float(one.condition.values[0])
    return float((values < limit).mean() + (values <= limit).mean()) / 2


@dataclass(frozen=True)
class Heads:
    """What was learnt of the parts of questions."""

    lexicon: Lexicon
    columns: Sequence[Scorer]
    """One for each of `ROLES`."""
    anchors: Scorer


@dataclass(frozen=True, eq=False)
class Signals:
    """What is known of the parts of a question before whole queries are looked at."""

    anchors: Anchors
    operations: Numbers
    """Log probabilities."""
    names: dict[int, Named]
    roles: dict[int, Numbers]
    """Of each column the log odds of every role."""
    odds: dict[Anchor, float]
    """Log odds that the question states a condition."""
    rare: Numbers
    """How much each word says about this file only."""
    states: Numbers
    """Log odds of each of `STATES`."""
    attributes: Mapping[str, Numbers]
    """Log probabilities of each of `ATTRIBUTES`."""
    near: Likeness
    limits: Mapping[int, float]
    """Of whole numbers of the question the log probability that they are no bound of a condition: “top 3”."""


def texts_of(sheet: Sheet) -> list[str]:
    """What vectors are needed of besides the question."""
    cells = [f"{column.label}: {value}" for column in _few(sheet) for value in column.distinct]
    return list(dict.fromkeys([*(column.label for column in sheet.columns), *cells]))


def likeness_of(sheet: Sheet, question: str, vectors: Mapping[str, npt.NDArray[np.float32]]) -> Likeness:
    """Compare a question with the texts of a sheet; without vectors nothing is like anything."""
    if question not in vectors:
        return Likeness(np.zeros(1), np.full(len(sheet.columns), np.nan), {})
    own = vectors[question].astype(np.float64)
    cells: dict[tuple[int, str], float] = {}
    for column in _few(sheet):
        near = [float(vectors[f"{column.label}: {value}"] @ own) for value in column.distinct]
        cells |= {(column.at, v): one - sum(near) / len(near) for v, one in zip(column.distinct, near, strict=True)}
    return Likeness(own, np.array([float(vectors[c.label] @ own) for c in sheet.columns]), cells)


def _few(sheet: Sheet) -> list[Column]:
    return [column for column in sheet.columns if column.is_text and 1 < len(column.distinct) <= FEW]


def signals_of(anchors: Anchors, near: Likeness, heads: Heads) -> Signals:
    """What the heads say of a question."""
    names, operations, rows = column_rows(anchors, near, heads.lexicon)
    roles = dict(enumerate(np.stack([score(np.array(rows)) for score in heads.columns], axis=1)))
    every = anchors.all
    figures = anchor_rows(anchors, near, heads.lexicon, names, roles)
    odds = heads.anchors(np.array(figures)).tolist() if every else []
    rare = np.array([heads.lexicon.rare(token) for token in anchors.said])
    states = states_of(anchors, near, heads.lexicon)
    attributes = {
        name: log_softmax(by_words(anchors, near, heads.lexicon, weights))
        for name, weights in heads.lexicon.attributes.items()
    }
    stated = dict(zip(every, odds, strict=True))
    return Signals(
        anchors, operations, names, roles, stated, rare, states, attributes, near, limits_of(anchors, heads.lexicon)
    )


def limits_of(anchors: Anchors, lexicon: Lexicon) -> dict[int, float]:
    """How surely each whole number says how many rows are asked for, by the words around it."""
    said, count = [token.key for token in anchors.said], len(lexicon.contexts)
    found: dict[int, float] = {}
    for places, value in anchors.numbers:
        if value == int(value):
            words = words_around("number", said, min(places), max(places))
            logs = log_softmax(dotted(lexicon.contexts, lexicon.signs[:count], words) + lexicon.signs[-1])
            found[int(value)] = float(logs[SIGNS.index("none")])
    return found


def column_rows(
    anchors: Anchors, near: Likeness, lexicon: Lexicon
) -> tuple[dict[int, Named], Numbers, list[list[float]]]:
    """How the question names each column, the operations it may ask for, and the figures of the columns."""
    columns = anchors.sheet.columns
    held = Counter(key for column in columns for key in {token.key for token in words_of(column)})
    weights = {key: 1 / count for key, count in held.items()}
    names = {column.at: named(anchors, column, weights, lexicon) for column in columns}
    pairs = {column.at: pair_score(anchors, column, lexicon) for column in columns}
    count = len(lexicon.ngrams)
    score = dotted(lexicon.ngrams, lexicon.operations[:count], ngrams_of(anchors)) + lexicon.operations[-1]
    operations = log_softmax(score + by_vector(near, lexicon.operations[count:-1]))
    best = max(pair[0] for pair in pairs.values())
    rows = [
        column_features(
            anchors, lexicon, one, names[one.at], [other for at, other in names.items() if at != one.at],
            pairs[one.at], best, near.columns[one.at], near.columns, operations,
        )
        for one in columns
    ]  # fmt: skip
    return names, operations, rows


def anchor_rows(
    anchors: Anchors, near: Likeness, lexicon: Lexicon, names: Mapping[int, Named], roles: Mapping[int, Numbers]
) -> list[list[float]]:
    """The figures of the anchors."""
    count = len(lexicon.contexts)
    signs: dict[tuple[str, frozenset[int]], Numbers] = {}
    states = states_of(anchors, near, lexicon)
    top: dict[int, float] = {}
    for (at, _), value in near.cells.items():
        top[at] = max(top.get(at, value), value)
    rows = []
    for one in anchors.all:
        kind, at = ("value" if one.kind == "not" else one.kind), one.condition.column.at
        if one.places and (kind, one.places) not in signs:
            score = dotted(lexicon.contexts, lexicon.signs[:count], context_of(anchors, one)) + lexicon.signs[-1]
            signs[kind, one.places] = log_softmax(score)
        own = near.cells.get((at, one.condition.values[0]), np.nan) if one.kind == "weak" else np.nan
        cosine = np.array([own, own - top.get(at, np.nan)])
        rows.append(
            anchor_features(anchors, one, signs.get((kind, one.places)), roles, names[at], cosine, states, lexicon)
        )
    return rows
