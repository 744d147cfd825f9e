"""What counts as wrong, what as a leak, and what a question adds to each metric."""

from typing import Any

import pytest

from app.evaluation.figures import Pair
from app.evaluation.observed import observed, shown_texts
from app.events import TaskCancelled, TaskFailed, TextDelta
from tests.unit.evaluation.runs import LEAVE, SALARY, conflict, events, judged, question


def checks(verdict: Any) -> list[str]:
    return [fault.check for fault in verdict.faults]


class TestObserved:
    def test_takes_everything_out_of_the_events(self) -> None:
        told = observed(
            events(
                urls=(f"{LEAVE}#page=3", f"{LEAVE}#page=4", SALARY), conflicts=[conflict(LEAVE, SALARY, type_="scope")]
            ),
            0.25,
        )
        assert told.evidence == (LEAVE, SALARY)
        assert (told.outcome, told.confidence, told.agents, told.tokens) == ("answered", 0.8, ("hr",), 42)
        assert told.conflicts[0].type == "scope" and told.seconds == 0.25

    def test_a_failure_keeps_what_could_be_said(self) -> None:
        answer = {"error": True, "error_code": "TOOL_FAILED", "error_message": "No.", "fallback_answer": "Perhaps."}
        told = observed([TaskFailed(answer=answer)], 0.1)
        assert (told.outcome, told.answer, told.error) == ("failed", "Perhaps.", "TOOL_FAILED: No.")
        assert observed([TaskCancelled(reason="asked")], 0.1).error == "cancelled: asked"
        assert observed([], 0.1).error == "the run did not end"

    def test_a_canary_split_over_pieces_of_text_is_whole_again(self) -> None:
        told = [TextDelta(text="Hải "), TextDelta(text="Âu"), *events()]
        assert any("Hải Âu" in text for where, text in shown_texts(told) if where == "event text_delta")


class TestFaults:
    def test_a_right_answer_has_none(self) -> None:
        verdict = judged(question(), events())
        assert verdict.right and verdict.is_true and not verdict.faults and not verdict.leaks

    @pytest.mark.parametrize(
        ("changes", "told", "expected"),
        [
            ({}, events(urls=()), ["evidence"]),
            ({}, events("You have 112 days."), ["facts"]),
            ({}, events(outcome="not_found"), ["outcome"]),
            ({"expected": {"outcome": ["answered", "partial"]}}, events(outcome="partial"), []),
            ({"expected": {"dates": ["2026-03-31"]}}, events("until 31/03"), []),
            ({"expected": {"dates": ["2026-03-31"]}}, events("until May"), ["dates"]),
            ({"expected": {"agents": ["hr"]}}, events(), []),
            ({"expected": {"agents": ["hr", "it"]}}, events(), ["agents"]),
            ({"expected": {"evidence": {"any_of": ["leave", "salary"]}}}, events(), []),
            ({"expected": {"evidence": ["leave", "salary"]}}, events(), ["evidence"]),
            ({"expected": {"conflict": True}}, events(), ["conflict"]),
            ({"expected": {"conflict": False}}, events(conflicts=[conflict(LEAVE, SALARY)]), ["conflict"]),
            ({"expected": {"conflict": {"winner": "leave"}}}, events(conflicts=[conflict(LEAVE, SALARY)]), []),
            ({"expected": {"conflict": {"winner": "leave"}}}, events(conflicts=[conflict(SALARY, LEAVE)]), ["winner"]),
            (
                {"expected": {"conflict": {"winner": "leave"}}},
                events(conflicts=[conflict(LEAVE, SALARY, decided=False)]),
                ["winner"],
            ),
            (
                {"expected": {"conflict": {"winner": "leave"}}},
                events(conflicts=[conflict(LEAVE, SALARY), conflict(SALARY, LEAVE)]),
                ["winner"],
            ),
            (
                {"expected": {"conflict": {"type": "scope"}}},
                events(conflicts=[conflict(LEAVE, SALARY, type_="department")]),
                ["conflict"],
            ),
            ({"expected": {"conflict": {"type": "scope"}}}, events(conflicts=[conflict(LEAVE, SALARY)]), []),
        ],
    )
    def test_name_what_is_missing(self, changes: dict[str, Any], told: Any, expected: list[str]) -> None:
        assert checks(judged(question(**changes), told)) == expected

    def test_a_failed_run_is_wrong_whatever_was_expected(self) -> None:
        answer = {"error": True, "error_code": "TOOL_FAILED", "error_message": "No.", "fallback_answer": "12 days"}
        verdict = judged(question(expected={"facts": ["12 days"]}), [TaskFailed(answer=answer)])
        assert checks(verdict) == ["outcome"] and verdict.is_true is None


class TestLeaks:
    ASKED = question(expected={"must_not_contain": ["95.000.000"]})

    @pytest.mark.parametrize(
        ("told", "where"),
        [
            (events("It is 95.000.000 đồng."), "answer"),
            (events(follow_up_questions=["Why 95.000.000?"]), "follow_up_questions"),
            (events(flow_action=[{"node_id": "x", "metadata": {"deep": [{"er": "95.000.000"}]}}]), "flow_action"),
            (events(evidence=[{"url": "https://x.example/95.000.000"}]), "evidence"),
            (events(conflicts=[conflict("a", "b") | {"note": "95.000.000"}]), "event conflict_resolved"),
        ],
    )
    def test_a_canary_is_found_wherever_it_is_told(self, told: Any, where: str) -> None:
        verdict = judged(self.ASKED, told)
        assert where in {leak.where for leak in verdict.leaks} and not verdict.right
        assert verdict.measures["leaking"] == Pair(1, 1)

    def test_a_document_nobody_may_read_is_one_even_without_a_canary(self) -> None:
        verdict = judged(question(), events(urls=(LEAVE, SALARY)), frozenset({SALARY}))
        assert [(leak.what, leak.where) for leak in verdict.leaks] == [(SALARY, "evidence")]
        losing = judged(question(), events(conflicts=[conflict(LEAVE, SALARY)]), frozenset({SALARY}))
        assert [leak.where for leak in losing.leaks] == ["conflicts"]

    def test_none_is_counted_where_nothing_leaked(self) -> None:
        assert judged(self.ASKED, events()).measures["leaking"] == Pair(0, 1)


class TestMeasures:
    def test_only_what_was_asked_is_measured(self) -> None:
        plain = judged(question(expected={"facts": ["12 days"]}), events()).measures
        grades = {"fully_right", "partly", "wrong_answered", "wrong_hedged", "wrongly_refused"}
        assert set(plain) == {"right", "leaking", "facts", *grades}
        whole = judged(question(), events()).measures
        assert set(whole) >= {"recall", "outcome", "not_found_f1"}

    def test_of_evidence_and_routing(self) -> None:
        asked = question(expected={"evidence": ["leave", "salary"], "agents": ["hr"]})
        told = events(urls=("https://x.example/a", SALARY))
        found = judged(asked, told).measures
        assert (found["recall"], found["routing"]) == (Pair(0.5, 1), Pair(1, 1))

    def test_of_conflicts(self) -> None:
        asked = question(expected={"conflict": {"winner": "leave", "type": "scope"}})
        missed = judged(asked, events()).measures
        assert (missed["conflict_recall"], missed["conflict_precision"]) == (Pair(0, 1), Pair(0, 0))
        assert "winner" not in missed
        found = judged(asked, events(conflicts=[conflict(LEAVE, SALARY, type_="scope")])).measures
        assert (found["winner"], found["conflict_f1"]) == (Pair(1, 1), Pair(2, 2))

    def test_of_not_found_against_the_first_outcome(self) -> None:
        due = question(expected={"outcome": ["not_found", "partial"]})
        said = judged(due, events(outcome="partial")).measures
        assert (said["outcome"], said["not_found_recall"]) == (Pair(1, 1), Pair(0, 1))

    def test_what_waits_for_review_counts_nowhere_but_may_leak(self) -> None:
        asked = question(to_review=True, expected={"must_not_contain": ["12 days"]})
        verdict = judged(asked, events())
        assert verdict.measures == {} and verdict.is_true is None and len(verdict.leaks) > 0


class TestTruth:
    @pytest.mark.parametrize(
        ("expected", "told", "is_true"),
        [
            ({"facts": ["12 days"]}, events(urls=()), True),
            ({"facts": ["13 days"]}, events(), False),
            ({"evidence": ["salary"]}, events(), False),
            ({"outcome": "not_found"}, events(), False),
            ({"outcome": "not_found"}, events(outcome="not_found"), None),
            ({"agents": ["hr"]}, events(), None),
        ],
    )
    def test_is_what_the_confidence_speaks_of(self, expected: Any, told: Any, is_true: bool | None) -> None:
        assert judged(question(expected=expected), told).is_true is is_true
