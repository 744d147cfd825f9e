"""`conclave eval` without a database: datasets read, reports shown."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from app.cli import app as command_line
from app.cli.evaluation.display import show_report
from app.errors import AppError
from app.evaluation.gates import DEFAULT_GATES, check_gates, read_gates
from app.evaluation.report import Report
from tests.unit.evaluation.runs import events, report

GOOD, BAD = events(), events("You have 14 days. [red]No[/]\x1b[2J")


def called(*arguments: str) -> Result:
    return CliRunner().invoke(command_line, ["eval", *arguments])


def shown(show: Any, what: Any) -> str:
    out = io.StringIO()
    show(Console(file=out, width=140), what)
    return out.getvalue()


class TestRun:
    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (("--dataset", "nothing"), "There is no dataset 'nothing'"),
            (("--gates", "/nowhere.toml"), "/nowhere.toml: cannot be read"),
        ],
    )
    def test_opens_nothing_before_everything_is_read(self, arguments: tuple[str, ...], complaint: str) -> None:
        result = called("run", *arguments)
        assert isinstance(result.exception, AppError) and complaint in str(result.exception)

    def test_refuses_a_bad_file_by_line(self, tmp_path: Path) -> None:
        path = tmp_path / "bad.jsonl"
        path.write_text('{"id": "a"}\n', "utf-8")
        result = called("run", "--dataset", str(path))
        assert isinstance(result.exception, AppError) and "bad.jsonl: line 1: question: Field" in str(result.exception)


class TestDisplay:
    def report(self) -> Report:
        found = report(GOOD, BAD, tags=["[red]tag\x07"])
        return found.model_copy(update={"gates": check_gates(read_gates(DEFAULT_GATES), found)})

    def test_tells_rates_groups_wrong_answers_and_gates(self) -> None:
        text = shown(show_report, self.report())
        for told in ("2 questions from mine", ".50 (", "language en", "✗ mine/q1", "does not say “12 days”", "✗ facts"):
            assert told in text, told

    def test_lets_neither_markup_nor_control_characters_through(self) -> None:
        text = shown(show_report, self.report())
        assert "tag [red]tag" in text and "\x1b" not in text and "\x07" not in text
