"""Sources for the conformance suite of connectors: each can be filled, emptied, shared, and lost in the middle."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from app.connectors.definition import Grant
from app.connectors.source import Item, ItemRefused, Reach, SourceKind, SourceLost

_numbers = count(1)


class Place(Protocol):
    """A source somebody else runs."""

    kind: str
    source: dict[str, Any]
    """What a definition says of it."""
    grant: Grant
    secret: str
    has_lists: bool
    useless: int
    """Things it lists that are no documents."""
    whole_in: int
    """Answers that are enough for a whole synchronisation with one change; more than four = 9."""

    def named(self, name: str) -> str:
        """What it calls a file."""
        ...

    def write(self, name: str, content: str | bytes) -> None: ...

    def remove(self, name: str) -> None: ...

    def share(self, name: str, group: str | None) -> None:
        """Let a group read a thing; None = nobody any more."""
        ...

    def label(self, group: str) -> str:
        """What a rule calls the group."""
        ...

    def lose_after(self, answers: int | None) -> None:
        """Answer so many times more, then fail; None = always answer."""
        ...

    @property
    def fetches(self) -> int:
        """Contents that were handed out."""
        ...


@dataclass
class Shelf:
    """A source in memory."""

    kind: str = "memory"
    secret: str = ""
    has_lists: bool = True
    useless: int = 0
    whole_in: int = 9
    grant: Grant = field(default_factory=Grant)
    number: int = field(default_factory=lambda: next(_numbers))
    files: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    listed: list[Item] = field(default_factory=list)
    """Listed besides the files."""
    fetches: int = 0
    left: int | None = None
    mark: str = ""
    pause: float = 0
    """Seconds before a listing begins."""

    def __post_init__(self) -> None:
        self.source = {"shelf": self.number}
        SHELVES[self.number] = self

    def named(self, name: str) -> str:
        return name

    def write(self, name: str, content: str | bytes) -> None:
        self.files[name] = content.encode() if isinstance(content, str) else content, f"v{next(_numbers)}"

    def remove(self, name: str) -> None:
        del self.files[name]

    def share(self, name: str, group: str | None) -> None:
        self.lists.pop(name, None)
        if group is not None:
            self.lists[name] = group

    def label(self, group: str) -> str:
        return f"group:{group}"

    def lose_after(self, answers: int | None) -> None:
        self.left = answers

    def answer(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise SourceLost("It answers 500.")


SHELVES: dict[int, Shelf] = {}


class ShelfOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")
    shelf: int


class ShelfSource:
    """Reads a shelf."""

    def __init__(self, shelf: Shelf):
        self.shelf = shelf

    async def list(self) -> AsyncIterator[Item]:
        await asyncio.sleep(self.shelf.pause)
        for name, (content, tag) in list(self.shelf.files.items()):
            self.shelf.answer()
            yield Item(name, tag, len(content))
        for item in self.shelf.listed:
            yield item
        self.shelf.answer()

    async def changes(self) -> str:
        return self.shelf.mark

    async def access(self, item: Item) -> frozenset[str]:
        found = self.shelf.lists.get(item.source_id)
        return frozenset() if found is None else frozenset({self.shelf.label(found)})

    async def fetch(self, item: Item, most_bytes: int) -> bytes:
        self.shelf.answer()
        self.shelf.fetches += 1
        content = self.shelf.files[item.source_id][0]
        if len(content) > most_bytes:
            raise ItemRefused("too large")
        return content

    async def aclose(self) -> None:
        return


def _open(options: ShelfOptions, _reach: Reach) -> ShelfSource:
    return ShelfSource(SHELVES[options.shelf])


MEMORY = SourceKind(ShelfOptions, _open, has_lists=True)
