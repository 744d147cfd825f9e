from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from app.flow.claims import disagreements
from app.flow.resolve import Verdict, judge
from app.flow.state import FlowLimits
from tests.factories import finding, passage

LIMITS = FlowLimits()
OLD, NEW = "Nhân viên được nghỉ 12 ngày phép năm.", "Nhân viên được nghỉ 14 ngày phép năm."


def verdict(old: dict[str, object], new: dict[str, object], limits: FlowLimits = LIMITS) -> Verdict:
    both = finding(passage(OLD, document="old", **old), passage(NEW, document="new", **new))
    [found] = disagreements((both,))
    return judge(found, limits, {"general"})


class TestJudge:
    def test_a_recent_document_beats_an_old_one(self) -> None:
        found = verdict({"effective_from": date(2024, 1, 1)}, {"effective_from": date(2026, 11, 10)})
        assert found.decided
        assert found.winner.claim.sentence == NEW
        assert found.winner.factors["recency"] == 0.9

    def test_private_beats_public(self) -> None:
        found = verdict({"scope": "public"}, {"scope": "private"})
        assert found.decided
        assert found.winner.claim.sentence == NEW

    def test_the_responsible_department_beats_general(self) -> None:
        found = verdict({"department": "general"}, {"department": "hr"})
        assert found.decided
        assert found.winner.claim.sentence == NEW

    def test_recency_counts_from_the_newer_source(self) -> None:
        found = verdict({"effective_from": date(2021, 1, 1)}, {"effective_from": date(2023, 1, 1)})
        assert found.decided
        assert found.winner.claim.sentence == NEW

    def test_a_newer_public_text_does_not_overrule_an_older_private_one(self) -> None:
        found = verdict(
            {"effective_from": date(2024, 1, 1), "scope": "private"},
            {"effective_from": date(2025, 1, 1), "scope": "public"},
        )
        assert not found.decided

    def test_equal_sources_stay_undecided_and_the_later_is_named_first(self) -> None:
        found = verdict({"effective_from": date(2025, 1, 1)}, {"effective_from": date(2025, 1, 20)})
        assert not found.decided
        assert found.winner.claim.sentence == NEW

    def test_the_score_is_the_published_formula(self) -> None:
        found = verdict({"scope": "public", "relevance_score": 0.5}, {"relevance_score": 1.0})
        for side in (found.winner, found.loser):
            total = sum(LIMITS.weights[name] * factor for name, factor in side.factors.items())
            assert abs(side.score - total) < 1e-4

    @given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5))
    def test_a_decision_needs_the_threshold(self, one: float, other: float, threshold: float) -> None:
        limits = LIMITS.model_copy(update={"conflict_resolution_threshold": threshold})
        found = verdict({"relevance_score": one}, {"relevance_score": other}, limits)
        assert found.decided == (found.margin >= threshold)
        assert found.winner.score >= found.loser.score
