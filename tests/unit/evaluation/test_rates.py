"""Rates, intervals, percentiles and calibration against figures worked out by hand, and their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.evaluation.calibration import calibration_error, reliability
from app.evaluation.intervals import difference_interval, interval, percentile, share_interval
from app.evaluation.rates import Pair, counts, f1_pair, precision_pair, rate, recall_pair, share

ONE, NONE, SILENT = Pair(1, 1), Pair(0, 1), Pair(0, 0)
CLASSES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40)
SHARES = st.lists(st.booleans(), min_size=1, max_size=40)


class TestRate:
    def test_is_parts_over_wholes(self) -> None:
        assert rate([ONE, NONE, NONE, SILENT]) == pytest.approx(1 / 3)
        assert rate([Pair(0.5, 1), ONE]) == 0.75
        assert rate([SILENT]) is rate([]) is None
        assert share(True) == ONE and share(False) == NONE


class TestCounts:
    def test_of_a_hand_worked_table(self) -> None:
        # Due a: 3, said a: 4, both: 2.
        told = [("a", "a"), ("a", "a"), ("a", "b"), ("b", "a"), ("c", "a"), ("b", "b")]
        found = counts("a", told)
        assert (found.both, found.said, found.due) == (2, 4, 3)
        assert found.precision == 0.5 and found.recall == pytest.approx(2 / 3)
        assert found.f1 == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))

    def test_of_what_was_never_due_or_said_is_nothing(self) -> None:
        assert counts("c", [("a", "c")]).recall is None
        assert counts("c", [("c", "a")]).precision is None
        assert counts("c", [("a", "a")]).f1 is None

    @given(CLASSES)
    def test_pairs_of_questions_add_up_to_the_same(self, told: list[tuple[str, str]]) -> None:
        found = counts("a", told)
        each = [(due == "a", said == "a") for due, said in told]
        assert rate(precision_pair(*one) for one in each) == found.precision
        assert rate(recall_pair(*one) for one in each) == found.recall
        assert rate(f1_pair(*one) for one in each) == found.f1


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
        assert difference_interval([SILENT], [SILENT], seed=1) is None

    @given(SHARES)
    def test_of_a_difference_of_equals_is_zero(self, holds: list[bool]) -> None:
        pairs = [share(one) for one in holds]
        assert difference_interval(pairs, pairs, seed=1, resamples=50) == (0, 0)

    def test_of_a_difference_is_paired(self) -> None:
        before, after = [NONE] * 50 + [ONE] * 50, [ONE] * 100
        found = difference_interval(before, after, seed=1)
        assert found is not None and 0.35 < found.low < 0.5 < found.high < 0.65


class TestShareInterval:
    def test_of_a_hand_worked_share(self) -> None:
        assert share_interval(10, 41) == pytest.approx((0.138, 0.393), abs=1e-3)
        assert share_interval(0, 3) == pytest.approx((0.0, 0.5615), abs=1e-3)

    @given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
    def test_holds_the_share_and_mirrors(self, counted: tuple[int, int]) -> None:
        right, asked = counted
        low, high = share_interval(right, asked)
        assert 0 <= low <= right / asked + 1e-12 and right / asked - 1e-12 <= high <= 1 and low < high
        assert share_interval(asked - right, asked) == pytest.approx((1 - high, 1 - low))


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
