"""The weight file of the bundled model: its numbers, and what happens when it is not whole."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.embedding.weights import BUNDLED, BadWeights, Weights

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def weights() -> Weights:
    return Weights()


class TestWeights:
    def test_have_the_shape_of_multilingual_e5_small(self, weights: Weights) -> None:
        assert (weights.shape.hidden, weights.shape.layers, weights.shape.heads) == (384, 12, 12)
        assert (weights.shape.feed_forward, weights.shape.positions) == (1536, 512)
        assert weights.matrix("l0.fi.w", 1536).shape == (1536, 384)
        assert weights.vector("emb.ln.w").shape == (384,)

    def test_hold_the_pieces_in_the_order_of_their_ids(self, weights: Weights) -> None:
        pieces = weights.vocabulary.scored_pieces()
        vocabulary = weights.vocabulary
        assert len(pieces) == 250_002
        assert [pieces[at][0] for at in (vocabulary.begin, vocabulary.pad, vocabulary.end, vocabulary.unknown)] == [
            "<s>",
            "<pad>",
            "</s>",
            "<unk>",
        ]
        assert pieces[6][0] == "▁"

    @given(st.lists(st.integers(0, 250_036), min_size=1, max_size=20))
    def test_give_the_rows_that_were_asked_for(self, weights: Weights, ids: list[int]) -> None:
        rows = weights.word_rows(np.array(ids))
        assert rows.shape == (len(ids), 384)
        for row, at in zip(rows, ids, strict=True):
            assert np.array_equal(row, _row(at))

    def test_are_named_by_their_release(self, weights: Weights, tmp_path: Path) -> None:
        other = tmp_path / "other.bin"
        other.write_bytes(BUNDLED.read_bytes()[:-1] + b"\x7f")
        assert Weights(other).identity != weights.identity == Weights().identity

    def test_refuse_a_tensor_that_is_not_there(self, weights: Weights) -> None:
        with pytest.raises(BadWeights):
            weights.vector("l12.q.b")
        with pytest.raises(BadWeights):
            weights.vector("l0.q.w")

    @pytest.mark.parametrize("size", [0, 3, 40, 100, 1_000_000, 4_700_000, 71_622_399])
    def test_refuse_a_part_of_the_file(self, tmp_path: Path, size: int) -> None:
        part = tmp_path / "part.bin"
        part.write_bytes(BUNDLED.read_bytes()[:size])
        with pytest.raises(BadWeights):
            Weights(part)

    def test_refuse_another_kind_of_file(self, tmp_path: Path) -> None:
        other = tmp_path / "other.bin"
        other.write_bytes(b"SAE1" + bytes(1000))
        with pytest.raises(BadWeights):
            Weights(other)


def _row(at: int) -> np.ndarray:
    """One row of the word table, number by number."""
    with BUNDLED.open("rb") as file:
        file.seek(4_638_272 + at * 216)
        row = file.read(216)
    numbers = np.empty(384, np.float32)
    for block in range(12):
        part = row[block * 18 : block * 18 + 18]
        scale = np.frombuffer(part[:2], "<f2")[0].astype(np.float32)
        for place, byte in enumerate(part[2:]):
            numbers[block * 32 + place] = ((byte & 15) - 8) * scale
            numbers[block * 32 + place + 16] = ((byte >> 4) - 8) * scale
    return numbers
