"""Commands that are loaded when they are called: nobody waits for what the others need."""

from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class Place(NamedTuple):
    """Where a command stands, and what a list of commands says of it."""

    module: str
    name: str
    """Of a function, or of a `typer.Typer` with commands of its own."""
    told: str
    """The first paragraph of its help."""

    def load(self, name: str) -> TyperCommand | TyperGroup:
        """The command itself, called `name`; imports its module."""
        found = getattr(import_module(self.module), self.name)
        if isinstance(found, typer.Typer):
            group = get_group(found)
            group.name = name
            return group
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        command = get_command(alone)
        assert isinstance(command, TyperCommand)
        return command


class LaterGroup(TyperGroup):
    """Lists its commands from `places`; ``commands`` and a call give a command itself."""

    places: Mapping[str, Place] = {}

    def __init__(self, **attrs: Any):
        super().__init__(**attrs)
        self._listed = dict(self.commands)
        self.commands = _Loaded(self.places)

    def list_commands(self, _ctx: Any) -> list[str]:
        """The names, in order."""
        return list(self._listed)

    def get_command(self, _ctx: Any, name: str) -> Any:
        """The stand-in of `stand_in`, which is all a list needs."""
        return self._listed.get(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is called."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, self.commands[name or ""], rest


class _Loaded(UserDict[str, Any]):
    """Commands that are loaded when they are taken out."""

    def __getitem__(self, name: str) -> Any:
        return self.data[name].load(name)


def stand_in() -> None:
    """Stands in a list for a command that is not loaded."""
    raise AssertionError("it is loaded before it is called")
