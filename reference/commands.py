"""The page of the command line, from the commands themselves."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from app.cli import PLACES, app, load_command
from reference.markdown import code, paragraphs, prose, table, whole

_LEAD = (
    "`conclave COMMAND --help` prints the same. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not available "
    "(database, server). Every command reads the [settings](settings.md); those with `--server` can also ask a "
    "running service."
)
_ASIDE = re.compile(r"\s*\[(required|default|env var|x)[^\]]*\]")


def page() -> str:
    """Every command with its arguments and options."""
    root = typer.Context(get_command(app), info_name="conclave")
    return whole("Command line", _LEAD, list(_parts({name: load_command(name) for name in PLACES}, root)))


def _parts(commands: Mapping[str, Any], above: typer.Context) -> Iterator[str]:
    for name, command in sorted(commands.items()):
        here = typer.Context(command, info_name=name, parent=above)
        if isinstance(command, TyperGroup):
            yield from _parts(command.commands, here)
        elif isinstance(command, TyperCommand) and not command.hidden:
            yield _part(command, here)


def _part(command: TyperCommand, here: typer.Context) -> str:
    usage = " ".join(command.get_usage(here).removeprefix("Usage: ").split())
    records = [(one, one.get_help_record(here)) for one in command.params]
    rows = [[code(record[0]), _default(record[1]), _meaning(record[1])] for _, record in records if record]
    options = table(["argument or option", "default", "meaning"], rows)
    parts = [f"## conclave {_path(here)}", paragraphs(command.help), f"```text\n{usage}\n```", options]
    return "\n\n".join(part for part in parts if part)


def _path(here: typer.Context) -> str:
    return here.command_path.removeprefix("conclave ")


def _default(told: str) -> str:
    if told.endswith("required]"):
        return "required"
    found = re.search(r"\[(?:[^\]]*; )?default: ([^\];]*)", told)
    return code(found[1].strip()) if found else ""


def _meaning(told: str) -> str:
    variable = re.search(r"env var: ([A-Z_]+)", told)
    text = prose(_ASIDE.sub("", told))
    return f"{text} Also {code(variable[1])}.".strip() if variable else text
