"""What is listed of commands is true, and a command that only talks to a server loads nothing of the house."""

import json
import subprocess
import sys

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from app.cli import PLACES, Commands, load_command
from app.cli import app as command_line

pytestmark = pytest.mark.slow

HEAVY = {
    "alembic", "langgraph", "langsmith", "mcp", "onnxruntime", "openai", "pgqueuer", "pint", "redis", "sentencepiece",
    "uvicorn", "app.agents.registry", "app.api.deps", "app.evaluation.running", "app.flow", "app.main.http",
    "app.main.services", "app.reasoning.local", "app.retrieval.search", "app.tasks.worker",
}  # fmt: skip
NOWHERE = ["--server", "http://127.0.0.1:9"]
WITHOUT_THE_HOUSE = [
    ["--help"],
    ["ask", "--help"],
    ["ask", "?", *NOWHERE],
    ["logs", "ingest", "-", "--tenant", "acme", *NOWHERE],
    ["documents", "list", "--tenant", "acme", *NOWHERE],
    ["ingest", __file__, "--tenant", "acme", *NOWHERE],
    ["token", "--department", "it", "--permissions", "public", "--help"],
]
LOADED = """
import json, os, sys
from app.cli import main
for arguments in json.loads(sys.argv[1]):
    if os.fork():
        os.wait()
        continue
    sys.argv[1:], code = arguments, 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    print("\\nLOADED", json.dumps([code or 0, *sys.modules]), flush=True)
    os._exit(0)
"""
"""Runs each command in a copy of a process that has imported no more than the command line."""


@pytest.fixture(scope="module")
def group() -> Commands:
    command = get_command(command_line)
    assert isinstance(command, Commands)
    return command


class TestTable:
    @pytest.mark.parametrize("name", PLACES)
    def test_says_what_the_command_says_of_itself(self, name: str) -> None:
        command = load_command(name)
        assert command.name == name
        assert " ".join((command.help or "").partition("\n\n")[0].split()) == PLACES[name].summary

    def test_lists_every_command(self, group: Commands) -> None:
        told = CliRunner().invoke(command_line, ["--help"]).output
        assert group.list_commands(typer.Context(group)) == [*PLACES, "account", "connector", "logs"]
        assert [name for name in PLACES if f" {name} " not in told] == []

    def test_a_group_has_its_own_commands(self) -> None:
        documents = load_command("documents")
        assert isinstance(documents, TyperGroup)
        assert {*documents.commands} == {"list", "show", "delete"}

    def test_a_command_of_a_plug_in_is_one_of_them(self, group: Commands) -> None:
        logs, listed = load_command("logs"), group.get_command(typer.Context(group), "logs")
        assert isinstance(logs, TyperGroup) and logs.name == listed.name == "logs"
        assert {*logs.commands} == {"ingest", "prune"}

    def test_an_unknown_command_is_told_with_the_nearest_one(self) -> None:
        result = CliRunner().invoke(command_line, ["asq"])
        assert result.exit_code == 2
        assert "'ask'" in result.output


@pytest.fixture(scope="module")
def loaded() -> list[set[str]]:
    """The modules in a process with what needs the database alone, and then with the whole service."""
    steps = ("app.main.storage, app.cli.people, app.cli.access, app.cli.documents", "app.main.services, app.main.http")
    program = "import sys\n" + "".join(f"import {modules}\nprint(*sys.modules)\n" for modules in steps)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return [set(line.split()) for line in done.stdout.splitlines()]


class TestLoading:
    def test_loads_nothing_of_the_house(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", LOADED, json.dumps(WITHOUT_THE_HOUSE)], capture_output=True, text=True, check=True,
            timeout=60,
        )  # fmt: skip
        ends = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("LOADED ")]
        for arguments, (code, *loaded) in zip(WITHOUT_THE_HOUSE, ends, strict=True):
            assert code == (3 if NOWHERE[0] in arguments else 0), (arguments, done.stderr)
            assert "app.cli" in loaded
            assert HEAVY.intersection(loaded) == set(), arguments

    def test_what_needs_the_database_alone_loads_neither_a_model_nor_an_agent(self, loaded: list[set[str]]) -> None:
        assert "app.cli.people" in loaded[0]
        assert HEAVY & loaded[0] == set()

    def test_a_service_without_model_and_redis_loads_neither_library(self, loaded: list[set[str]]) -> None:
        assert "app.main.services" in loaded[1]
        assert not {"openai", "redis"} & loaded[1]
