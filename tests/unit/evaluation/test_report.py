"""Figures, gates, and cases of corrections."""

from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError
from app.evaluation.gates import DEFAULT_GATES, Gate, check_gates, read_gates
from app.evaluation.report import Report
from tests.unit.evaluation.runs import events, report

GOOD, BAD, NOTHING = events(), events("You have 14 days."), events("", (), outcome="not_found", confidence_score=0.1)


class TestSummary:
    def test_of_a_hand_worked_run(self) -> None:
        found = report(GOOD, GOOD, BAD, NOTHING)
        assert (found.scores["right"].value, found.scores["facts"].value) == (0.5, 0.5)
        assert found.scores["recall"].value == 0.75 and found.scores["recall"].questions == 4
        # Three answers of confidence 0.8, two of them true.
        assert found.calibration is not None and found.calibration.error == pytest.approx(0.8 - 2 / 3, abs=1e-5)
        assert (found.spent.median_seconds, found.spent.p95_seconds) == (0.11, 0.13)
        assert found.spent.tokens_per_question == 42
        assert {(group.kind, group.name) for group in found.groups} == {("dataset", "mine"), ("language", "en")}

    def test_groups_by_department_and_tag(self) -> None:
        found = report(GOOD, BAD, department="hr", tags=["number", "old"])
        assert [(one.kind, one.name, one.questions) for one in found.groups[2:]] == [
            ("department", "hr", 2), ("tag", "number", 2), ("tag", "old", 2),
        ]  # fmt: skip

    def test_survives_being_kept(self) -> None:
        found = report(GOOD, BAD)
        assert Report.model_validate_json(found.model_dump_json()) == found


class TestGates:
    def result(self, found: Report, **gate: Any) -> list[tuple[str, bool]]:
        results = check_gates([Gate.model_validate(gate)], found)
        return [(one.demand, one.holds) for one in results]

    def test_hold_at_the_threshold(self) -> None:
        found = report(GOOD, BAD)
        assert self.result(found, metric="right", min=0.5) == [("≥ 0.5", True)]
        assert self.result(found, metric="right", min=0.51, max=0.4) == [("≥ 0.51", False), ("≤ 0.4", False)]
        assert self.result(found, metric="leaks", max=0) == [("≤ 0", True)]
        assert self.result(found, metric="right", min=0.9, language="en") == [("≥ 0.9", False)]

    def test_what_was_not_asked_holds_unless_it_is_required(self) -> None:
        found = report(GOOD)
        assert self.result(found, metric="winner", min=0.9) == [("≥ 0.9", True)]
        assert self.result(found, metric="winner", min=0.9, required=True) == [("≥ 0.9", False)]

    def test_those_that_come_along_can_be_read_and_forbid_every_leak(self) -> None:
        gates = read_gates(DEFAULT_GATES)
        assert any(gate.metric == "leaks" and gate.max == 0 and gate.required for gate in gates)

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("[[gate]]\nmetric = 'righ'\nmin = 1", "there is no metric 'righ'"),
            ("[[gate]]\nmetric = 'right'", "say min or max"),
            ("[[gate]]\nmetric = 'right'\nmin = 1\ntag = 'a'\nlanguage = 'vi'", "names more than one group"),
            ("[[gate]]\nmetric = 'leaks'\nmax = 0\ntag = 'a'", "is told of the whole run only"),
            ("[[gate]]\nmetric = 'right'\nmim = 1", "Extra inputs"),
            ("[gate", "is no TOML"),
            ("", "Field required"),
        ],
    )
    def test_a_bad_file_is_refused(self, tmp_path: Path, text: str, complaint: str) -> None:
        path = tmp_path / "gates.toml"
        path.write_text(text, "utf-8")
        with pytest.raises(AppError, match=complaint):
            read_gates(path)
