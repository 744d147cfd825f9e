"""What an agent is: one record, read from one YAML file. ``docs/agents.schema.json`` describes the file to editors."""

import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, Literal, Self
from uuid import UUID

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from app.domain.plan import ORCHESTRATOR, PlannedStep
from app.domain.principal import Principal, Scope
from app.domain.record import Record
from app.domain.tasks import NewTask, PrivateContext, Task
from app.tasks.queue import IN_PROCESS
from app.text.language import BYTES_PER_TOKEN, estimated_tokens
from app.tools.catalogue import tool_names

LEAST_TOKENS = 40
"""Room for the frame and the hash."""
_FRAME_SHARE = 0.8


class FileRefused(Exception):
    """A file cannot be used; the message names file and key and says what is wrong."""


def read_yaml(path: Path) -> Any:
    """The content of one file. Raises `FileRefused`."""
    return parse_yaml(path, read_text(path))


def read_text(path: Path) -> str:
    """One file as it stands. Raises `FileRefused`."""
    try:
        return path.read_text("utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise FileRefused(f"{path}: {error}") from error


def parse_yaml(path: Path, text: str) -> Any:
    """The content of a file's text. Raises `FileRefused`, which names `path`."""
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise FileRefused(f"{path}: {error}") from error


def problems(error: ValidationError) -> Iterator[str]:
    """``tools.0.name: there is no tool 'x'`` for each thing that is wrong."""
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        key = ".".join(map(str, problem["loc"])) or "the file"
        yield f"{key}: {problem['msg'].removeprefix('Value error, ')}"


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping instead of forgetting the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                continue  # the base class says what is wrong with it
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key '{key}' stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


NAME_PATTERN = r"^[a-z][a-z0-9_]{0,48}$"
"""Names stand in plans, events and rows: short, lower case, no spaces."""
TYPE_PATTERN = r"^[a-z0-9_]{0,48}$"
SERVER_TOOL_PATTERN = r"^[a-z][a-z0-9_]{0,48}\.[A-Za-z0-9_.-]{1,128}$"
"""A tool of an MCP server; whether there is one is known when the agents are loaded."""
ALL_QUEUES = "all"


class Bilingual(Record):
    """A text in both languages; a plain string in the file stands for both."""

    vi: str = Field(min_length=1)
    en: str = Field(min_length=1)


class Exemplars(Record):
    """Typical questions and topics of the agent; a plain list in the file may mix the languages."""

    vi: tuple[str, ...] = ()
    en: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Both languages, each text once."""
        return tuple(dict.fromkeys((*self.vi, *self.en)))

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not any(text.strip() for text in self.all):
            raise ValueError("at least one exemplar is needed: questions are routed by them")
        return self


class AgentTool(Record):
    """A tool the agent may use, and who may use it through this agent; a plain name in the file is enough."""

    name: str
    """One of the catalogue, or ``server.tool`` of an MCP server."""
    type: str = Field("", pattern=TYPE_PATTERN)
    """The agent type of a pool this tool makes it: ``sum``, ``working_days``; planners choose by it."""
    description: str = ""
    """Shown to planners; empty = the tool's own description."""
    departments: tuple[str, ...] = ()
    """The caller must belong to one of these, or hold the role ``admin``; empty = everyone."""
    scopes: tuple[Scope, ...] = ()
    """The caller must hold all of these; empty = everyone."""

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in tool_names() and not re.fullmatch(SERVER_TOOL_PATTERN, name):
            raise ValueError(f"there is no tool '{name}'; the tools are {', '.join(tool_names())}")
        return name

    def is_for(self, principal: Principal) -> bool:
        """Whether this caller may use the tool."""
        belongs = not self.departments or principal.is_admin or bool(principal.departments & set(self.departments))
        return belongs and principal.scopes >= set(self.scopes)


class AgentSpec(Record):
    """A department agent, or a pool of tools that serves every department."""

    name: str = Field(pattern=NAME_PATTERN)
    """Unique among all agents; also what plans and answers call it."""
    description: Bilingual
    """What the agent knows about, as planners and people read it."""
    tools: tuple[AgentTool, ...] = Field(min_length=1)
    departments: tuple[str, ...] = ()
    """Whose documents and logs it reads; empty = the department of its own name, for a pool none."""
    is_pool: bool = False
    """Reads no documents: it computes or fetches, for whoever asks."""
    exemplars: Exemplars
    instructions: str = ""
    """How the agent shall answer; for reasoners that follow instructions."""
    answer_mode: Literal["model", "strict"] = "model"
    """``strict``: where a model is configured, answers this agent has a part in are literal quotes."""
    domain: str = ""
    """Its key in ``priority_by_domain``; empty = ``<name>_policies``."""
    is_fallback: bool = False
    """Takes the questions of no particular domain."""
    token_limit: int = Field(500, ge=LEAST_TOKENS)
    """Tokens an instruction to this agent may have."""
    timeout_ms: int | None = Field(None, ge=1)
    """For one step, all tries together; empty = the service's ``timeout_per_agent_ms``."""
    max_concurrency: int | None = Field(None, ge=1)
    """Steps of this agent at the same time over all workers, when it is remote; empty = no limit of its own."""
    remote: bool = False
    """Its steps are done by workers that serve its queue, on whatever machine; never in the leader's process."""

    @model_validator(mode="before")
    @classmethod
    def _read_short_forms(cls, value: Any) -> Any:
        """Let a file say ``description: text``, ``tools: [rag_tool]``, ``exemplars: [text, …]``; fill from the name."""
        if not isinstance(value, dict):
            return value
        read = dict(value)
        if isinstance(text := read.get("description"), str):
            read["description"] = {"vi": text, "en": text}
        if isinstance(texts := read.get("exemplars"), list):
            read["exemplars"] = {"vi": texts}
        if isinstance(tools := read.get("tools"), list):
            read["tools"] = [{"name": tool} if isinstance(tool, str) else tool for tool in tools]
        if isinstance(name := read.get("name"), str):
            read["departments"] = read.get("departments") or ([] if read.get("is_pool") else [name])
            read["domain"] = read.get("domain") or f"{name}_policies"
        return read

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        if name == ORCHESTRATOR:
            raise ValueError(f"'{ORCHESTRATOR}' is the leader's own name")
        if name in (*IN_PROCESS, ALL_QUEUES):
            raise ValueError(f"'{name}' is the name of a queue")
        return name

    @field_validator("tools")
    @classmethod
    def _each_once(cls, tools: tuple[AgentTool, ...]) -> tuple[AgentTool, ...]:
        names = [tool.name for tool in tools]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"named twice: {', '.join(sorted(twice))}")
        return tools

    def type_of(self, tool: str) -> str:
        """The agent type a tool makes it; empty for tools without one."""
        return next((own.type for own in self.tools if own.name == tool), "")

    def tools_for(self, principal: Principal) -> tuple[AgentTool, ...]:
        """The tools this caller may use through this agent, in the file's order."""
        return tuple(tool for tool in self.tools if tool.is_for(principal))


def new_step(root: Task, task_id: UUID, step: PlannedStep, token_limit: int, needs: PrivateContext) -> NewTask:
    """The row of one step of a run, with its compact instruction and the hash of what its agent restores."""
    return NewTask(
        task_id=task_id,
        session_id=root.session_id,
        parent_task_id=root.task_id,
        root_task_id=root.task_id,
        kind="step",
        title=step.step.label[:500],
        description=compact(step, token_limit, needs.context_hash),
        assignee_agent_id=step.step.agent,
        request={
            "node_id": step.node_id,
            "tool": step.step.tool,
            "queries": dict(step.queries),
            "context_hash": needs.context_hash,
        },
        token_limit=token_limit,
        deadline=root.deadline,
    )


def compact(step: PlannedStep, token_limit: int, context_hash: str) -> str:
    """The instruction for one step: ``Task: … | Format: … | Context: {hash}``, in the agent's token limit (§3.2 of the
    leader seed). The task is cut where the limit demands, the hash never; it names what else the agent needs."""
    ending = f" | Format: JSON | Context: {context_hash}"
    frame = f" | Tool: {step.step.tool} | Queries: {len(step.queries)}{ending}"
    if estimated_tokens(frame) > token_limit * _FRAME_SHARE:  # a long name: the context tells the rest
        frame = ending
    task = f"Task: {step.step.message}"
    whole = task + frame
    if estimated_tokens(whole) <= token_limit:
        return whole
    room = int((token_limit - 1) * BYTES_PER_TOKEN) - len(frame.encode()) - len("…".encode())
    return task.encode()[: max(room, 0)].decode("utf-8", "ignore") + "…" + frame
