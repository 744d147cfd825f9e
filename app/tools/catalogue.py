"""Every tool agents may call: one file a tool, one line here, and those of installed packages (docs/plugins.md).

`build_toolbox` makes them all; `tool_names` are known without making any.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from types import MappingProxyType
from typing import Any

from app.domain.plan import CHANGES_TOOL, LOG_TOOL, OUTWARD_TOOLS, PYTHON_TOOL, UNIT_TOOL
from app.embedding import Embedder
from app.plugins import TOOLS, Plugins, load_plugins
from app.reasoning import Reasoner
from app.storage.database import Database
from app.tools.base import Searcher, Tool, Toolbox
from app.tools.files import FileReader, FilesTool, Runner
from app.tools.math import MathTool
from app.tools.rag import RagTool
from app.tools.summary import SummaryTool


@dataclass(frozen=True, eq=False)
class WebPorts:
    """What tools that read the web are built from. Two are the same only where they are one."""

    hosts: frozenset[str]
    """The hosts the operator named, as he wrote them; a tool reaches no others."""
    private_hosts: frozenset[str]
    """Those of them that may lead into a private network."""
    embedder: Embedder | None
    wikipedia_base_url: str
    search_url: str = ""
    """Of the operator's search engine; empty = there is none."""


@dataclass(frozen=True)
class ToolPorts:
    """Everything a tool may be built from."""

    retriever: Searcher
    reasoner: Reasoner
    database: Database
    min_relevance_score: float
    files: FileReader | None = None
    """Files attached to questions; None = there are none."""
    tables: Runner | None = None
    """Computes on tables of attached files in a confined process; None = there are no files."""
    web: WebPorts | None = None
    """What lies outside; None = nothing may be reached."""
    concepts: Callable[[str], frozenset[str]] = lambda text: frozenset()
    """What a text names in any language; by default documents are known by their words alone."""


@dataclass(frozen=True)
class ToolPlugin:
    """A tool, and how it is made; one that is turned off is made as None. If it has an ``aclose``, that is awaited when
    the service ends."""

    kind: type[Tool]
    make: Callable[[ToolPorts], Tool | None]


def _files_tool(ports: ToolPorts) -> Tool | None:
    if ports.files is None or ports.tables is None:
        return None
    return FilesTool(ports.files, ports.reasoner, ports.min_relevance_score, ports.tables)


_CATALOGUE = (
    ToolPlugin(RagTool, lambda ports: RagTool(ports.retriever, ports.reasoner, ports.min_relevance_score)),
    ToolPlugin(SummaryTool, lambda ports: SummaryTool(ports.reasoner)),
    ToolPlugin(MathTool, lambda ports: MathTool(ports.reasoner)),
    ToolPlugin(FilesTool, _files_tool),
)
"""The built-in tools: one is added here, and nowhere else."""
_OF_EXTRAS = (CHANGES_TOOL, LOG_TOOL, *sorted(OUTWARD_TOOLS), PYTHON_TOOL, UNIT_TOOL)


@cache
def catalogue() -> tuple[ToolPlugin, ...]:
    """Every tool there is: the built-in ones, then those of installed packages. Raises `PluginError`."""
    return (*_CATALOGUE, *plugged_in_tools().found.values())


def plugged_in_tools() -> Plugins[ToolPlugin]:
    """Those of installed packages, with those whose library is missing. Raises `PluginError`."""
    return load_plugins(TOOLS, {}, ToolPlugin)


def tool_names() -> tuple[str, ...]:
    """Every tool an agent file may name besides those of MCP servers; those of `extras` are turned off where they
    are left out."""
    built = (plugin.kind.name for plugin in catalogue())
    return tuple(dict.fromkeys((*built, *_OF_EXTRAS)))


def build_toolbox(ports: ToolPorts, further: Iterable[Tool] = ()) -> Toolbox:
    """The tools of the catalogue that are turned on, and `further` ones, by name; built once for the whole process.

    Does no I/O. Raises `ValueError` when two tools have one name.
    """
    built: dict[str, Tool] = {}
    for tool in (*(plugin.make(ports) for plugin in catalogue()), *further):
        if tool is None:
            continue
        if tool.name in built:
            raise ValueError(f"two tools are called {tool.name}")
        built[tool.name] = tool
    return MappingProxyType(built)


def descriptions(toolbox: Toolbox) -> dict[str, str]:
    """What each tool does, one sentence."""
    return {name: describe(tool) for name, tool in toolbox.items()}


def describe(tool: Tool | type[Tool]) -> str:
    """What a tool does: its own description, else the first line of its docstring."""
    own = getattr(tool, "description", "")
    return str(own) if isinstance(own, str) and own else (getdoc(tool) or "").partition("\n")[0]


def schema_for(tool: Tool) -> Mapping[str, Any] | None:
    """JSON schema of the arguments a mind may choose for a tool; None where it reads its query itself."""
    own = getattr(tool, "input_schema", None)
    return own if isinstance(own, Mapping) else None


def known_tools() -> dict[str, str]:
    """Name and description of every tool of the catalogue, turned on or not."""
    return {plugin.kind.name: describe(plugin.kind) for plugin in catalogue()}
