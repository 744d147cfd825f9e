"""Fitted models are read back as they were made, and made anew where the file is broken."""

from pathlib import Path

import numpy as np
import pytest

from app.reasoning.local.exemplars import exemplars, fitted
from app.reasoning.local.fitted import KindModel, read_or_fit

KNOWN = [*exemplars()[:60], *exemplars()[-60:]]
VECTORS = np.random.default_rng(1).normal(size=(len(KNOWN), 8)).astype(np.float32)


@pytest.mark.parametrize("vectors", [None, VECTORS], ids=["spelling", "meaning"])
def test_a_kept_model_says_what_the_fitted_one_says(tmp_path: Path, vectors: np.ndarray | None) -> None:
    fits: list[KindModel] = []

    def fit() -> KindModel:
        fits.append(fitted(KNOWN, vectors))
        return fits[-1]

    first = read_or_fit(tmp_path / "new", "model", fit)
    again = read_or_fit(tmp_path / "new", "model", fit)
    assert len(fits) == 1 and again is not first
    own = None if vectors is None else vectors[3]
    assert np.array_equal(first.scores("xin chào bạn", own), again.scores("xin chào bạn", own))
    (path,) = (tmp_path / "new").iterdir()
    path.write_bytes(path.read_bytes()[:100])
    read_or_fit(tmp_path / "new", "model", fit)
    read_or_fit(tmp_path / "new", "another", fit)
    read_or_fit(None, "model", fit)
    assert len(fits) == 4
