"""Fitted models are read again by later processes, and made anew where a file is of no use."""

from pathlib import Path

import numpy as np
import pytest

from app.reasoning.local import exemplars
from app.reasoning.local.exemplars import KindModel

pytestmark = pytest.mark.slow

TEXT = "cảm ơn bạn nhiều"


@pytest.fixture(autouse=True)
def few_exemplars(monkeypatch: pytest.MonkeyPatch) -> None:
    few = exemplars.exemplars()[::20]
    monkeypatch.setattr(exemplars, "exemplars", lambda: few)


def made(folder: Path, *, by_meaning: bool = True) -> KindModel:
    vectors = np.random.default_rng(1).normal(size=(len(exemplars.exemplars()), 8)).astype(np.float32)
    return exemplars._read_or_fit(folder, "m" if by_meaning else "", vectors if by_meaning else None)


@pytest.mark.parametrize("by_meaning", [True, False])
def test_says_the_same_when_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_meaning: bool) -> None:
    vector = np.ones(8, np.float32) if by_meaning else None
    first = made(tmp_path, by_meaning=by_meaning).scores(TEXT, vector)
    monkeypatch.setattr(exemplars, "fitted", None)  # nothing is fitted from here on
    assert np.array_equal(made(tmp_path, by_meaning=by_meaning).scores(TEXT, vector), first)


@pytest.mark.parametrize("damage", [b"", b"PK", b"no file of arrays"])
def test_a_broken_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    first = made(tmp_path).scores(TEXT, np.ones(8, np.float32))
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert np.array_equal(made(tmp_path).scores(TEXT, np.ones(8, np.float32)), first)
    assert path.stat().st_size > len(damage)


def test_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert made(tmp_path / "file" / "vectors").scores(TEXT, np.ones(8, np.float32)).size
