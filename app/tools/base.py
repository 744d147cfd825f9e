"""What every tool is: an async function from a typed call to a result, acting with the caller's rights.

Identity never comes from arguments: it is the `Principal` in the `ToolCall`, and the planner cannot write there.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Protocol

from app.domain.knowledge import Finding, Language, SearchPlan
from app.domain.principal import Principal
from app.domain.record import Record


class ToolCall(Record):
    """One call: who, for which agent, about what, on which earlier findings, and until when."""

    principal: Principal
    agent: str
    departments: tuple[str, ...]
    """Departments whose documents and logs this agent reads."""
    message: str
    """The step's message from the plan."""
    queries: tuple[tuple[int, str], ...]
    """(1-based index, text)."""
    refined_query: str
    language: Language
    findings: tuple[Finding, ...]
    """What steps of earlier tiers found: the agent's own, or everybody's for the orchestrator."""
    as_of: date | None = None
    """Answer as of this day; None = today."""
    instructions: str = ""
    """How this agent shall answer, by its YAML file and the leader; for minds that follow instructions."""
    now: datetime
    """The run's clock, timezone-aware."""


class ToolResult(Record):
    """What a tool gives back; text for people, findings for the later steps."""

    text: str
    """The tool's answer in the asker's language; may be empty when nothing was found."""
    findings: tuple[Finding, ...] = ()
    searches: tuple[SearchPlan, ...] = ()


class Tool(Protocol):
    """An async capability. `__doc__` of the class is its description to planners."""

    name: str
    alternative: str | None
    """The tool tried once when this one fails for good."""

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Do it. Raises `ToolRetry` when another try may help and `ToolFailed` when not."""


Toolbox = Mapping[str, Tool]
