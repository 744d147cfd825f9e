"""Trees as they are read say what LightGBM says; a fit goes through from cases to a weight file."""

import argparse
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from rich.console import Console

from app.reasoning.local.features import FEATURES
from app.reasoning.local.plain_reader import Trees
from bench.cases import Case
from training.reader import plain


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    chance = np.random.default_rng(7)
    rows = chance.normal(size=(1500, 6))
    rows[chance.random(rows.shape) < 0.15] = np.nan
    return rows


def test_score_as_the_library_that_fitted_them(rows: np.ndarray) -> None:
    labels = (np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 3]) * np.isnan(rows[:, 1]) > 0.2).astype(float)
    fitted = plain.grown([rows], [labels], [1.0], 30)
    trees = plain.trees_of(fitted.dump_model()["tree_info"])
    assert trees.score(rows) == pytest.approx(fitted.predict(rows, raw_score=True))
    assert trees.score(rows[:0]).shape == (0,)


def test_a_single_leaf_is_a_constant() -> None:
    trees = plain.trees_of([{"tree_structure": {"leaf_value": 0.25}}] * 2)
    assert trees.score(np.zeros((3, 1))).tolist() == [0.5] * 3


def test_a_fit_writes_weights_that_know_what_answers(tmp_path: Path) -> None:
    chance, examples = np.random.default_rng(11), []
    for number in range(160):
        case = Case("company x en", "answerable", f"company {number % 4}", "?", "en", (), (), True)
        features = chance.random((12, len(FEATURES)))
        features[:, -2:] = np.nan
        features[:, 0] *= 0.8
        features[number % 12, 0] += 0.3 * (number % 3 > 0)
        gold = (features[:, 0] > 0.8).astype(float)
        examples.append(plain.Example(case, number % 5 == 0, features, gold, gold * 0.05 + 0.8))
    wanted = argparse.Namespace(held_out="3", trees=40, out=tmp_path / "weights.npz")
    plain.fit_and_write(examples, wanted, "model", Console(quiet=True))
    with np.load(wanted.out) as held:
        trees = Trees.read(held)
        assert held["with_vectors"][1] > 0 < held["words_alone"][1]
    found = [one for one in examples if one.gold.any()]
    right = [one.gold[trees.score(one.features).argmax()] for one in found]
    assert np.mean(right) > 0.9
    assert isinstance(lightgbm.__version__, str)
