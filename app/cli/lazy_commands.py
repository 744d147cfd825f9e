"""The commands of `conclave`: where each stands and what a list says of it.

A command's module is imported when it is called, so that nobody waits for what the others need. A test compares the
list with the commands' own help. Commands of plug-ins stand below them in the list.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from app.plugins import COMMANDS, entries_of


class Place(NamedTuple):
    """Where a command stands."""

    module: str
    name: str
    """Of a function, or of a `typer.Typer` with commands of its own."""
    summary: str
    """The first paragraph of its help."""

    def load(self) -> Any:
        """The function, or the `typer.Typer`; imports its module."""
        return getattr(import_module(f"app.cli.{self.module}"), self.name)


PLACES = {
    "ingest": Place(
        "ingest", "ingest",
        "Bring documents in; what has not changed is skipped. The same external_id again makes a new version.",
    ),
    "explain-access": Place("access", "explain_access", "Say whether a user may read a document today, and why."),
    "serve": Place("serving", "serve", "Serve the API and the page."),
    "worker": Place(
        "serving", "worker",
        "Run questions, documents and steps of remote agents from their queues, on this or any other machine.",
    ),
    "ask": Place("questions", "ask", "Ask one question and print the answer with its evidence."),
    "chat": Place("questions", "chat", "Ask one question after another in one conversation; an empty line ends it."),
    "token": Place("people", "token", "Print a bearer token, and nothing else."),
    "seed": Place(
        "database", "seed",
        "Bring the demo tenants, users, documents and logs into the database; what is there already is skipped.",
    ),
    "doctor": Place("doctor", "doctor", "Print the settings (secrets hidden) and check that everything works."),
    "tenant": Place("people", "tenant_commands", "Tenants."),
    "user": Place("people", "user_commands", "Users of a tenant and what they may read."),
    "db": Place("database", "db_commands", "The database's schema."),
    "documents": Place("documents", "document_commands", "Documents of a tenant: look at them, delete them."),
    "mcp": Place("mcp", "mcp_commands", "MCP servers and their approved tools."),
    "eval": Place("evaluation", "eval_commands", "How good the answers are."),
}  # fmt: skip


class Commands(TyperGroup):
    """Lists its commands from `PLACES` and plug-ins; ``commands`` and a call give a command itself."""

    def __init__(self, **attrs: Any):
        super().__init__(**attrs)
        self._listed = dict(self.commands)
        self.commands = _Loaded()  # type: ignore[assignment]  # it is only read

    def list_commands(self, _ctx: Any) -> list[str]:
        """The names, in order."""
        return list(self.commands)

    def get_command(self, _ctx: Any, name: str) -> Any:
        """A stand-in of `stand_in`, which is all a list needs, or the command of a plug-in."""
        return self._listed.get(name) or self.commands.get(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is called."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, self.commands[name or ""], rest


class _Loaded(Mapping[str, TyperCommand | TyperGroup]):
    """Commands that are loaded when they are taken out; plug-ins are looked at only for what is not built in."""

    def __getitem__(self, name: str) -> TyperCommand | TyperGroup:
        place = PLACES.get(name) or _plugged_in()[name]
        import_module("app.telemetry").configure("WARNING")
        found = place.load()
        if isinstance(found, typer.Typer):
            group = get_group(found)
            group.name = name
            return group
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        command = get_command(alone)
        assert isinstance(command, TyperCommand)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter({**PLACES, **_plugged_in()})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _plugged_in() -> dict[str, EntryPoint]:
    """Commands of plug-ins; those of `conclave eval` are loaded there."""
    return {one.name: one for one in entries_of(COMMANDS) if "." not in one.name}


def stand_in() -> None:
    """Stands in a list for a command that is not loaded."""
    raise AssertionError("it is loaded before it is called")
