"""Rates, intervals, percentiles and calibration against figures worked out by hand, and their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.evaluation.figures import (
    Pair,
    calibration_error,
    class_pairs,
    interval,
    percentile,
    rate,
    recall_at,
    reliability,
    share,
)

ONE, NONE, SILENT = Pair(1, 1), Pair(0, 1), Pair(0, 0)
SHARES = st.lists(st.booleans(), min_size=1, max_size=40)


class TestRate:
    def test_is_parts_over_wholes(self) -> None:
        assert rate([ONE, NONE, NONE, SILENT]) == pytest.approx(1 / 3)
        assert rate([Pair(0.5, 1), ONE]) == 0.75
        assert rate([SILENT]) is rate([]) is None
        assert share(True) == ONE and share(False) == NONE


class TestClassPairs:
    def test_add_up_to_precision_recall_and_f1(self) -> None:
        # Due 3, said 4, both 2.
        told = [(True, True), (True, True), (True, False), (False, True), (False, True), (False, False)]
        pairs = [class_pairs("a", due, said) for due, said in told]
        found = {name: rate(one[name] for one in pairs) for name in pairs[0]}
        precision, recall = 0.5, 2 / 3
        f1 = 2 * precision * recall / (precision + recall)
        assert found == pytest.approx({"a_precision": precision, "a_recall": recall, "a_f1": f1})

    def test_of_what_was_never_due_or_said_are_nothing(self) -> None:
        assert rate([class_pairs("a", False, True)["a_recall"]]) is None
        assert rate([class_pairs("a", True, False)["a_precision"]]) is None
        assert rate([class_pairs("a", False, False)["a_f1"]]) is None


class TestRecall:
    @pytest.mark.parametrize(
        ("k", "needs", "ranked", "value"),
        [
            (5, ["a"], "a", 1.0), (5, ["a", "b"], "ax", 0.5), (1, ["a", "b"], "ab", 0.5), (2, ["a"], "xya", 0.0),
            (5, ["ab"], "b", 1.0), (5, ["ab", "c"], "ba", 0.5), (5, ["a"], "", 0.0), (5, [], "a", 0.0),
        ],
    )  # fmt: skip
    def test_of_hand_worked_lists(self, k: int, needs: list[str], ranked: str, value: float) -> None:
        assert recall_at(k, [frozenset(need) for need in needs], list(ranked)) == value


class TestInterval:
    @given(SHARES, st.integers(0, 5))
    def test_holds_the_value_and_repeats_with_its_seed(self, holds: list[bool], seed: int) -> None:
        pairs = [share(one) for one in holds]
        ends, value = interval(pairs, seed=seed, resamples=100), rate(pairs)
        assert ends is not None and value is not None
        assert ends.low <= value <= ends.high and ends.low >= 0 and ends.high <= 1
        assert interval(pairs, seed=seed, resamples=100) == ends

    def test_narrows_with_more_questions(self) -> None:
        few, many = (interval([ONE, NONE] * number, seed=1) for number in (10, 200))
        assert few is not None and many is not None
        assert many.high - many.low < few.high - few.low
        # Normal approximation: 1.96 · sqrt(0.25 / 400) = 0.049.
        assert many.low == pytest.approx(0.451, abs=0.02) and many.high == pytest.approx(0.549, abs=0.02)

    def test_of_nothing_is_nothing(self) -> None:
        assert interval([SILENT], seed=1) is None


class TestPercentile:
    @pytest.mark.parametrize(("q", "value"), [(0.5, 3), (0.95, 5), (0.2, 1), (0.21, 2), (0.0, 1), (1.0, 5)])
    def test_is_the_nearest_rank(self, q: float, value: float) -> None:
        assert percentile([5, 3, 1, 4, 2], q) == value

    def test_of_nothing_is_nothing(self) -> None:
        assert percentile([], 0.5) is None


class TestCalibration:
    def test_of_hand_worked_answers(self) -> None:
        # 0.9 · 3 answers, two right; 0.25 · 1 answer, wrong: (3 · |0.9 - 2/3| + 1 · 0.25) / 4.
        bins = reliability([(0.9, True), (0.9, True), (0.9, False), (0.25, False)])
        assert [(one.low, one.answers, one.right) for one in bins] == [(0.2, 1, 0), (0.9, 3, pytest.approx(2 / 3))]
        assert calibration_error(bins) == pytest.approx((3 * (0.9 - 2 / 3) + 0.25) / 4)

    def test_certainty_stands_in_the_last_bin(self) -> None:
        [only] = reliability([(1.0, True)])
        assert only.low == 0.9 and calibration_error([only]) == 0
        assert calibration_error([]) is None

    @given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
    def test_keeps_every_answer_and_lies_between_0_and_1(self, points: list[tuple[float, bool]]) -> None:
        bins = reliability(points)
        assert sum(one.answers for one in bins) == len(points)
        error = calibration_error(bins)
        assert error is not None and 0 <= error <= 1
        assert all(one.low - 1e-9 <= one.confidence <= one.low + 0.1 + 1e-9 for one in bins)
