"""A run in the terminal: what its events add up to, and that text is shown as it is."""

import io
from typing import Any

from rich.console import Console

from app.api.schemas import EXAMPLES
from app.cli.display import RunView, _conflict_line, show_answer
from app.client.records import Streamed

ANSWER, ERROR_ANSWER, PLAN = EXAMPLES["answer"], EXAMPLES["error_answer"], EXAMPLES["plan"]


def shown(answer: dict[str, object], view: RunView) -> str:
    out = io.StringIO()
    show_answer(Console(file=out, width=140), answer, view)
    return out.getvalue()


def running() -> RunView:
    view = RunView("đi muộn thì bị gì?")
    view.take("plan_ready", {"plan": PLAN["plan"]})
    view.take("progress", {"node": "x", "output": {"progress_percentage": 81.7, "progress_message": "Completed 1/3"}})
    view.take("agent_task", {"node_id": "hr#rag"})
    return view


class TestRunView:
    def test_follows_steps_and_percentage(self) -> None:
        view = running()
        assert (view.percentage, view.message, view.statuses) == (81.7, "Completed 1/3", {"hr#rag": "in_progress"})
        view.take("agent_result", {"node_id": "hr#rag", "status": "completed"})
        assert view.statuses == {"hr#rag": "completed"}

    def test_forgets_text_of_an_attempt_that_was_lost(self) -> None:
        view = running()
        view.take("text_delta", {"text": "Bốn "})
        view.take("redispatched", {"attempt": 2})
        view.take("text_delta", {"text": "Công ty"})
        assert view.text == "Công ty"

    def test_shows_plan_and_progress(self) -> None:
        out = io.StringIO()
        Console(file=out, width=140).print(running())
        assert "82 %" in out.getvalue() and "tier 1" in out.getvalue() and "Truy vấn quy định đi muộn" in out.getvalue()


class TestShowAnswer:
    def test_shows_answer_evidence_flow_and_outcome(self) -> None:
        text = shown(ANSWER, running())
        assert "4 giá trị cốt lõi" in text
        assert "https://intra.example/hr/punctuality" in text and "2026-08-20" in text and "0.92" in text
        assert "hr#rag" in text and "97" in text
        assert "Nội quy đi muộn định nghĩa thế nào?" in text
        assert "answered · confidence 0.89" in text and ANSWER["session_id"] in text

    def test_shows_what_a_failed_run_saved(self) -> None:
        text = shown(ERROR_ANSWER, RunView("q"))
        assert "AGENT_EXECUTION_FAILED" in text and "Tool timeout" in text
        assert "Dựa trên thông tin có sẵn" in text and "failed" in text

    def test_takes_no_text_for_markup(self) -> None:
        text = shown({**ANSWER, "answer": "[red]không[/red] [link=https://evil.example]x[/link]"}, RunView("q"))
        assert "[red]không[/red] [link=https://evil.example]x[/link]" in text

    def test_lets_no_control_characters_reach_the_terminal(self) -> None:
        hostile = "\x1b]0;owned\x07\x1b[2Jhết"
        text = shown({**ANSWER, "answer": hostile, "reasoning": hostile}, RunView("q"))
        assert "\x1b" not in text and "\x07" not in text and "hết" in text


class TestEnding:
    def test_is_the_answer_of_a_terminal_event(self) -> None:
        assert Streamed(9, "final_report", {"answer": ANSWER}).ending == ANSWER
        assert Streamed(9, "task_failed", {"answer": ERROR_ANSWER}).ending["error_code"] == "AGENT_EXECUTION_FAILED"
        assert Streamed(9, "task_cancelled", {"reason": "by its owner"}).ending["error_code"] == "TASK_CANCELLED"
        assert Streamed(9, "progress", {}).ending == {}


class TestConflicts:
    @staticmethod
    def line(**changes: Any) -> str:
        winner = {"title": "Phép 2026", "claim": "14 ngày.", "score": 0.9}
        loser = {"title": "Phép", "claim": "12 ngày.", "score": 0.8}
        told = {"winner": winner, "loser": loser, "decided": True, "rule": "weighted_scoring", **changes}
        return _conflict_line(told).plain

    def test_name_both_sides_with_their_scores(self) -> None:
        assert self.line() == "⚖ Phép 2026 (14 ngày. · 0.90) over Phép (12 ngày. · 0.80)"
        assert "against (undecided)" in self.line(decided=False)

    def test_name_the_rule_that_decided(self) -> None:
        assert self.line(rule="later_version").endswith("(later version)")
        assert self.line(rule="validity").endswith("(no longer in force)")

    def test_a_version_that_lacks_a_rule_says_nothing(self) -> None:
        lacking = {"title": "Phép", "claim": "", "score": 0.8}
        assert self.line(loser=lacking, rule="later_version") == (
            "⚖ Phép 2026 (14 ngày. · 0.90) over Phép (0.80) (later version)"
        )
