"""Tools agents may call. One file a tool, one line in the catalogue.

`build_toolbox` makes them all; `TOOL_NAMES` and `describe` are known without making any.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from types import MappingProxyType

from app.reasoning import Reasoner
from app.storage.database import Database
from app.tools.base import Tool, Toolbox
from app.tools.log import LogTool
from app.tools.math import MathTool
from app.tools.rag import RagTool, Searcher
from app.tools.summary import SummaryTool


@dataclass(frozen=True)
class ToolPorts:
    """Everything a tool may be built from."""

    retriever: Searcher
    reasoner: Reasoner
    database: Database
    min_relevance_score: float


_CATALOGUE: tuple[tuple[type[Tool], Callable[[ToolPorts], Tool]], ...] = (
    (RagTool, lambda ports: RagTool(ports.retriever, ports.reasoner, ports.min_relevance_score)),
    (SummaryTool, lambda ports: SummaryTool(ports.reasoner)),
    (MathTool, lambda ports: MathTool(ports.reasoner)),
    (LogTool, lambda ports: LogTool(ports.database, ports.reasoner)),
)
"""A tool is added here, and nowhere else."""
_DESCRIPTIONS: Mapping[str, str] = {kind.name: (getdoc(kind) or "").partition("\n")[0] for kind, _ in _CATALOGUE}
TOOL_NAMES = tuple(_DESCRIPTIONS)
"""Every tool an agent file may name."""


def build_toolbox(
    *, retriever: Searcher, reasoner: Reasoner, database: Database, min_relevance_score: float
) -> Toolbox:
    """All tools of the catalogue by name, built once for the whole process; does no I/O."""
    ports = ToolPorts(retriever, reasoner, database, min_relevance_score)
    built = (make(ports) for _, make in _CATALOGUE)
    return MappingProxyType({tool.name: tool for tool in built})


def describe(tool: str) -> str:
    """What a tool does, from its docstring: one sentence. Raises `KeyError` for a tool that does not exist."""
    return _DESCRIPTIONS[tool]
