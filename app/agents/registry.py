"""The agents of this service: built-in departments and pools and the operator's own files, checked once at start."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from app.agents.mcp_servers import McpServers
from app.agents.spec import AgentSpec, AgentTool, FileRefused, parse_yaml, problems, read_text
from app.domain.plan import FILES_TOOL, LOG_TOOL, OUTWARD_TOOLS, RAG_TOOL, SEARCH_TOOL
from app.domain.principal import SCOPES, Principal
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.reasoning import AgentOffer
from app.reasoning.deep import ToolOffer
from app.text.language import clean
from app.tools.base import Toolbox
from app.tools.catalogue import describe, known_tools, schema_for, tool_names

BUILT_IN = (Path(__file__).parent / "departments", Path(__file__).parent / "pools")
_MAX_DESCRIPTION_CHARS = 500


class _RequestedTool(Record):
    name: str
    description: str | None = Field(None, max_length=_MAX_DESCRIPTION_CHARS)


class _RequestedAgent(Record):
    """An entry of the caller's ``agents`` object (§1.1 of the flow)."""

    desc: str | None = Field(None, max_length=_MAX_DESCRIPTION_CHARS)
    tools: tuple[_RequestedTool, ...] | None = None
    """None = all the agent has."""


_REQUESTED = TypeAdapter(dict[str, _RequestedAgent])


class AgentSource(Record):
    """The file an agent was read from, as it was then."""

    path: Path
    text: str
    is_built_in: bool


class AgentRegistry:
    """Every agent by name: specialised ones first, in alphabetical order, then those that take what is left, then pools
    of tools."""

    def __init__(
        self, specs: Mapping[str, AgentSpec], tools: Mapping[str, str] | None = None,
        sources: Mapping[str, AgentSource] | None = None,
    ):  # fmt: skip
        """`tools`: see `load`; `sources`: the files, by agent."""
        ranked = sorted(specs.values(), key=lambda spec: (spec.is_pool, spec.is_fallback, spec.name))
        self._specs = {spec.name: spec for spec in ranked}
        self._tools = every_tool() if tools is None else tools
        self._sources = dict(sources or {})

    @classmethod
    def load(
        cls, folder: Path | None, tools: Mapping[str, str] | None = None, remote: Collection[str] = ()
    ) -> "AgentRegistry":
        """Read the built-in files and those of `folder`; blocks shortly. `tools`: every tool that works here with its
        description (None = all); `remote`: agents that are remote whatever their file says. Raises `FileRefused`."""
        tools = every_tool() if tools is None else tools
        specs: dict[str, AgentSpec] = {}
        sources: dict[str, AgentSource] = {}
        for path in _files(folder):
            text = read_text(path)
            spec = spec_in(path, text)
            if spec.name in specs:
                raise FileRefused(f"{path}: name: '{spec.name}' is already the name of {sources[spec.name].path}")
            known = {*tools, *tool_names()}
            # What a built-in file names beyond that stands in an extra that is left out.
            if path.parent not in BUILT_IN and (unknown := [one.name for one in spec.tools if one.name not in known]):
                raise FileRefused(f"{path}: tools: no MCP server offers {', '.join(unknown)}")
            specs[spec.name] = spec
            sources[spec.name] = AgentSource(path=path, text=text, is_built_in=path.parent in BUILT_IN)
        for name in remote:
            if name not in specs:
                raise FileRefused(f"remote_agents: there is no agent '{name}'; the agents are {', '.join(specs)}")
            specs[name] = specs[name].model_copy(update={"remote": True})
        return cls(specs, tools, sources)

    @property
    def names(self) -> tuple[str, ...]:
        """All agents, in the order they are offered."""
        return tuple(self._specs)

    @property
    def turned_off(self) -> dict[str, tuple[str, ...]]:
        """Tools that agents name and that do not work here, each with those agents."""
        named = dict.fromkeys(tool.name for spec in self._specs.values() for tool in spec.tools)
        return {
            tool: tuple(name for name, spec in self._specs.items() if tool in {one.name for one in spec.tools})
            for tool in named
            if tool not in self._tools
        }

    @property
    def remote(self) -> tuple[str, ...]:
        """Those whose steps are done by workers that serve their queue."""
        return tuple(name for name, spec in self._specs.items() if spec.remote)

    def spec(self, name: str) -> AgentSpec:
        """One agent. Raises `KeyError` when there is none of that name."""
        return self._specs[name]

    def source(self, name: str) -> AgentSource:
        """The file of one agent. Raises `KeyError` for an agent that was read from none."""
        return self._sources[name]

    def accessible_departments(self, principal: Principal) -> tuple[str, ...]:
        """Departments some agent reads and of which the caller may read at least one scope."""
        departments = dict.fromkeys(department for spec in self._specs.values() for department in spec.departments)
        return tuple(department for department in departments if _may_read_any(principal, department))

    def offers_for(self, principal: Principal, requested: Mapping[str, Any] | None) -> tuple[AgentOffer, ...]:
        """The agents and tools this caller may use, narrowed to those `requested` (``{"hr": {"desc": …, "tools":
        [{"name": …}]}}``; None or empty = all). Raises `AppError` (422) for another shape and for unknown names."""
        wanted = _read_request(requested) if requested else {name: _RequestedAgent() for name in self._specs}
        for name, asked in wanted.items():
            self._check_known(name, asked)
        belongs = bool(self.accessible_departments(principal))
        asked_for = [spec for name, spec in self._specs.items() if name in wanted]
        offers = [(spec, self._offer(spec, principal, wanted[spec.name])) for spec in asked_for]
        return tuple(own for spec, own in offers if own.tools and (own.departments or (belongs and spec.is_pool)))

    def _check_known(self, name: str, asked: _RequestedAgent) -> None:
        if name not in self._specs:
            raise _refused(f"There is no agent '{_printable(name)}'; the agents are {', '.join(self._specs)}.")
        own = [tool.name for tool in self._specs[name].tools]
        for tool in asked.tools or ():
            if tool.name not in own:
                raise _refused(f"Agent '{name}' has no tool '{_printable(tool.name)}'; its tools are {', '.join(own)}.")

    def _offer(self, spec: AgentSpec, principal: Principal, asked: _RequestedAgent) -> AgentOffer:
        usable = [tool for tool in spec.tools_for(principal) if tool.name in self._tools]
        tools = {tool.name: tool.description or self._tools[tool.name] for tool in usable}
        if asked.tools is not None:
            told = {tool.name: clean(tool.description or "").strip() for tool in asked.tools}
            tools = {name: told[name] or own for name, own in tools.items() if name in told}
        return AgentOffer(
            name=spec.name, description=clean(asked.desc or "").strip() or spec.description.vi, tools=tools,
            exemplars=spec.exemplars.all,
            departments=tuple(filter(lambda department: _may_read_any(principal, department), spec.departments)),
            types={tool.type: tool.name for tool in usable if tool.type and tool.name in tools},
            is_fallback=spec.is_fallback,
        )  # fmt: skip


def every_tool() -> dict[str, str]:
    """Name and description of every tool of the catalogue, turned on or not, and of our own MCP servers."""
    return known_tools() | McpServers.load(None).descriptions()


def read_spec(path: Path) -> AgentSpec:
    """One agent file. Raises `FileRefused`."""
    return spec_in(path, read_text(path))


def spec_in(path: Path, text: str) -> AgentSpec:
    """What the text of one agent file says. Raises `FileRefused` naming the file and every key that is wrong."""
    try:
        return AgentSpec.model_validate(parse_yaml(path, text))
    except ValidationError as error:
        raise FileRefused("\n".join(f"{path}: {problem}" for problem in problems(error))) from error


def _files(folder: Path | None) -> Iterator[Path]:
    for built_in in BUILT_IN:
        yield from sorted(built_in.glob("*.yaml"))
    if folder is None:
        return
    if not folder.is_dir():
        raise FileRefused(f"{folder}: there is no such folder of agent files")
    yield from sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))


def _read_request(requested: Mapping[str, Any]) -> dict[str, _RequestedAgent]:
    try:
        return _REQUESTED.validate_python(dict(requested))
    except ValidationError as error:
        raise _refused(f"agents.{next(problems(error))}.") from error


def _refused(detail: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, detail, status=422)


def _printable(name: str) -> str:
    """A name somebody sent, safe to repeat."""
    return clean(name)[:60]


def _may_read_any(principal: Principal, department: str) -> bool:
    return any(principal.may_read(scope, department) for scope in SCOPES)


Role = Literal["researcher", "expert"]
ROLES: tuple[Role, ...] = ("researcher", "expert")
FOLDER = Path(__file__).parent / "deep"
_READING = OUTWARD_TOOLS | {RAG_TOOL, LOG_TOOL}
"""Tools that read what is not the asker's own: on offer as far as some agent of the registry offers them."""


class UsableTool(Record):
    """A tool as one caller may use it."""

    offer: ToolOffer
    departments: tuple[str, ...] = ()


class Solvers:
    """Both specs, with the tools that are turned on."""

    def __init__(self, specs: Mapping[str, AgentSpec], toolbox: Toolbox):
        self._specs = specs
        self._toolbox = toolbox

    @classmethod
    def load(cls, toolbox: Toolbox) -> "Solvers":
        """Read the two files; blocks shortly. Raises `FileRefused`."""
        return cls({spec.name: spec for spec in map(read_spec, sorted(FOLDER.glob("*.yaml")))}, toolbox)

    def spec(self, role: Role) -> AgentSpec:
        """One of the two."""
        return self._specs[role]

    def usable(
        self, role: Role, principal: Principal, agents: Sequence[AgentOffer], *, has_files: bool,
        is_narrowed: bool = False,
    ) -> dict[str, UsableTool]:  # fmt: skip
        """The tools this caller may use, by name, settled before anything is read: what none of the `agents` on offer
        may read is not read here either. Searching the web needs no agent, unless the request names the agents."""
        found: dict[str, UsableTool] = {}
        of_servers = self._of_servers(agents) if role == "researcher" else ()
        for own in (*self._specs[role].tools_for(principal), *of_servers):
            tool = self._toolbox.get(own.name)
            holders = [agent for agent in agents if own.name in agent.tools]
            needs_holder = own.name in _READING and (own.name != SEARCH_TOOL or is_narrowed)
            if tool is None or (needs_holder and not holders) or (own.name == FILES_TOOL and not has_files):
                continue
            offer = ToolOffer(name=own.name, description=own.description or describe(tool), arguments=schema_for(tool))
            departments = dict.fromkeys(department for agent in holders for department in agent.departments)
            found[own.name] = UsableTool(offer=offer, departments=tuple(departments))
        return found

    def _of_servers(self, agents: Sequence[AgentOffer]) -> Iterator[AgentTool]:
        """What agents on offer ask MCP servers; servers that the expert computes with are left to it."""
        computing = {one.name.partition(".")[0] for one in self._specs["expert"].tools}
        names = dict.fromkeys(name for agent in agents for name in agent.tools if "." in name)
        yield from (AgentTool(name=name) for name in names if name.partition(".")[0] not in computing)
