"""Boosted trees over the figures of pieces, fitted by LightGBM (extra ``training``)."""

from collections.abc import Sequence
from typing import Any

import lightgbm
import numpy as np

from app.reasoning.local.features import Numbers, with_cosines
from app.reasoning.local.plain_reader import COMPARED, Trees
from training.reader.data import SEED, Example, masses

_SETTINGS = {
    "objective": "binary", "num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 40, "feature_fraction": 0.4,
    "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 10.0, "seed": SEED, "num_threads": 1, "verbose": -1,
    "deterministic": True, "force_row_wise": True,
}  # fmt: skip


def scored(trees: lightgbm.Booster, rows: Sequence[Numbers]) -> list[Numbers]:
    """The score of every piece, by example."""
    told = np.asarray(trees.predict(np.concatenate(rows), raw_score=True))
    return np.split(told, np.cumsum([len(row) for row in rows])[:-1])


def compared(examples: Sequence[Example], trees: lightgbm.Booster) -> tuple[list[Numbers], list[list[int]]]:
    """The features of each example with the cosines of the pieces that words put first, and which these are."""
    found, chosen = [], []
    for one, scores in zip(examples, scored(trees, [one.features for one in examples]), strict=True):
        first = [int(at) for at in np.argsort(-scores, kind="stable")[:COMPARED] if int(at) in one.pieces]
        cosines = np.full(len(one.gold), np.nan)
        cosines[first] = [one.cosine(at) for at in first]
        found.append(with_cosines(one.features, cosines))
        chosen.append(first)
    return found, chosen


def grown(rows: Sequence[Numbers], golds: Sequence[Numbers], mass: Sequence[float], trees: int) -> lightgbm.Booster:
    """Trees that give the odds that a piece answers."""
    weights = np.repeat(mass, [len(gold) for gold in golds])
    data = lightgbm.Dataset(np.concatenate(rows), np.concatenate(golds), weight=weights)
    return lightgbm.train(_SETTINGS, data, trees)


def fit_trees(examples: Sequence[Example], trees: int) -> lightgbm.Booster:
    """First by words alone; then again with the vectors of what words put first."""
    mass, golds = masses(examples), [one.gold for one in examples]
    alone = grown([one.features for one in examples], golds, mass.tolist(), trees // 2)
    rows, chosen = compared(examples, alone)
    near = [(row[at], gold[at]) for row, gold, at in zip(rows, golds, chosen, strict=True)]
    return grown(
        [*(one.features for one in examples), *(row for row, _ in near)],
        [*golds, *(gold for _, gold in near)],
        [*mass / 2, *mass],
        trees,
    )


def trees_of(told: Sequence[dict[str, Any]]) -> Trees:
    """LightGBM's trees as arrays."""
    nodes: dict[str, list[float]] = {name: [] for name in Trees.__dataclass_fields__}

    def add(node: dict[str, Any]) -> int:
        at = len(nodes["values"])
        inner = "split_feature" in node
        for name, value in (
            ("columns", node["split_feature"] if inner else -1), ("limits", node["threshold"] if inner else 0.0),
            ("below", at), ("above", at), ("missing_below", node["default_left"] if inner else False),
            ("values", 0.0 if inner else node["leaf_value"]),
        ):  # fmt: skip
            nodes[name].append(value)
        if inner:
            nodes["below"][at], nodes["above"][at] = add(node["left_child"]), add(node["right_child"])
        return at

    nodes["roots"] = [add(tree["tree_structure"]) for tree in told]
    return Trees.read({name: np.array(values) for name, values in nodes.items()})


def stored(trees: Trees) -> dict[str, Any]:
    """The arrays of a weight file, as narrow as they may be."""
    narrow = {"roots": np.uint16, "columns": np.int8, "below": np.uint16, "above": np.uint16}
    arrays = {name: getattr(trees, name) for name in Trees.__dataclass_fields__}
    return {name: array.astype(narrow.get(name, array.dtype)) for name, array in arrays.items()}
