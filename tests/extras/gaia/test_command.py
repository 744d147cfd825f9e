"""`conclave eval gaia` without a database: what is refused before anything opens, and what is shown."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from app.cli import app as command_line
from app.errors import AppError
from app.evaluation.report_store import write_owned
from extras.gaia.display import show_gaia
from tests.extras.gaia.runs import events, question, report


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (("nothing",), "There is no set 'nothing'"),
            (("smoke", "--mode", "wild"), "--mode: 'wild' is none of deep, auto, department"),
            (("smoke", "--files", "/nowhere"), "questions.jsonl: line 21: file_name: 'chi_phi_quy_3.csv' is not in"),
        ],
    )
    def test_opens_nothing_before_everything_is_read(self, arguments: tuple[str, ...], complaint: str) -> None:
        result = CliRunner().invoke(command_line, ["eval", "gaia", *arguments])
        assert isinstance(result.exception, AppError) and complaint in str(result.exception)


def test_shows_each_question_and_the_totals() -> None:
    out = io.StringIO()
    told = report((question(), events()), (question(task_id="w", Level=2), events("a [red]\x1b[2Jlie")))
    show_gaia(Console(file=out, width=140), told)
    shown = out.getvalue()
    assert "✓" in shown and "✗" in shown and "a [red]" in shown and "\x1b[2J" not in shown
    assert "all" in shown and "1 / 2" in shown and "level 2" in shown and "median 3 steps, 1 tool calls" in shown


def test_answers_are_their_owners_only_and_can_be_appended(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    write_owned(path, "old")
    write_owned(path, "a\n")
    write_owned(path, "b\n", append=True)
    assert path.read_text("utf-8") == "a\nb\n" and path.stat().st_mode & 0o777 == 0o600
