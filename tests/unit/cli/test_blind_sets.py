"""`conclave eval blind`: figures of sets nobody may read, over a house on paper."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli import app as command_line
from app.cli import evaluation
from app.errors import AppError
from app.evaluation.report import Circumstances
from app.events import Event
from app.settings import Settings
from tests.unit.evaluation.runs import LEAVE, NOON, PaperHouse, events
from tests.unit.evaluation.test_running import SHELF

SECRET = "Bao nhiêu ngày phép?"
LEARNT = "How long is my leave?"
OUTCOMES = ["answered", "partial", "conflict"]
Call = Callable[..., Result]
OPENED: list[Settings] = []
"""The settings services were opened with."""


def row(number: int, question: str, **expected: Any) -> str:
    wanted = {"outcome": OUTCOMES, "facts": ["12 days"], "belongs": ["You have 12 days."], **expected}
    told = {"id": f"q{number}", "question": question, "asker": "acme/lan", "tags": ["number", "typos"]}
    return json.dumps({**told, "expected": wanted}) + "\n"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the command over a folder with two sets and a set of tables."""
    tmp_path = tmp_path / "blind"
    tmp_path.mkdir()
    for folder in ("demo", "tables"):
        (tmp_path / folder).mkdir()
    (tmp_path / "demo" / "blind.jsonl").write_text(row(1, SECRET) + row(2, "Ai?", outcome="not_found", facts=[]))
    (tmp_path / "demo" / "seen.jsonl").write_text(row(1, LEARNT))
    (tmp_path / "tables" / "blind.jsonl").write_text('{"file": "a.csv", "question": "?"}\n')
    told: dict[str, list[Event]] = {
        SECRET: events("You have 14 days and more."), "Ai?": events("It is Lan.", urls=[LEAVE]),
        LEARNT: events("You have 14 days and more."),
    }  # fmt: skip

    @asynccontextmanager
    async def opened(settings: Settings, *_: object, **__: object) -> AsyncIterator[SimpleNamespace]:
        OPENED.append(settings)
        yield SimpleNamespace(rooms=SimpleNamespace(now=lambda: NOON))

    def circumstances(*_: object) -> Circumstances:
        return Circumstances(version="1", mind="m", space="s", settings={}, concurrency=1, today="2026-11-21")

    monkeypatch.setattr(evaluation, "opened", opened)
    monkeypatch.setattr(evaluation, "LocalApp", lambda services: PaperHouse({"acme": SHELF}, told))
    monkeypatch.setattr(evaluation, "circumstances_of", circumstances)
    return lambda *arguments: CliRunner().invoke(
        command_line, ["eval", "blind", "--folder", str(tmp_path), *arguments], env={"COLUMNS": "80"}
    )


class TestBlind:
    def test_prints_figures_by_set_language_and_kind_and_no_question(self, call: Call) -> None:
        result = call()
        assert result.exit_code == 0, result.output
        assert all(
            head in result.output for head in ("dataset demo", "language vi", "tag number", "wrong and answered")
        )
        assert "typos" not in result.output and "tables" not in result.output
        for told in (result.output, call("--json").output):
            assert SECRET not in told and "14 days" not in told and "phép" not in told

    def test_tells_the_figures_as_one_object(self, call: Call) -> None:
        told = json.loads(call("--json").stdout)
        assert told["scores"]["wrong_answered"]["value"] == 1 and told["scores"]["extra"]["value"] == 1
        assert "asked" not in told

    def test_shows_what_went_wrong_in_seen_sets_only(self, call: Call) -> None:
        told = call("--seen").output
        assert LEARNT in told and "wrong_answered" in told and "does not belong" in told and SECRET not in told

    def test_an_organisation_is_asked_over_its_own_documents(self, call: Call, tmp_path: Path) -> None:
        (tmp_path / "companies" / "clinic").mkdir(parents=True)
        (tmp_path / "companies" / "clinic" / "demo.toml").touch()
        (tmp_path / "blind" / "clinic").mkdir()
        (tmp_path / "blind" / "clinic" / "blind.jsonl").write_text(row(1, SECRET))
        OPENED.clear()
        told = [json.loads(line)["datasets"] for line in call("--json").stdout.splitlines()]
        assert [[one["name"] for one in sets] for sets in told] == [["demo"], ["clinic"]]
        demo, clinic = OPENED
        assert clinic.seed_dir == tmp_path / "companies" / "clinic" and clinic.is_embedded
        assert clinic.agents_dir == tmp_path / "companies" / "agents" / "clinic"
        assert demo.data_dir in clinic.data_dir.parents and demo.seed_dir != clinic.seed_dir

    def test_a_broken_limit_is_exit_code_1(self, call: Call, tmp_path: Path) -> None:
        gates = tmp_path / "blind" / "gates.toml"
        gates.write_text("[[gate]]\nmetric = 'wrong_answered'\ntag = 'number'\nmax = 0.5\n")
        assert call().exit_code == 1
        gates.write_text("[[gate]]\nmetric = 'wrong_answered'\nmax = 1.0\n")
        assert call().exit_code == 0

    def test_a_folder_without_sets_is_refused(self, call: Call) -> None:
        result = call("--dataset", "strange")
        assert isinstance(result.exception, AppError) and "strange/blind.jsonl" in str(result.exception)
