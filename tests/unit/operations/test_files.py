"""Which files a backup takes: those that lie there, and nothing a link leads to."""

from pathlib import Path

import pytest

from app.operations import backup


class TestFiles:
    def test_links_and_what_is_no_file_are_left_out(self, tmp_path: Path) -> None:
        (tmp_path / "here" / "below").mkdir(parents=True)
        (tmp_path / "away").mkdir()
        for name in ("here/one", "here/below/two", "away/secret"):
            (tmp_path / name).write_text("x")
        (tmp_path / "here" / "link").symlink_to(tmp_path / "away" / "secret")
        (tmp_path / "here" / "folder").symlink_to(tmp_path / "away")
        found = [*backup.files_below(tmp_path / "here", "agents")]
        assert [name for name, _ in found] == ["agents/one", "agents/below/two"]

    def test_one_that_became_a_link_meanwhile_is_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("x")
        (tmp_path / "link").symlink_to(tmp_path / "secret")
        with pytest.raises(OSError, match="symbolic links"):
            backup._opened(tmp_path / "link")
