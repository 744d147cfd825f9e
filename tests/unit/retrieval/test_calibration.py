"""What a score means, and that stored means and curves are what they claim to be."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.embedding.onnx import MODEL
from app.retrieval.ranking import FITTED, Calibration, Curve, load_calibration, read_calibrations

SHARE = st.floats(0, 1)
COSINE = st.floats(-1, 1)


def calibration(**changes: object) -> Calibration:
    values: dict[str, object] = {
        "model": "m",
        "accented": Curve(cosine=8, coverage=6, constant=-6),
        "unaccented": Curve(cosine=7, coverage=7, constant=-6),
        "words": Curve(cosine=0, coverage=10, constant=-5),
        "assumed_coverage": 0.5,
        "query_means": {"vi": (1.0, 0.0), "en": (0.0, 1.0)},
        "passage_means": {"vi": (0.5, 0.0), "en": (0.0, 0.5)},
    }
    return Calibration.model_validate(values | changes)


class TestRelevance:
    @given(COSINE, COSINE, SHARE, SHARE, st.booleans(), st.booleans())
    def test_grows_with_cosine_and_with_words_found(
        self, low: float, high: float, few: float, many: float, same: bool, unaccented: bool
    ) -> None:
        for fitted in (calibration(), load_calibration(MODEL), load_calibration("nobody knows it")):
            low, high, few, many = min(low, high), max(low, high), min(few, many), max(few, many)
            lesser = fitted.relevance(low, few, same_language=same, unaccented=unaccented)
            greater = fitted.relevance(high, many, same_language=same, unaccented=unaccented)
            assert 0 <= lesser <= greater <= 1

    def test_assumes_words_that_another_language_cannot_share(self) -> None:
        across = calibration().relevance(0.4, 0.0, same_language=False, unaccented=False)
        assert across == calibration().relevance(0.4, 0.5, same_language=True, unaccented=False)
        assert across > calibration().relevance(0.4, 0.0, same_language=True, unaccented=False)

    def test_listens_to_the_words_where_vectors_cannot_be_compared(self) -> None:
        fitted = load_calibration(MODEL)
        for similarity in (-1.0, 0.0, 1.0):
            alone = partial(fitted.relevance, similarity, same_language=True, unaccented=False, by_words_alone=True)
            assert alone(1.0) > 0.7
            assert alone(0.1) < 0.7

    def test_listens_to_the_vector_when_diacritics_are_missing(self) -> None:
        fitted = load_calibration(MODEL)
        assert fitted.relevance(0.5, 0.3, same_language=True, unaccented=True) > 0.7
        assert fitted.relevance(0.0, 0.3, same_language=True, unaccented=True) < 0.1


class TestCentring:
    def test_takes_the_mean_of_the_language_out_and_keeps_length_one(self) -> None:
        moved = calibration().centre_passages(np.array([[0.5, 0.8], [0.6, 0.5]], np.float32), ["vi", "en"])
        assert np.allclose(moved, [[0, 1], [1, 0]], atol=1e-6)
        assert moved.dtype == np.float32

    def test_uses_the_mean_of_all_for_a_third_language(self) -> None:
        moved = calibration().centre_passages(np.array([[0.25, 1.0]], np.float32), ["fr"])
        assert np.allclose(moved, [[0, 1]], atol=1e-6)

    def test_of_nothing_is_nothing(self) -> None:
        assert calibration().centre_queries(np.empty((0, 2), np.float32), []).shape == (0, 2)

    def test_is_left_out_without_means(self) -> None:
        bare = calibration(query_means={}, passage_means={})
        vectors = np.array([[0.6, 0.8]], np.float32)
        assert bare.centre_queries(vectors, ["vi"]) is vectors
        assert bare.space == "m"

    def test_names_the_space_by_what_was_taken_out(self) -> None:
        spaces = {
            calibration().space,
            calibration(passage_means={"vi": (0.5, 0.1), "en": (0.0, 0.5)}).space,
            calibration(query_means={"vi": (1.0, 0.1), "en": (0.0, 1.0)}).space,
        }
        assert len(spaces) == 3
        assert all(space.startswith("m/centred-") for space in spaces)
        assert calibration(assumed_coverage=0.1).space == calibration().space


class TestFile:
    def test_knows_the_bundled_model(self) -> None:
        fitted = load_calibration(MODEL)
        assert fitted.date
        assert fitted.sources
        assert {len(mean) for mean in (*fitted.query_means.values(), *fitted.passage_means.values())} == {384}
        assert set(fitted.query_means) == set(fitted.passage_means) == {"vi", "en"}

    def test_says_that_the_limit_keeps_answers_and_drops_strangers(self) -> None:
        metrics = load_calibration(MODEL).metrics
        for kind in ("vi same", "en same", "seed same", "vi unaccented"):
            assert metrics[f"{kind}: answer_kept"] >= 0.9
        assert metrics["stranger: nothing_passes"] >= 0.9

    def test_gives_an_unknown_model_the_default_under_its_name(self) -> None:
        unknown = load_calibration("text-embedding-3-small")
        assert unknown.model == unknown.space == "text-embedding-3-small"
        assert unknown.relevance(0.6, 0.6, same_language=True, unaccented=False) > 0.7
        assert unknown.relevance(0.1, 0.1, same_language=True, unaccented=False) < 0.1

    def test_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        path = tmp_path / "calibration.json"
        path.write_bytes(FITTED.dump_json([calibration(), calibration(model="other")]))
        assert read_calibrations(path) == [calibration(), calibration(model="other")]
        assert load_calibration("other", path) == calibration(model="other")

    def test_may_be_missing(self, tmp_path: Path) -> None:
        assert read_calibrations(tmp_path / "nothing.json") == []

    def test_refuses_a_share_beyond_one(self) -> None:
        with pytest.raises(ValueError, match="assumed_coverage"):
            calibration(assumed_coverage=1.5)
