"""Ranking whole queries is fitted and judged to its end over a few questions: what nobody starts for months does not
rot."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from tests.warm import warm
from training.tables.data import HERE

pytestmark = pytest.mark.slow
FILES = ("sales_orders.csv", "it_tickets.csv", "bang_luong_t9.csv")
QUESTIONS = 4
"""Of each file."""
TREES = 4
EXEMPLARS = 40


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """The first questions of each file, beside all files."""
    rows = [json.loads(line) for line in (HERE / "questions.jsonl").read_text("utf-8").splitlines()]
    kept = [row for name in FILES for row in [row for row in rows if row["file"] == name][:QUESTIONS]]
    (tmp_path / "files").symlink_to(HERE / "files", target_is_directory=True)
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), "utf-8")
    return path


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fitted is fitted a little."""
    # Not above: every process that collects the tests would load the library that fits.
    tables, fit, words = (import_module(f"training.tables.{name}") for name in ("__main__", "fit", "words"))
    for module, name, few in (
        (tables, "FOLDS", len(FILES)),
        (tables, "RANKER_TREES", TREES),
        (tables, "TRUST_TREES", TREES),
        (tables, "SEEDS", 1),
        (fit, "SEEDS", 1),
    ):
        monkeypatch.setattr(module, name, few)
    known, minimize = words.exemplars()[:EXEMPLARS], vars(words)["minimize"]
    monkeypatch.setattr(words, "exemplars", lambda: known)
    monkeypatch.setattr(
        words, "minimize", lambda *given, **said: minimize(*given, **said | {"options": {"maxiter": 1}})
    )


@pytest.mark.usefixtures("brief")
def test_every_file_is_held_out_once(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models = warm(tmp_path / "data") / "models"
    monkeypatch.setattr("sys.argv", ["training.tables", "--questions", str(questions), "--models", str(models)])
    import_module("training.tables.__main__").main()
    printed = capsys.readouterr().out
    assert "wrong and answered" in printed
    assert f" {len(FILES) * QUESTIONS} " in printed.split("│ all")[1].splitlines()[0]
    assert printed.count("limit ") == 5
