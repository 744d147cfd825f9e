"""The measure of table questions: how answers are judged, and that nothing of a question is printed unasked."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from bench.tables import Expected, Judged, Row, judge, read_rows, report

pytestmark = pytest.mark.slow

ROW = Row(id="1", file="a.csv", question="Tổng tiền?", kind="sum", answer=Expected(facts=[["1.500", "1500"], ["An"]]))
NONE = ROW.model_copy(update={"answer": Expected(decline=True)})


class TestJudge:
    @pytest.mark.parametrize(
        ("row", "answer", "outcome", "verdict"),
        [
            (ROW, "An: 1.500 đ.", "answered", "right"),
            (ROW, "an 1500", "answered", "right"),
            (ROW, "An: 21.500 đ", "answered", "wrong and answered"),
            (ROW, "An: 1.500,5", "answered", "wrong and answered"),
            (ROW, "Lan: 1.500", "answered", "wrong and answered"),
            (ROW, "An: 1.500", "not_found", "declined"),
            (NONE, "1", "answered", "wrong and answered"),
            (NONE, "", "not_found", "right"),
            (NONE, "", "failed", "right"),
        ],
    )
    def test_compares_whole_words(self, row: Row, answer: str, outcome: str, verdict: str) -> None:
        assert judge(row, answer, outcome) == verdict


class TestReport:
    @pytest.mark.parametrize("show", [False, True])
    def test_prints_questions_only_when_asked(self, show: bool, tmp_path: Path) -> None:
        path = tmp_path / "q.jsonl"
        path.write_text(json.dumps(ROW.model_dump()) + "\n\n", "utf-8")
        out = io.StringIO()
        judged = [Judged(row, "An: 1.500", "right") for row in read_rows(path)]
        report(judged, Console(file=out, width=120), show=show)
        assert "1 (1.00)" in out.getvalue() and "sum" in out.getvalue()
        assert (ROW.question in out.getvalue()) is show
