"""Files in GAIA's format: read strictly, their own files only from their folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError
from extras.gaia.question import BUNDLED, attached, bytes_of, open_set
from extras.gaia.scoring import number_in

ROW = {
    "task_id": "c61d22de-5f6c-4958-a7f6-5e9707bd3466", "Question": "How many?", "Level": "2", "Final answer": "17",
    "file_name": "", "Annotator Metadata": {"Steps": "1. Count."},
}  # fmt: skip


def written(folder: Path, *rows: Any) -> str:
    path = folder / "some.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
    return str(path)


class TestReading:
    def test_takes_the_benchmarks_own_lines(self, tmp_path: Path) -> None:
        found = open_set(written(tmp_path, ROW, "", ROW | {"task_id": "b", "Level": 1, "Final answer": "?"}))
        first, second = found.questions
        assert (found.name, first.level, first.expected, first.is_scored) == ("some", 2, "17", True)
        assert not second.is_scored and first.spoken == "en" and len(found.fingerprint) == 12
        assert [len(found.narrowed(level, limit).questions) for level, limit in ((1, None), (None, 1), (3, 5))] == [
            1,
            1,
            0,
        ]

    @pytest.mark.parametrize(
        ("row", "complaint"),
        [
            ("{", "some.jsonl: line 2: Invalid JSON"),
            (ROW | {"Level": 4}, "line 2: Level: "),
            (ROW | {"Question": ""}, "line 2: Question: "),
            (ROW, "line 2: the task_id 'c61d22de-5f6c-4958-a7f6-5e9707bd3466' came before"),
            (ROW | {"task_id": "b", "file_name": "../secret"}, "line 2: file_name: '../secret' is no plain file name"),
            (ROW | {"task_id": "b", "file_name": "none.csv"}, "line 2: file_name: 'none.csv' is not in"),
            (ROW | {"task_id": "b", "asker": "lan"}, "line 2: asker: "),
        ],
    )
    def test_refuses_by_line(self, tmp_path: Path, row: Any, complaint: str) -> None:
        with pytest.raises(AppError) as refused:
            open_set(written(tmp_path, ROW, row))
        assert complaint in refused.value.detail

    def test_refuses_what_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(AppError, match="There is no set 'nothing': name a file, or one of smoke, held"):
            open_set("nothing")
        with pytest.raises(AppError, match="holds no question"):
            open_set(written(tmp_path, ""))


class TestAttachedFiles:
    def test_come_from_their_folder_only(self, tmp_path: Path) -> None:
        folder = tmp_path / "files"
        folder.mkdir()
        (folder / "a.csv").write_bytes(b"1")
        (tmp_path / "secret").write_bytes(b"2")
        (folder / "link").symlink_to(tmp_path / "secret")
        assert bytes_of(folder, "a.csv", 1) == b"1"
        for name in ("", ".", "..", "../secret", "/etc/passwd", "files/a.csv", "b.csv", "link"):
            with pytest.raises(ValueError, match=r"is|leads"):
                attached(folder, name)

    def test_are_no_larger_than_may_be_attached(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"123")
        with pytest.raises(AppError, match="a: has more than 2 bytes"):
            bytes_of(tmp_path, "a", 2)
        with pytest.raises(AppError, match="b: cannot be read"):
            bytes_of(tmp_path, "b", 2)


@pytest.mark.parametrize("name", BUNDLED)
class TestOwnSets:
    def test_are_read_and_balanced(self, name: str) -> None:
        found = open_set(name).questions
        vietnamese = sum(1 for one in found if one.spoken == "vi")
        assert len(found) >= 24 and abs(2 * vietnamese - len(found)) <= len(found) / 10
        assert all(one.is_scored and one.asker and one.tags for one in found)
        assert {one.tags[0] for one in found} >= {"policy", "two-policies", "file", "puzzle"}

    def test_expect_numbers_that_both_languages_read_alike(self, name: str) -> None:
        for one in open_set(name).questions:
            assert number_in(one.expected, "en") == number_in(one.expected, "vi")


def test_own_sets_ask_different_questions() -> None:
    smoke, held = (open_set(name).questions for name in BUNDLED)
    assert len(smoke) >= 40 and not {one.question for one in smoke} & {one.question for one in held}
    assert not {one.file_name for one in smoke if one.file_name} & {one.file_name for one in held}
