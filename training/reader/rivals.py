"""Trees that tell whether two pieces which both answer a question give different values of one thing
(`app.reasoning.local.rivals`).

Learnt on the questions of `bench/companies`: the piece that answers against those of other documents that were read
with it. What an annotator named superseded gives another value; another piece that answers, every other near miss, and
what is only likely by its words, does not.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from app.reasoning.local.features import Asked, Candidate, Numbers, candidates_of
from app.reasoning.local.plain_reader import Trees
from app.reasoning.local.rivals import COLUMNS, measured
from bench.cases import COMPANY
from bench.corpora import read_lines
from training.reader.data import SEED, Example
from training.reader.trees import trees_of

ROUNDS, _OTHERS = 150, 2
"""Trees, and pieces of no label that are taken of each question."""
_SETTINGS = {
    "objective": "binary", "num_leaves": 8, "learning_rate": 0.06, "min_data_in_leaf": 40, "feature_fraction": 0.6,
    "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 5, "verbose": -1, "seed": SEED, "num_threads": 2,
}  # fmt: skip
Misses = dict[tuple[str, str], list[dict[str, Any]]]
"""The near misses of a question by its company and each of its wordings."""


def misses_of(folder: Path) -> Misses:
    """What annotators named as near misses."""
    return {
        (path.parent.name, wording): row["near_misses"]
        for path in sorted(folder.glob("*/questions*.jsonl"))
        for row in read_lines(path)
        for wording in row["wordings"]
    }


def rows_of(examples: Sequence[Example], misses: Misses) -> tuple[Numbers, Numbers]:
    """Figures of pairs, each in both orders, and whether they give different values."""
    chance, rows, labels = random.Random(SEED), list[tuple[float, ...]](), list[bool]()
    for one in examples:
        near = misses.get((one.case.group.removeprefix(COMPANY), one.case.text))
        if one.case.why != "answerable" or near is None:
            continue
        pieces = candidates_of(one.case.passages)
        asked = Asked.of(one.case.text, one.case.language, pieces)
        for first, other, differs in _pairs(one, pieces, near, chance):
            for a, b in ((first, other), (other, first)):
                rows.append(measured(asked.text, pieces[a], pieces[b], one.pieces[a], one.pieces[b]))
                labels.append(differs)
    return np.array(rows, np.float64).reshape(-1, len(COLUMNS)), np.array(labels, np.float64)


def _pairs(
    one: Example, pieces: Sequence[Candidate], near: Sequence[dict[str, Any]], chance: random.Random
) -> Iterator[tuple[int, int, bool]]:
    gold = [int(at) for at in np.flatnonzero(one.gold) if int(at) in one.pieces]
    if not gold:
        return
    document = pieces[gold[0]].passage.document_id
    elsewhere = [at for at in one.pieces if pieces[at].passage.document_id != document]
    yield from ((gold[0], at, False) for at in elsewhere if one.gold[at])
    others = [at for at in elsewhere if not one.gold[at]]
    named = {at: whys for at in others if (whys := {miss["why"] for miss in near if _is(pieces[at], miss)})}
    for at, whys in named.items():
        yield gold[0], at, "superseded" in whys
    unnamed = [at for at in others if at not in named]
    for at in chance.sample(unnamed, min(_OTHERS, len(unnamed))):
        yield gold[0], at, False


def _is(piece: Candidate, miss: dict[str, Any]) -> bool:
    text, quote = piece.unit.text, miss["quote"]
    return piece.passage.external_id == miss["document"] and (quote in text or text in quote)


def fit_rivals(rows: Numbers, labels: Numbers) -> Trees:
    """Fit trees to figures and labels of `rows_of`."""
    booster = lightgbm.train(_SETTINGS, lightgbm.Dataset(rows, labels), ROUNDS)
    return trees_of(booster.dump_model()["tree_info"])
