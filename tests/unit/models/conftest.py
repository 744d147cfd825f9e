"""A host of models, and a store without any."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.models.store import ModelStore
from tests.fakes.model_mirror import Mirror, model_mirror


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with model_mirror() as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path)
