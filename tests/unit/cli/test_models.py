"""`conclave model` on an empty data directory and a host on the loopback."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.models import model_commands
from app.errors import AppError
from tests.fakes.model_mirror import Mirror, model_mirror


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONCLAVE_DATA_DIR", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(model_commands, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def listed() -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
    return {row["name"]: row for row in rows}


def pull(mirror: Mirror) -> Result:
    return run("pull", "hf:some/repo/Little.gguf", "--trust", "--mirror", mirror.address)


class TestModels:
    def test_a_list_says_what_the_catalogue_has_and_what_nothing_serves(self) -> None:
        assert {row["state"] for row in listed().values()} == {"not here"}
        result = run("list")
        assert "qwen3" in result.stdout and "nothing serves them yet" in result.stderr

    def test_pull_list_remove(self, data_dir: Path) -> None:
        with model_mirror() as mirror:
            assert mirror.sha256 in pull(mirror).stdout
        assert listed()["little"] == {
            "name": "little", "role": "chat", "state": "here", "pinned": True, "mb": 1, "memory_mb": None,
            "licence": "", "languages": [],
        }  # fmt: skip
        run("remove", "little")
        assert "little" not in listed()
        assert not list(data_dir.rglob("*.gguf"))

    def test_a_wrong_role_and_an_unknown_name_are_told(self) -> None:
        with pytest.raises(AppError, match="The roles are"):
            run("pull", "smollm2-135m", "--role", "judge")
        with pytest.raises(AppError, match="There is no model"):
            run("pull", "nobody")
