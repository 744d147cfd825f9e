"""Totals by level, kind, language and tag."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras.gaia.report import GaiaReport, share_interval
from tests.extras.gaia.runs import events, question, report

HARD = question(task_id="h", Question="Có bao nhiêu ngày phép?", Level=2, tags=["policy"])
FOUND = report((question(), events()), (HARD, events("<script>alert(1)</script>")), (question(task_id="o"), events()))


class TestReport:
    def test_counts_by_level_kind_language_and_tag(self) -> None:
        assert FOUND.score is not None and FOUND.right == 2 and FOUND.score.questions == 3
        groups = {(group.kind, group.name): (group.right, group.score.questions) for group in FOUND.groups}
        assert groups == {
            ("level", "1"): (2, 2), ("level", "2"): (0, 1), ("kind", "puzzle"): (2, 2), ("kind", "policy"): (0, 1),
            ("language", "en"): (2, 2), ("language", "vi"): (0, 1), ("tag", "count"): (2, 2),
        }  # fmt: skip
        assert (FOUND.median_steps, FOUND.median_tool_calls, FOUND.spent.median_seconds) == (3, 1, 0.2)

    def test_is_read_again_as_it_was(self) -> None:
        assert GaiaReport.model_validate_json(FOUND.model_dump_json()) == FOUND

    def test_what_is_not_scored_counts_nowhere(self) -> None:
        found = report((question(**{"Final answer": "?"}), events()))
        assert (found.score, found.groups, found.right) == (None, (), 0)


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
