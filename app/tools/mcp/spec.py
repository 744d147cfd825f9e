"""A server as the operator writes it: how it is reached, who may use it, and how much it may take."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, TypeAdapter, ValidationError, field_validator, model_validator

from app.domain.principal import SCOPES, Principal, Scope
from app.domain.record import Record
from app.text.language import clean

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


NAME_PATTERN = r"^[a-z][a-z0-9_]{0,48}$"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_PASSED_ON = ("PATH", "LANG")
"""All a server's process sees of the environment, beside what its entry names."""


class ServerRefused(Exception):
    """A server cannot be used as it is configured; the message says what to change."""


class ServerLimits(Record):
    """What one server may take."""

    start_seconds: float = Field(15.0, gt=0, le=300)
    """From the first call to a checked tool list."""
    call_seconds: float = Field(20.0, gt=0, le=600)
    """For one call, waiting for a place included."""
    max_result_bytes: int = Field(262_144, ge=1024, le=16_777_216)
    """Of one answer, and of everything a server says beside it."""
    max_list_bytes: int = Field(1_048_576, ge=1024, le=16_777_216)
    """Of the tool list, all pages together."""
    max_tools: int = Field(200, ge=1, le=2000)
    max_concurrent: int = Field(4, ge=1, le=64)
    """Calls side by side."""
    idle_seconds: float = Field(300.0, gt=0)
    """Until an unused connection is closed."""


class ServerSpec(Record):
    """One entry of the servers file."""

    name: str = Field(pattern=NAME_PATTERN)
    """Stands before the names of its tools: ``math.mcp_sum``."""
    command: tuple[str, ...] = ()
    """The process to start, an argument each; ``python`` alone means the interpreter of this service."""
    env: tuple[str, ...] = ()
    """Names of the environment variables it gets besides PATH and LANG."""
    url: str = ""
    """Or the address of a streamable HTTP endpoint."""
    headers: dict[str, str] = {}
    """Sent with every request; ``${NAME}`` stands for an environment variable."""
    tools: tuple[str, ...] = ()
    """Tools that may be used; empty = every pinned one."""
    limits: ServerLimits = ServerLimits()
    shared_by: Literal["service", "tenant", "user"] = "service"
    """Whose calls share a connection, and with it whatever the server remembers between calls: a browser is for one
    user, a calculator serves everybody."""
    scopes: tuple[Scope, ...] = ()
    """The caller must hold all of these; empty = everyone. The strictest is the scope of what is found."""
    departments: tuple[str, ...] = ()
    """The caller must belong to one of these, or hold the role ``admin``; empty = everyone."""
    alternative: dict[str, str] = {}
    """Tool of this server to the tool tried when it fails: ``{mcp_evaluate: math_tool}``."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("say either command or url")
        if self.headers and not self.url:
            raise ValueError("headers are for servers with a url")
        if self.env and not self.command:
            raise ValueError("env is for servers with a command")
        return self

    @field_validator("url")
    @classmethod
    def _an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc):
            raise ValueError("an http(s) address without user and password is needed")
        return url

    @field_validator("headers")
    @classmethod
    def _plain_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        if wrong := [name for name, value in headers.items() if not _HEADER.fullmatch(name) or not value.isprintable()]:
            raise ValueError(f"not a header: {', '.join(wrong)}")
        return headers

    @property
    def scope(self) -> Scope:
        """Of what its tools find."""
        return max(self.scopes, key=SCOPES.index, default="public")

    def is_for(self, principal: Principal) -> bool:
        """Whether this caller may use the server."""
        belongs = not self.departments or principal.is_admin or bool(principal.departments & set(self.departments))
        return belongs and principal.scopes >= set(self.scopes)

    def owner(self, principal: Principal) -> str:
        """Whose connection this caller uses; it stays in this process and is never sent."""
        match self.shared_by:
            case "service":
                return ""
            case "tenant":
                return str(principal.tenant_id)
            case "user":
                return f"{principal.tenant_id}/{principal.user_id}"

    def process(self, environment: Mapping[str, str] = os.environ) -> tuple[list[str], dict[str, str]]:
        """Command line and whole environment of its process. Raises `ServerRefused` for a variable that is not set."""
        first, *rest = self.command
        passed = {name: environment[name] for name in _PASSED_ON if name in environment}
        return [sys.executable if first == "python" else first, *rest], passed | {
            name: self._variable(name, environment) for name in self.env
        }

    def sent_headers(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The headers with their variables filled in. Raises `ServerRefused` for one that is not set or not plain."""
        filled = {
            name: _VARIABLE.sub(lambda match: self._variable(match[1], environment), value)
            for name, value in self.headers.items()
        }
        if any(not value.isprintable() or not value.isascii() for value in filled.values()):
            raise ServerRefused(f"MCP server '{self.name}': a header's value is not plain text.")
        return filled

    def _variable(self, name: str, environment: Mapping[str, str]) -> str:
        if name not in environment:
            raise ServerRefused(f"MCP server '{self.name}': set the environment variable {name}.")
        return environment[name]
