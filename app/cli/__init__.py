"""The `conclave` command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not available (database, server).

A command's module is imported when it is called, and what tells of failures when there is one: a list of commands waits
for neither. A test compares the list with the commands' own help. Commands of plug-ins stand below them.
"""

import sys
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
    "key": Place("keys", "key_commands", "Keys by which programs come in."),
    "db": Place("database", "db_commands", "The database's schema."),
    "backup": Place("backup", "backup", "Copy the whole service into one new file, encrypted, while it runs."),
    "restore": Place("backup", "restore", "Bring a backup back, into an empty data directory or in place of another."),
    "upgrade": Place("backup", "upgrade", "Say what an upgrade of the database would do. Changes nothing."),
    "documents": Place("documents", "document_commands", "Documents of a tenant: look at them, delete them."),
    "audit": Place("audit", "audit_commands", "The audit: check it, take a copy of it."),
    "mcp": Place("mcp", "mcp_commands", "MCP servers and their approved tools."),
    "model": Place("models", "model_commands", "Models of this machine: pull, use and check them."),
    "eval": Place("evaluation", "eval_commands", "How good the answers are."),
}  # fmt: skip


def plugged_in() -> dict[str, EntryPoint]:
    """The commands of plug-ins by name; those of `conclave eval` are found there."""
    return {one.name: one for one in entries_of(COMMANDS) if "." not in one.name}


def load_command(name: str) -> TyperCommand | TyperGroup:
    """Import a command of `PLACES` or of a plug-in, and set logs up for it."""
    import_module("app.telemetry").configure("WARNING")
    if (place := PLACES.get(name)) is not None:
        found = getattr(import_module(f"app.cli.{place.module}"), place.name)
    else:
        found = plugged_in()[name].load()
    if isinstance(found, typer.Typer):
        group = get_group(found)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    command = get_command(alone)
    assert isinstance(command, TyperCommand)
    return command


class Commands(TyperGroup):
    """Lists what stands for its commands, and those of plug-ins; a call loads the command itself."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, those of plug-ins last."""
        return [*super().list_commands(ctx), *plugged_in()]

    def get_command(self, ctx: Any, name: str) -> Any:
        """What a list needs: a stand-in. Plug-ins are looked at for other names only, and not imported."""
        known = super().get_command(ctx, name)
        if known is not None or (entry := plugged_in().get(name)) is None:
            return known
        return TyperCommand(name, callback=_stand_in, help=f"From the plug-in {entry.module.rpartition('.')[0]}.")

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is called."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(name or ""), rest


def _stand_in() -> None:
    raise AssertionError("a command is loaded before it is called")


_HELP = (__doc__ or "").partition("\n\n")[0]
app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=_HELP)
for _name, _place in PLACES.items():
    app.command(_name, help=_place.summary)(_stand_in)


def main() -> None:
    """Run the command line; every expected failure becomes one sentence and an exit code."""
    try:
        app()
    except Exception as error:
        code = import_module("app.cli.output").print_failure(error, as_json="--json" in sys.argv)
        if code is None:
            raise
        raise SystemExit(code) from None
