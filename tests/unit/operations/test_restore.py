"""What a restore puts in place, it puts there as a whole: broken at any step, everything is as it was."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError
from app.operations import restore
from app.operations.contents import Manifest
from app.operations.restore import STAGE, check_fits, is_used
from tests.cases import each_case

OLD = {
    "postgres/PG_VERSION": "old",
    "jwt-secret": "old",
    "spool/a.sqlite": "old",
    "spool/b.sqlite": "old",
    "models/x": "m",
}
NEW = {"postgres/PG_VERSION": "new", "jwt-secret": "new", "spool/a.sqlite": "new", "evaluations/run/report.json": "new"}


def lay(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def lies(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay(tmp_path, OLD)
    lay(tmp_path / STAGE, NEW)
    return tmp_path


class TestSwap:
    def test_everything_of_the_backup_stands_and_what_was_there_is_kept(self, folder: Path) -> None:
        old = restore._swap(folder / STAGE, folder)
        assert old is not None and lies(old) == {name: "old" for name in OLD if not name.startswith("models")}
        shutil.rmtree(old)
        assert lies(folder) == {**NEW, "models/x": "m"}, "waiting writes of the old database went too"

    @each_case("moves", range(7))
    def test_broken_at_any_step_all_is_as_it_was(
        self, moves: int, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, real, left = lies(folder), shutil.move, moves

        def move(source: Any, goal: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                raise KeyboardInterrupt
            return real(source, goal)

        monkeypatch.setattr(shutil, "move", move)
        with pytest.raises(KeyboardInterrupt):
            restore._swap(folder / STAGE, folder)
        assert lies(folder) == before and not [*folder.glob("replaced-*")]

    def test_what_counts_as_used(self, tmp_path: Path) -> None:
        lay(tmp_path, {"models/x": "", "vectors/y": "", "last-backup.json": ""})
        (tmp_path / "spool").mkdir()
        assert not is_used(tmp_path)
        for name in OLD.keys() - {"models/x"}:
            lay(tmp_path / "other", {name: "x"})
            assert is_used(tmp_path / "other")
            shutil.rmtree(tmp_path / "other")


class TestFits:
    def test_a_backup_of_a_newer_version_is_refused(self) -> None:
        manifest = Manifest(
            version="9", revision="9999", server=18, made_at=datetime.now(UTC), companies=(), counts={}, models={},
            members=(),
        )  # fmt: skip
        with pytest.raises(AppError, match="9999"):
            check_fits(manifest)
        check_fits(manifest.model_copy(update={"revision": "0021"}))
