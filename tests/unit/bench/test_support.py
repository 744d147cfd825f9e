"""The sentences of `bench.support`: each is of the format, once, and rests on a passage of its document."""

from pathlib import Path

import pytest

from bench.corpora import read_lines
from bench.support import RIGHT, WRONG, Row, placed

BENCH = Path(__file__).parents[3] / "bench"
FILES = (BENCH / "support" / "seen.jsonl", BENCH / "blind" / "support" / "sentences.jsonl")


@pytest.mark.parametrize("path", FILES, ids=("seen", "blind"))
def test_every_sentence_rests_on_a_passage(path: Path) -> None:
    rows = [Row.model_validate(row) for row in read_lines(path)]
    assert len({row.id for row in rows}) == len(rows)
    assert {row.kind for row in rows} == {*RIGHT, *WRONG}
    found = {row.id for row, _ in placed(path, lambda texts: [len(text) // 4 for text in texts])}
    assert len(found) == len(rows), f"{len(rows) - len(found)} stand on no passage"
