"""What a connector is written against: a source is listed, says what has changed and who may read, and hands out bytes.

An adapter is a `SourceKind` under the entry points ``conclave.connectors``. It tells two failures apart: `ItemRefused`
is about one thing, `SourceLost` about the source, after which nothing of it is believed.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from app.errors import AppError, ErrorCode
from app.plugins import load_plugins

CONNECTORS = "conclave.connectors"
MOST_ITEMS = 100_000
"""Things of one source; one that lists more is refused whole, as half a listing would look like a deletion."""


class SourceLost(Exception):
    """The source does not answer, answers with nonsense, or not to its end; the message says what to look at."""


class ItemRefused(Exception):
    """One thing cannot be had: it is too large, gone again, or not for the connector's account."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something a source lists."""

    source_id: str
    """What tells it from the others of the source for ever: a path with ``/``, relative to what is brought in."""
    tag: str = ""
    """Changes when the content does; empty = the source cannot say, so that it is fetched to see."""
    size: int | None = None
    """In bytes, where the source says it; not to be relied upon."""
    url: str = ""
    """Where people open it, with http or https; empty = the copy of this service."""
    file_name: str = ""
    """With the ending of its format; empty = the last part of `source_id`."""
    is_readable: bool = True
    """False = a thing or folder nobody may look into now: whatever is known of it, and below it, stays as it is."""

    @property
    def named(self) -> str:
        """The name it is read under."""
        return self.file_name or self.source_id.rpartition("/")[2]


class Source(Protocol):
    """One source, opened for one synchronisation. Every method does I/O and raises `SourceLost`."""

    def list(self) -> AsyncIterator[Item]:
        """Everything that is there now, to the end. A listing that ends early must raise."""
        ...

    async def changes(self) -> str:
        """A mark that is equal as long as nothing in the source has changed; empty where it cannot say."""
        ...

    async def access(self, item: Item) -> frozenset[str]:
        """The names of the lists (groups, labels) that may read a listed thing, as the source writes them."""
        ...

    async def fetch(self, item: Item, most_bytes: int) -> bytes:
        """The content. Raises `ItemRefused`, and never reads more than `most_bytes`."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and files."""
        ...


@dataclass(frozen=True)
class Reach:
    """What the operator lets the connectors of one tenant use."""

    hosts: tuple[str, ...] = ()
    """Hosts they may speak to, with a port where it is not the usual one."""
    folders: tuple[Path, ...] = ()
    """Folders of this machine they may read."""
    secret: str = field(default="", repr=False)
    """The one the connector names."""
    cache_dir: Path = Path()
    """For copies the source keeps between two synchronisations; this connector's own."""


@dataclass(frozen=True)
class SourceKind:
    """An adapter."""

    options: type[BaseModel]
    """What a definition says under ``source``; unknown keys must be refused."""
    open: Callable[[Any, Reach], Source]
    """A source by options and reach. No I/O. Raises `AppError` for what the reach does not cover."""
    has_lists: bool = False
    """Whether `access` ever names a list."""


@cache
def kinds() -> tuple[Mapping[str, SourceKind], Mapping[str, str]]:
    """(the adapters that are installed, by name; why others are missing)."""
    plugins = load_plugins(CONNECTORS, {}, SourceKind)
    return plugins.found, plugins.missing


def kind_named(name: str) -> SourceKind:
    """The adapter of this name. Raises `AppError` that lists those there are, or says what to install."""
    found, missing = kinds()
    if name in found:
        return found[name]
    told = f"it {missing[name]}" if name in missing else f"there are {', '.join(sorted(found))}"
    raise AppError(ErrorCode.PAYLOAD_INVALID, f"kind: {name[:64]!r} cannot be used; {told}.", status=422)
