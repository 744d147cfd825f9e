"""The adapter of questions: moves those of its own space, keeps them of length 1, and is of the space in use."""

from pathlib import Path

import numpy as np
import pytest

from app.embedding.onnx import MODEL
from app.retrieval.ranking import QuestionAdapter, load_calibration, stored_adapter

QUESTIONS = np.eye(3, dtype=np.float32)[:2]


def test_moves_questions_of_its_space_and_leaves_others() -> None:
    turn = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0]], np.float32)
    adapter = QuestionAdapter("here", turn, np.zeros(3, np.float32))
    moved = adapter.move(QUESTIONS, "here")
    assert moved[0] == pytest.approx([0.5**0.5, 0, 0.5**0.5]) and moved[1] == pytest.approx([0, 1, 0])
    assert np.array_equal(adapter.move(QUESTIONS, "elsewhere"), QUESTIONS)
    assert adapter.move(QUESTIONS[:0], "here").shape == (0, 3)


def test_that_of_the_package_was_fitted_on_the_space_in_use() -> None:
    assert stored_adapter().space == load_calibration(MODEL).space


def test_a_training_company_is_searched_with_an_adapter_that_has_not_seen_it(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch, which only training uses")
    import torch

    from training.reader.data import TRAINING
    from training.reader.questions import Corpus, adapter_for, fit_halves

    gold = torch.eye(4)
    passages = torch.nn.functional.normalize(torch.randn(4, 8, generator=torch.Generator().manual_seed(1)), dim=1)
    first, second = TRAINING[:2]
    found = [Corpus(first, passages, passages, gold), Corpus(second, passages, -passages, gold)]
    fit_halves(found, "here", tmp_path, epochs=30)
    own, other = adapter_for(first, tmp_path), adapter_for(second, tmp_path)
    assert own is not None and other is not None
    # The second company's passages lie opposite to its questions: only who learnt from it turns questions around.
    asked = passages.numpy()
    assert (own.move(asked, "here") * asked).sum() < (other.move(asked, "here") * asked).sum()
