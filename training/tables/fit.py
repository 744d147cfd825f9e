"""Fits the heads over columns and anchors, then the ranker of whole queries."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from training.tables import lexicon as lex
from training.tables import signals as sig
from training.tables.labels import Read
from training.tables.lexicon import ROLES, Lexicon, Numbers
from training.tables.words import lexicon_of

SEEDS = 3
"""Trees are fitted so often, each time with other columns and rows left out."""


class Fitted(NamedTuple):
    """Heads with their trees."""

    heads: sig.Heads
    boosters: dict[str, Any]


def scorer(booster: Any) -> lex.Scorer:
    """A booster as the app uses trees."""
    return lambda rows: np.asarray(booster.predict(rows, raw_score=True))


BOOST = {
    "num_leaves": 12,
    "learning_rate": 0.06,
    "min_data_in_leaf": 15,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "num_threads": 1,
    "verbose": -1,
    "seed": 7,
    "deterministic": True,
    "force_row_wise": True,
}


def fit_heads(reads: Sequence[Read], folds: dict[str, int]) -> Fitted:
    """`folds` of files for inner cross-fitting of the lexicon."""
    lexicon = lexicon_of(reads)
    # columns and anchors are fitted on signals of words that did not see the file
    inner = sorted({folds[r.question.file] for r in reads})
    crossed: list[tuple[Read, Lexicon]] = []
    groups = [inner[i::4] for i in range(4)]
    for group in groups:
        part = lexicon_of([r for r in reads if folds[r.question.file] not in group])
        crossed += [(r, part) for r in reads if folds[r.question.file] in group]
    rows, labels, prepared = [], [], []
    for read, part in crossed:
        names, _, own = sig.column_rows(read.anchors, read.near, part)
        prepared.append((read, part, names, own))
        if read.question.result is not None:
            rows += own
            labels += [[float(role in r) for role in ROLES] for r in read.roles]
    x, y = np.array(rows), np.array(labels)
    boosters = [
        lightgbm.train({**BOOST, "objective": "binary"}, lightgbm.Dataset(x, y[:, k]), 80) for k in range(len(ROLES))
    ]
    rows, labels = [], []
    for read, part, names, own in prepared:
        if read.gold is None or (read.question.result is None):
            continue
        predicted = np.stack([b.predict(np.array(own), raw_score=True) for b in boosters], axis=1)
        for anchor, row in zip(
            read.anchors.all,
            sig.anchor_rows(read.anchors, read.near, part, names, dict(enumerate(predicted))),
            strict=True,
        ):
            if anchor not in read.loose or anchor in read.gold:
                rows.append(row)
                labels.append(float(anchor in read.gold))
    booster = lightgbm.train({**BOOST, "objective": "binary"}, lightgbm.Dataset(np.array(rows), np.array(labels)), 120)
    heads = sig.Heads(lexicon, [scorer(one) for one in boosters], scorer(booster))
    return Fitted(heads, {"anchors": booster, **{f"column{at}": one for at, one in enumerate(boosters)}})


class Averaged(NamedTuple):
    """Trees of several seeds."""

    boosters: Sequence[Any]

    def predict(self, rows: Numbers) -> Numbers:
        """The mean of their scores."""
        return np.asarray(np.mean([one.predict(rows, raw_score=True) for one in self.boosters], axis=0))


def fit_ranker(cases: Sequence[tuple[Numbers, Numbers]], trees: int) -> Averaged:
    """Trees whose softmax over the candidates of a question is the probability of being right; `cases` are their
    figures, and which are right."""
    used = [(figures, right) for figures, right in cases if right.any()]
    x, y = np.concatenate([figures for figures, _ in used]), np.concatenate([right for _, right in used])
    sizes = [len(right) for _, right in used]
    ends = np.cumsum([0, *sizes])
    starts = ends[:-1]
    group = np.repeat(np.arange(len(sizes)), sizes)

    def objective(scores: Numbers, _: Any) -> tuple[Numbers, Numbers]:
        top = np.maximum.reduceat(scores, starts)
        e = np.exp(scores - top[group])
        p = e / np.add.reduceat(e, starts)[group]
        own = p * y
        q = own / np.maximum(np.add.reduceat(own, starts)[group], 1e-12)
        return p - q, np.maximum(p * (1 - p), 1e-4)

    settings = {**BOOST, "objective": objective, "num_leaves": 15, "min_data_in_leaf": 30, "learning_rate": 0.08,
                "min_sum_hessian_in_leaf": 0.5}  # fmt: skip
    return Averaged(
        [lightgbm.train({**settings, "seed": seed}, lightgbm.Dataset(x, y), trees) for seed in range(SEEDS)]
    )
