"""The two agents of the deep flow that use tools: `researcher` and `expert`, each one YAML file in ``deep/``.

They stand beside the registry of departments and pools, so no planner of the department flow is ever offered them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from app.agents.registry import read_spec
from app.agents.spec import AgentSpec
from app.domain.plan import FILES_TOOL, LOG_TOOL, RAG_TOOL, TRANSCRIPT_TOOL, WEB_TOOL, WIKIPEDIA_TOOL
from app.domain.principal import Principal
from app.domain.record import Record
from app.reasoning import AgentOffer
from app.reasoning.deep import ToolOffer
from app.tools.base import Toolbox
from app.tools.catalogue import describe, schema_for

Role = Literal["researcher", "expert"]
ROLES: tuple[Role, ...] = ("researcher", "expert")
FOLDER = Path(__file__).parent / "deep"
_READING = frozenset({RAG_TOOL, LOG_TOOL, WEB_TOOL, WIKIPEDIA_TOOL, TRANSCRIPT_TOOL})
"""Tools that read what is not the asker's own: on offer as far as some agent of the registry offers them."""


class UsableTool(Record):
    """A tool as one caller may use it."""

    offer: ToolOffer
    departments: tuple[str, ...] = ()
    """Whose documents and logs it reads."""


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
        self, role: Role, principal: Principal, agents: Sequence[AgentOffer], *, has_files: bool
    ) -> dict[str, UsableTool]:
        """The tools this caller may use, by name; settled before anything is read.

        Args:
            role: For whom.
            principal: Who asks.
            agents: The agents on offer to the caller, narrowed as the request asks. What none of them may read is not
                read here either.
            has_files: Whether files are attached to the question.
        """
        found: dict[str, UsableTool] = {}
        for own in self._specs[role].tools_for(principal):
            tool = self._toolbox.get(own.name)
            holders = [agent for agent in agents if own.name in agent.tools]
            if tool is None or (own.name in _READING and not holders) or (own.name == FILES_TOOL and not has_files):
                continue
            offer = ToolOffer(name=own.name, description=own.description or describe(tool), arguments=schema_for(tool))
            departments = dict.fromkeys(department for agent in holders for department in agent.departments)
            found[own.name] = UsableTool(offer=offer, departments=tuple(departments))
        return found
