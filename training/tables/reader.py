"""Rank every query a question may mean, and say the first as a query of the service."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.tables.query import Filter, How, TableQuery
from app.tables.sheet import Column, Sheet
from training.tables.anchors import Anchor, Anchors
from training.tables.candidates import Candidate, conditions_of, shapes_of
from training.tables.lexicon import Likeness, Numbers
from training.tables.ranking import (
    GROUP,
    MEASURE,
    SHOWN,
    ConditionFigures,
    best_role,
    candidate_features,
    chosen_candidates,
)  # fmt: skip
from training.tables.signals import Heads, Signals, signals_of

MOST_CANDIDATES = 200
_LEAST_ODDS, _MOST_ANCHORS = -4.5, 40
_RARE = 0.8
"""From here on a word speaks of one file only."""


@dataclass(frozen=True)
class Ranked:
    """The queries a question may mean, with their figures."""

    signals: Signals
    candidates: Sequence[Candidate]
    features: Numbers


def ranked(anchors: Anchors, near: Likeness, heads: Heads) -> Ranked:
    """The likeliest queries by their parts, not in the order of the ranker yet."""
    signals = signals_of(anchors, near, heads)
    pool = sorted(((odds, one) for one, odds in signals.odds.items() if odds > _LEAST_ODDS), key=lambda pair: -pair[0])
    found = conditions_of(pool[:_MOST_ANCHORS], len(anchors.sheet.kept))
    chosen = chosen_candidates(signals, found, shapes_of(anchors), MOST_CANDIDATES)
    figures = ConditionFigures(signals)
    best = best_role(signals, MEASURE), best_role(signals, GROUP)
    rows = [candidate_features(signals, figures, one, *best) for one in chosen]
    return Ranked(signals, chosen, np.array(rows))


def trust_features(features: Numbers, scores: Numbers) -> Numbers:
    """What may tell whether the first candidate is right."""
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    order = np.argsort(-scores, kind="stable")
    first = order[0]
    second = chances[order[1]] if len(order) > 1 else 0.0
    entropy = -(chances * np.log(chances + 1e-9)).sum()
    return np.array(
        [chances[first], chances[first] - second, scores[first], entropy, scores[order[:5]].mean(), len(scores),
         *features[first]]
    )  # fmt: skip


def query_of(one: Candidate, signals: Signals) -> TableQuery:
    """A candidate as a query with what is shown besides."""
    shape, sheet = one.shape, signals.anchors.sheet
    sides = tuple(anchor.condition for anchor in one.sides)
    filters = _filters([anchor for anchor in one.conditions.anchors if anchor not in one.sides])
    measure = (shape.measure,) if shape.measure is not None else ()
    label = _row_name(sheet)
    if shape.how == "difference" and shape.of == "average":
        return TableQuery("average", measure, filters, sides[0].column, sides=sides)
    if shape.how == "share" and len(sides) > 1:
        filters, sides = (*filters, *sides[1:]), sides[:1]
    if shape.how == "distinct":
        return TableQuery("distinct", (), filters, label=shape.group)
    if shape.how in ("share", "difference"):
        return TableQuery(_how(shape.how), measure, filters, sides=sides)
    shown = tuple(
        column for column in sheet.columns
        if signals.roles[column.at][SHOWN] > 0 or signals.names[column.at].covered > _RARE
    )  # fmt: skip
    return TableQuery(
        _how(shape.how), measure, filters, shape.group, shape.grain, "most" if shape.order == "most" else
        "least" if shape.order else "", shape.limit, label=label if shape.how == "rows" else None, shown=shown,
    )  # fmt: skip


def _how(name: str) -> How:
    names: dict[str, How] = {
        "rows": "rows", "count": "count", "sum": "sum", "average": "average", "share": "share",
        "difference": "difference",
    }  # fmt: skip
    return names[name]


def _filters(anchors: Sequence[Anchor]) -> tuple[Filter, ...]:
    """The conditions; several values or times of one column as one."""
    found: dict[tuple[int, str, int], list[Anchor]] = {}
    for number, one in enumerate(anchors):
        joins = one.sign in ("in", "between") and one.kind != "number"
        found.setdefault((one.condition.column.at, one.sign, -1 if joins else number), []).append(one)
    return tuple(_joined(group) for group in found.values())


def _joined(group: Sequence[Anchor]) -> Filter:
    first = group[0].condition
    if first.sign in ("filled", "some"):
        kept = [value for value, held in zip(first.column.values, group[0].mask, strict=True) if held]
        return Filter(first.column, "in", tuple(dict.fromkeys(str(value) for value in kept)))
    if len(group) == 1:
        return first
    said = ", ".join(one.condition.said for one in group if one.condition.said)
    if first.sign == "in":
        values = dict.fromkeys(value for one in group for value in one.condition.values)
    else:
        mask = np.logical_or.reduce([one.mask for one in group])
        cells = [value for value, held in zip(first.column.values, mask, strict=True) if held]
        values = dict.fromkeys(str(value) for value in cells)
    return Filter(first.column, "in", tuple(values), said=said)


def _row_name(sheet: Sheet) -> Column | None:
    """What names a row: a text of its own in every row, words before codes."""
    texts = [column for column in sheet.columns if column.is_text]
    unique = [column for column in texts if column.is_unique]
    wordy = [column for column in unique if not any(char.isdigit() for value in column.distinct[:9] for char in value)]
    return next(iter([*wordy, *unique, *texts]), None)
