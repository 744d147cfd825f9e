"""What the tests begin with is what the model computes."""

import numpy as np
import pytest

from app.embedding.onnx import OnnxEmbedder
from app.ingestion.chunk import chunk
from app.ingestion.passages import as_passage
from app.ingestion.seed import read_seed
from tests.factories import SEED_DATA
from tests.samples import drawn
from tests.vectors import computed, key_of, shipped

pytestmark = pytest.mark.slow
_PREFIX = "passage: "
_NEAR = 0.99
"""Halves, and processors that round in their own ways."""


def test_a_drawn_part_is_what_the_model_computes(bundled: OnnxEmbedder) -> None:
    drafts = [draft for tenant in read_seed(SEED_DATA) for draft in tenant.documents]
    compared = 0
    for draft in drawn(drafts, 8):
        for piece in chunk(draft.text, draft.title, count_tokens=bundled.count_tokens)[:1]:
            text = as_passage(draft.title, draft.lang, piece).text
            if (found := shipped().get(key_of(bundled, _PREFIX, text))) is not None:
                assert float(found.astype(np.float32) @ computed(bundled, _PREFIX, text)) >= _NEAR, draft.external_id
                compared += 1
    assert compared >= 4, "documents or the way they are cut have changed: python -m tests.ship_vectors"
