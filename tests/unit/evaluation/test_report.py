"""Figures, gates, comparisons, cases of corrections, and the page."""

import json
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from app.errors import AppError
from app.evaluation.comparison import DEFAULT_GATES, Gate, compare, held, read_gates
from app.evaluation.dataset import as_lines, cases_from, parsed
from app.evaluation.page import report_page
from app.evaluation.report import Report, read_report
from app.storage.feedback import Correction
from tests.factories import principal
from tests.unit.evaluation.runs import LEAVE, SALARY, conflict, events, report

GOOD, BAD, NOTHING = events(), events("You have 14 days."), events("", (), outcome="not_found", confidence_score=0.1)
SCRIPT = "<script>alert(1)</script>"


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

    def test_one_of_an_earlier_release_can_be_read(self, tmp_path: Path) -> None:
        found, path = report(GOOD, BAD), tmp_path / "report.json"
        told = found.model_dump(mode="json") | {"outcomes": []}
        for one in told["asked"]:
            one["observation"]["flow"] = []
            del one["grade"], one["extra"]
        path.write_text(json.dumps(told), "utf-8")
        assert read_report(path).scores == found.scores

    def test_survives_being_kept(self, tmp_path: Path) -> None:
        found, path = report(GOOD, BAD), tmp_path / "report.json"
        path.write_text(found.model_dump_json(), "utf-8")
        assert read_report(path) == found
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "shape": 2}), "utf-8")
        with pytest.raises(AppError, match="is no report of shape 1"):
            read_report(path)


class TestGates:
    def result(self, found: Report, before: Report | None = None, **gate: Any) -> list[tuple[str, bool]]:
        results = held([Gate.model_validate(gate)], found, before)
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

    def test_a_drop_is_held_against_two_runs_only(self) -> None:
        before, after = report(GOOD, GOOD), report(GOOD, BAD)
        assert self.result(after, metric="right", max_drop=0.1) == []
        assert self.result(after, before, metric="right", max_drop=0.5)[0][1]
        assert not self.result(after, before, metric="right", max_drop=0.4)[0][1]
        assert not self.result(before, after, metric="right", max_rise=0.1)[0][1]

    def test_those_that_come_along_can_be_read_and_forbid_every_leak(self) -> None:
        gates = read_gates(DEFAULT_GATES)
        assert any(gate.metric == "leaks" and gate.max == 0 and gate.required for gate in gates)

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("[[gate]]\nmetric = 'righ'\nmin = 1", "there is no metric 'righ'"),
            ("[[gate]]\nmetric = 'right'", "say min, max, max_drop or max_rise"),
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


class TestComparison:
    def test_tells_what_moved_and_why(self) -> None:
        before, after = report(*[BAD] * 30, GOOD), report(*[GOOD] * 30, BAD)
        found = compare(before, after)
        change = next(one for one in found.changes if one.metric == "right")
        assert (change.verdict, round(change.after - change.before, 6)) == ("better", round(29 / 31, 6))
        assert len(found.better) == 30 and [one.key for one in found.worse] == ["mine/q30"]
        assert found.worse[0].after == ("does not say “12 days”",)

    def test_of_a_run_with_itself_is_even(self) -> None:
        found = compare(report(GOOD, BAD), report(GOOD, BAD))
        assert {one.verdict for one in found.changes} == {"even"}
        assert not found.better and not found.worse and not found.unlike

    def test_names_what_is_not_alike(self) -> None:
        before, after = report(GOOD), report(GOOD)
        told = after.circumstances.model_copy(update={"mind": "llm", "settings": {"max_retries": 1}})
        found = compare(before, after.model_copy(update={"circumstances": told}))
        assert found.unlike == ("mind: local → llm", "setting max_retries")

    def test_needs_a_question_in_both(self) -> None:
        other = report(GOOD)
        moved = other.asked[0].model_copy(update={"dataset": "other"})
        with pytest.raises(AppError, match="share no question"):
            compare(report(GOOD), other.model_copy(update={"asked": (moved,)}))


class TestCasesFromFeedback:
    SAID = Correction(
        task_id=UUID(int=7), question="Nghỉ phép mấy ngày?", as_of=date(2026, 1, 1), is_follow_up=True,
        asker=principal(scopes=("public", "private"), roles=("admin",)), correction="Phải là 14 ngày.\nKhông phải 12.",
    )  # fmt: skip

    def test_can_be_read_as_a_dataset_and_wait_for_review(self) -> None:
        lines = as_lines(cases_from("acme", [self.SAID]))
        [case] = parsed(lines.split("\n"), "x")
        told = case.question
        assert told.to_review and told.tags == ("feedback", "follow_up") and told.as_of == date(2026, 1, 1)
        assert told.expected.facts[0].any_of[0].text == self.SAID.correction
        assert json.loads(lines)["asker"] == {"tenant": "acme", "department": "hr", "scopes": ["private", "public"]}

    def test_name_nobody(self) -> None:
        lines = as_lines(cases_from("acme", [self.SAID]))
        assert '"lan"' not in lines and str(self.SAID.asker.user_id) not in lines and "admin" not in lines


class _Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestPage:
    def page(self, *answers: Any, **changes: Any) -> str:
        found = report(*answers, **changes)
        return report_page(found.model_copy(update={"gates": held(read_gates(DEFAULT_GATES), found)}))

    def test_is_well_formed_and_needs_nothing_else(self) -> None:
        text = self.page(GOOD, BAD, NOTHING, events(conflicts=[conflict(LEAVE, SALARY)]))
        elements = _Elements()
        elements.feed(text)
        assert elements.open == []
        names = {tag for tag, _ in elements.seen}
        assert {"table", "details"} <= names and not names & {"script", "img", "link", "iframe", "a"}
        assert all(not name.startswith("on") for _, attributes in elements.seen for name in attributes)
        assert "default-src 'none'" in text and "url(" not in text and "@import" not in text

    def test_lets_nothing_that_was_said_become_markup(self) -> None:
        hostile = events(f"{SCRIPT}", (f"https://x.example/{SCRIPT}",), conflicts=[conflict(SCRIPT, SCRIPT)])
        text = self.page(hostile, question=f"What? {SCRIPT}", department=SCRIPT, tags=[SCRIPT])
        assert "<script" not in text and "&lt;script&gt;" in text

    def test_shows_the_worst_first_and_how_the_gates_fared(self) -> None:
        leaking = events("You have 12 days.", (LEAVE,))
        text = self.page(BAD, leaking)
        assert "does not say “12 days”" in text and "Gates" in text and "mine/q0" in text

    def test_tells_changes_of_a_comparison(self) -> None:
        before, after = report(GOOD, GOOD), report(GOOD, BAD)
        text = report_page(after, compare(before, after))
        assert "Since the earlier run" in text and "mine/q1" in text
