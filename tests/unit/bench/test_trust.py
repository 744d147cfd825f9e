"""The table of the goals of trust: complete, and honest about what it holds against what."""

import json
from pathlib import Path

import pytest

from bench.trust import ROOT, Goal, added, goals, judged
from tests.measured import VARIABLE, measured
from tests.unit.test_guards import _tests_in

GOAL = Goal(1, "one", "", "", tests=("tests/a.py",), least={"checks": (10, 100)}, most={"foreign": 0})


def exists(named: str) -> bool:
    file, _, test = named.partition("::")
    is_class = any(one.startswith(f"{test}::") for one in _tests_in(file))
    return (ROOT / file).is_file() and (not test or is_class or test in _tests_in(file))


class TestTable:
    def test_has_the_23_goals_and_names_tests_that_exist(self) -> None:
        table = goals()
        assert [goal.number for goal in table] == list(range(1, 24))
        for goal in table:
            assert goal.tests or goal.gap, f"{goal.number} is measured by nothing and does not say so"
            assert goal.title and goal.ci and goal.nightly
            for named in goal.named(nightly=True):
                assert exists(named), f"{goal.number}: there is no {named}"

    def test_asks_for_no_number_that_no_test_tells(self) -> None:
        told = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
        for goal in goals():
            for name in (*goal.least, *goal.most):
                known = f"{name}=" in told or name.startswith("guards_")
                assert known, f"{goal.number}: no test measures {name}"


class TestJudging:
    @pytest.mark.parametrize(
        ("outcomes", "numbers", "goal", "state"),
        [
            ({"tests/a.py::test_b": "passed"}, {"checks": 10}, GOAL, "pass"),
            ({"tests/a.py::test_b": "passed"}, {"checks": 9}, GOAL, "part"),
            ({"tests/a.py::test_b": "passed"}, {}, GOAL, "part"),
            ({"tests/a.py::test_b": "passed"}, {"checks": 10, "foreign": 1}, GOAL, "fail"),
            ({"tests/a.py::test_b": "passed", "tests/a.py::test_c": "failed"}, {"checks": 10}, GOAL, "fail"),
            ({"tests/a.py::test_b": "passed", "tests/a.py::test_c": "skipped"}, {"checks": 10}, GOAL, "part"),
            ({"tests/a.py::test_b": "skipped"}, {}, GOAL, "not measured"),
            ({"tests/ab.py::test_b": "passed"}, {}, GOAL, "not measured"),
            ({}, {}, GOAL, "not measured"),
            ({"tests/a.py::test_b": "passed"}, {}, Goal(1, "", "", "", ("tests/a.py",), gap="much"), "part"),
            ({"tests/a.py::test_b": "passed"}, {}, Goal(1, "", "", "", ("tests/a.py", "tests/c.py")), "part"),
            ({"tests/a.py::test_b[1]": "passed"}, {}, Goal(1, "", "", "", ("tests/a.py::test_b",)), "pass"),
        ],
    )  # fmt: skip
    def test_passes_nothing_that_was_not_tried_in_full(self, outcomes, numbers, goal, state) -> None:  # type: ignore[no-untyped-def]
        assert judged(goal, outcomes, numbers, nightly=False).state == state

    def test_asks_more_of_a_nightly_run(self) -> None:
        ran = {"tests/a.py::test_b": "passed"}
        assert judged(GOAL, ran, {"checks": 99}, nightly=True).state == "part"  # type: ignore[arg-type]
        assert judged(GOAL, ran, {"checks": 100}, nightly=True).state == "pass"  # type: ignore[arg-type]


class TestNumbers:
    def test_of_several_tests_are_added_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        measured(1, checks=1)  # nobody asks for it
        monkeypatch.setenv(VARIABLE, str(tmp_path / "report"))
        for number in (1, 2):
            measured(1, checks=number, seconds_to_end=number)
        measured(2, checks=5)
        lines = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
        assert added(lines, 1) == {"checks": 3, "seconds_to_end": 2}
