"""The tool lists an administrator approved: names, descriptions and schemas, and the hash that holds them together.

They are kept in a JSON file beside the servers file, so that every tool is known at start without asking any server.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from app.domain.record import Record
from app.text.language import clean
from app.tools.mcp.spec import ServerRefused

if TYPE_CHECKING:
    from mcp.types import Tool as ListedTool

_MAX_NAME_CHARS = 128
_MAX_TOLD_CHARS = 500
_NAME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


class PinnedTool(Record):
    """A tool as it was listed, word for word."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None

    @property
    def told(self) -> str:
        """What planners read: one line, nothing invisible."""
        return " ".join(clean(self.description or self.title or self.name).split())[:_MAX_TOLD_CHARS]


class PinnedServer(Record):
    """An approved tool list."""

    sha256: str
    tools: tuple[PinnedTool, ...]


_LOCK = TypeAdapter(dict[str, PinnedServer])


def as_pinned(listed: Iterable["ListedTool"]) -> PinnedServer:
    """A list as a server tells it, in the order of the names.

    Raises `ServerRefused` for a name that stands twice or could be taken for something else.
    """
    tools = sorted((_tool(one) for one in listed), key=lambda tool: tool.name)
    names = [tool.name for tool in tools]
    for name in names:
        if not 0 < len(name) <= _MAX_NAME_CHARS or not set(name) <= _NAME_SIGNS:
            raise ServerRefused(f"a tool has a name that cannot be used: '{clean(name)[:40]}'")
    if len(set(names)) < len(names):
        raise ServerRefused("two tools have the same name")
    return PinnedServer(sha256=fingerprint(tools), tools=tuple(tools))


def fingerprint(tools: Iterable[PinnedTool]) -> str:
    """SHA-256 of a list in its one spelling: sorted by name and key, no spaces."""
    told = [tool.model_dump(mode="json") for tool in sorted(tools, key=lambda tool: tool.name)]
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_lock(path: Path) -> dict[str, PinnedServer]:
    """Every approved list of the file, by server; none when there is no file. Blocks shortly.

    Raises `ServerRefused` for a file that is damaged, and for a list that does not carry its own hash.
    """
    if not path.exists():
        return {}
    try:
        lock = _LOCK.validate_json(path.read_bytes())
    except ValidationError as damaged:
        raise ServerRefused(f"{path}: this is no lock file; pin the servers again: conclave mcp pin --all") from damaged
    for name, server in lock.items():
        if fingerprint(server.tools) != server.sha256:
            raise ServerRefused(f"{path}: the tools of '{name}' were edited; pin it again: conclave mcp pin {name}")
    return lock


def write_lock(path: Path, lock: Mapping[str, PinnedServer]) -> None:
    """Replace the file in one step."""
    text = json.dumps(
        {name: lock[name].model_dump(mode="json") for name in sorted(lock)},
        ensure_ascii=False,
        indent=1,
        sort_keys=True,
    )
    beside = path.with_suffix(".new")
    beside.write_text(text + "\n", "utf-8")
    beside.replace(path)


def changes(before: PinnedServer | None, after: PinnedServer) -> Iterator[str]:
    """The difference as lines an administrator can read; none = nothing changed."""
    yield from unified_diff(_lines(before), _lines(after), "approved", "offered", lineterm="")


def _lines(server: PinnedServer | None) -> list[str]:
    if server is None:
        return []
    told = [tool.model_dump(mode="json", exclude_none=True) for tool in server.tools]
    return json.dumps(told, ensure_ascii=True, indent=1, sort_keys=True).splitlines()


def _tool(listed: "ListedTool") -> PinnedTool:
    hints = listed.annotations
    return PinnedTool(
        name=listed.name,
        title=listed.title or "",
        description=listed.description or "",
        input_schema=listed.input_schema,
        output_schema=listed.output_schema,
        annotations=hints.model_dump(mode="json", by_alias=True, exclude_none=True) if hints else None,
    )
