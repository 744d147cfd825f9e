"""What the page on GAIA shows can be used: its line, its commands, its counts."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from app.cli import load_command
from extras.gaia.question import BUNDLED, GaiaQuestion, open_set

GUIDE = (Path(__file__).parents[3] / "docs" / "gaia.md").read_text("utf-8")
BLOCKS = re.findall(r"^ *```(\w+)\n(.*?)^ *```$", GUIDE, re.MULTILINE | re.DOTALL)


def lines(kind: str) -> list[str]:
    return [line for found, text in BLOCKS if found == kind for line in text.splitlines()]


def options(line: str) -> None:
    """Raises where the command or one of its options does not exist."""
    program, group, name, *arguments = shlex.split(line)
    assert program == "conclave"
    found = load_command(group)
    assert isinstance(found, typer.core.TyperGroup)
    found.commands[name].make_context(name, arguments)


class TestGuide:
    def test_its_line_is_a_question(self) -> None:
        [line] = lines("json")
        assert GaiaQuestion.model_validate_json(line).expected == "28"

    @pytest.mark.parametrize("line", lines("sh"))
    def test_its_commands_exist_with_their_options(self, line: str) -> None:
        options(line)

    def test_it_counts_the_questions_that_come_along(self) -> None:
        told = {name: int(number) for name, number in re.findall(r"`(\w+)` \((\d+)", GUIDE)}
        assert told == {name: len(open_set(name).questions) for name in BUNDLED}
