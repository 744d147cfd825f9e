"""Find what can be plugged in: tools, faces, commands, MCP servers and parsers, built in or installed beside.

Both kinds are written the same way, ``name = "module:object [extra]"``: the built-in ones in the list a room passes to
`load_plugins`, the others as Python entry points of an installed package. docs/plugins.md says how to write one.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

from app.errors import AppError, ErrorCode

TOOLS, FACES, PARSERS, COMMANDS = "conclave.tools", "conclave.faces", "conclave.parsers", "conclave.commands"
SERVERS, QUESTIONS, SEEDS, SCANS = "conclave.mcp_servers", "conclave.questions", "conclave.seeds", "conclave.scans"
"""A server file is a `Path`; a reader of questions takes one and gives what a tool is to reckon, or None;
one of seeds brings more of a demo company in (see `extras.logs.demo`)."""
ARGUMENTS, WANTED, INSTRUMENTS = "conclave.arguments", "conclave.wanted", "conclave.instruments"
"""The first two are named as a tool is: what gives its arguments for a question, and what says whether a question asks
for it. The third is called once in a process before anything is opened, and may look at all of it."""
PluginT = TypeVar("PluginT")
_PROJECT = Path(__file__).parents[1] / "pyproject.toml"


class PluginError(AppError):
    """A plug-in that cannot be used as it is; the service does not start with it."""

    def __init__(self, detail: str):
        super().__init__(ErrorCode.VALIDATION_FAILED, detail)


@dataclass(frozen=True)
class Plugins(Generic[PluginT]):
    """What one group holds."""

    found: Mapping[str, PluginT]
    """By name: the built-in ones as they are listed, then the others by name."""
    missing: Mapping[str, str]
    """Name to reason, for what stands on a library that is not installed."""


def load_plugins(group: str, built_in: Mapping[str, str], kind: type[PluginT]) -> Plugins[PluginT]:
    """Import everything in `group`; a plug-in that needs a library nobody installed is reported as missing.

    Raises `PluginError` when one cannot be imported for another reason, is no `kind`, or when two have one name.
    """
    found: dict[str, PluginT] = {}
    missing: dict[str, str] = {}
    for entry in (*(EntryPoint(name, value, group) for name, value in built_in.items()), *entries_of(group)):
        if entry.name in found or entry.name in missing:
            raise PluginError(f"{group}: two plug-ins are called {entry.name}; the second comes from {_origin(entry)}.")
        try:
            found[entry.name] = _load(entry, kind)
        except _LibraryMissing as reason:
            missing[entry.name] = str(reason)
    return Plugins(found, missing)


class _LibraryMissing(Exception):
    """A library that a plug-in imports is not installed."""


def entries_of(group: str) -> list[EntryPoint]:
    """The entry points of `group` by name: those of installed packages, and of `extras` where it lies beside `app`."""
    bundled = _declared().get(group, {}).items()
    entries = (*(EntryPoint(name, value, group) for name, value in bundled), *entry_points(group=group))
    # A package that is installed twice (as a wheel and from its folder) names the same object twice.
    found = {(entry.name, entry.module, entry.attr): entry for entry in entries}
    return [found[key] for key in sorted(found) if not _is_left_out(found[key])]


@cache
def _declared() -> Mapping[str, Any]:
    """The entry points `extras` declares, by group, of a checkout that may never have been installed."""
    project: dict[str, Any] = tomllib.loads(_PROJECT.read_text("utf-8"))["project"] if _PROJECT.is_file() else {}
    declared: Mapping[str, Any] = project.get("entry-points", {})
    return declared


def _is_left_out(entry: EntryPoint) -> bool:
    """Whether the entry is one of our extras, and this installation does not have it."""
    package = ".".join(entry.module.split(".")[:2])
    return package.startswith("extras.") and (find_spec("extras") is None or find_spec(package) is None)


def _load(entry: EntryPoint, kind: type[PluginT]) -> PluginT:
    """The object an entry names. Raises `_LibraryMissing`, `PluginError`."""
    where = f"{entry.group}: {entry.name} ({entry.value}, from {_origin(entry)})"
    try:
        plugin = entry.load()
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if not library or library == entry.module.partition(".")[0]:
            raise PluginError(f"{where} cannot be imported: {error}.") from error
        extra = f"[{','.join(entry.extras)}]" if entry.extras else ""
        raise _LibraryMissing(f"needs the library {library}: install {_origin(entry)}{extra}") from error
    except Exception as error:  # whatever a stranger's module raises while it is imported
        raise PluginError(f"{where} cannot be imported: {type(error).__name__}: {error}.") from error
    if not isinstance(plugin, kind):
        raise PluginError(f"{where} is a {type(plugin).__name__}, not a {kind.__name__}.")
    return plugin


def _origin(entry: EntryPoint) -> str:
    """The package an entry comes from."""
    return entry.dist.name if entry.dist is not None else "conclave"
