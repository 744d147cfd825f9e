"""What `make test` leaves out is drawn from the whole list, and `make chaos` plays the whole."""

import re
from pathlib import Path

import pytest

from tests.samples import SEED, drawn

ROOT = Path(__file__).parents[2]
CASES = [f"case {number}" for number in range(50)]


class TestDrawn:
    def test_is_a_part_of_the_list_in_its_order(self) -> None:
        part = drawn(CASES, 7, whole=False)
        assert len(set(part)) == 7
        assert part == [case for case in CASES if case in part]

    def test_is_the_same_for_the_same_seed_and_covers_all_over_several(self) -> None:
        assert drawn(CASES, 7, whole=False) == drawn(CASES, 7, whole=False, seed=SEED)
        assert {case for seed in range(80) for case in drawn(CASES, 7, whole=False, seed=seed)} == set(CASES)

    @pytest.mark.parametrize(("number", "whole"), [(50, False), (99, False), (7, True)])
    def test_is_everything_where_that_is_wanted(self, number: int, whole: bool) -> None:
        assert drawn(iter(CASES), number, whole=whole) == CASES


def test_make_chaos_plays_the_whole_of_every_file_that_draws() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    chaos = makefile[makefile.index("\nchaos:") :]
    [line] = [line for line in chaos.splitlines() if "CONCLAVE_WHOLE=1" in line]
    found = re.search(r"grep -rlE '(.*?)' --include='test_\*\.py' tests", line)
    assert found is not None
    files = [path for path in (ROOT / "tests").rglob("*.py") if "tests.samples" in path.read_text("utf-8")]
    drawing = [path for path in files if path.name.startswith("test_") and path != Path(__file__)]
    assert drawing
    assert [path.name for path in drawing if not re.search(found[1], path.read_text("utf-8"), re.MULTILINE)] == []


def test_whoever_draws_at_random_says_how_it_is_repeated() -> None:
    """A seed that nobody chose stands beside the variable of the environment that repeats it."""
    free = re.compile(r"\b(System)?Random\(\)")
    common = re.compile(
        r"^import random$[\s\S]*\brandom\.(random|choice|choices|sample|shuffle|randint|randrange)\(", re.M
    )
    unsaid = []
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text("utf-8")
        if common.search(text) or any(free.search(line) and "environ" not in line for line in text.splitlines()):
            unsaid.append(path.name)
    assert unsaid == []
