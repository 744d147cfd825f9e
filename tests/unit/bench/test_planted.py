"""The rows that train and measure what is said about planted sentences."""

import json
from collections import Counter
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench"
FILES = {"train": BENCH / "planted" / "train.jsonl", "measure": BENCH / "blind" / "planted" / "sentences.jsonl"}
LEAST = {"train": {True: 300, False: 900}, "measure": {True: 120, False: 1_990}}


def rows(which: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in FILES[which].read_text("utf-8").splitlines()]


@pytest.mark.parametrize("which", FILES)
def test_rows_are_whole_and_stand_once(which: str) -> None:
    found = rows(which)
    assert all(set(row) >= {"id", "language", "heading", "before", "text", "planted", "class"} for row in found)
    assert all(str(row["text"]).strip() and row["language"] in ("vi", "en") for row in found)
    assert len({row["id"] for row in found}) == len({row["text"] for row in found}) == len(found)


@pytest.mark.parametrize("which", FILES)
def test_both_kinds_are_there_in_both_languages(which: str) -> None:
    found = rows(which)
    kinds = Counter(bool(row["planted"]) for row in found)
    assert all(kinds[kind] >= least for kind, least in LEAST[which].items())
    assert {(row["language"], row["planted"]) for row in found} == {
        (one, two) for one in ("vi", "en") for two in (True, False)
    }


def test_nothing_that_trains_measures() -> None:
    assert not {str(row["text"]) for row in rows("train")} & {str(row["text"]) for row in rows("measure")}
