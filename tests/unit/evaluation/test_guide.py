"""What the guide shows can be used: its dataset, its gates, its names."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from app.cli import load_command
from app.evaluation.dataset import DEFAULT, open_dataset, parsed
from app.evaluation.figures import METRICS
from app.evaluation.gates import FIGURES, read_gates

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> str:
    return "".join(text for found, text in BLOCKS if found == kind)


class TestGuide:
    def test_its_lines_are_a_dataset(self) -> None:
        assert len(parsed(blocks("json").split("\n"), "guide")) == 3

    def test_its_gates_can_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "gates.toml"
        path.write_text(blocks("toml"), "utf-8")
        assert len(read_gates(path)) == 2

    def test_it_names_every_metric_there_is(self) -> None:
        told = re.search(r"`metric` is one of `([^`]+)`", GUIDE)
        assert told is not None and set(told[1].split()) == {*METRICS, *FIGURES}

    def test_it_counts_the_questions_that_come_along(self) -> None:
        told = {name: int(number) for name, number in re.findall(r"^\| `(\w+)` \| \D*(\d+)", GUIDE, re.MULTILINE)}
        names = (*DEFAULT, "seed")
        assert {name: told[name] for name in names} == {name: len(open_dataset(name).cases) for name in names}

    @pytest.mark.parametrize("line", blocks("sh").splitlines())
    def test_its_commands_exist_with_their_options(self, line: str) -> None:
        program, group, name, *arguments = shlex.split(line)
        assert program == "conclave"
        found = load_command(group)
        assert isinstance(found, typer.core.TyperGroup)
        found.commands[name].make_context(name, arguments)
