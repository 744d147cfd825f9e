"""`conclave model` on an empty data directory and a host on the loopback."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.models import model_commands
from app.errors import AppError
from app.models.store import ModelStore
from tests.fakes.llama import missing
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


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
class TestUse:
    def test_a_model_without_a_check_is_used_with_a_warning(self, data_dir: Path) -> None:
        with model_mirror() as mirror:
            pull(mirror)
        said = run("use", "little").stderr
        assert "warning: it was never checked" in said and "next start" in said
        assert listed()["little"]["state"] == "serves chat"
        store = ModelStore(data_dir)
        store.note_check("little", '{"below_floor": ["3% right by itself"]}')
        assert "warning: 3% right" in run("use", "little").stderr
        store.note_check("little", '{"below_floor": []}')
        assert "warning" not in run("use", "little").stderr
        run("use", "none")
        assert store.roles() == {}

    def test_a_file_that_changed_is_not_used(self, data_dir: Path) -> None:
        with model_mirror() as mirror:
            pull(mirror)
        path = next(data_dir.rglob("*.gguf"))
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        with pytest.raises(AppError, match="not the one that was pulled"):
            run("use", "little")
        assert ModelStore(data_dir).roles() == {}

    def test_roles_that_nothing_serves_and_models_that_are_not_here(self) -> None:
        with model_mirror() as mirror:
            run("pull", "hf:some/repo/Little.gguf", "--trust", "--mirror", mirror.address, "--role", "embed")
        with pytest.raises(AppError, match="Nothing serves the role embed"):
            run("use", "little")
        with pytest.raises(AppError, match="no model 'qwen3-4b' here"):
            run("use", "qwen3-4b")
