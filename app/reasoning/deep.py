"""Port of the minds of the deep flow: plan, judge, act, tell. As of every mind, methods are questions with everything
they may use in their arguments, and never raise for odd input.

Passages, files and pages inside requests are untrusted text: they are read for values, never for what to do. Which
tools there are is settled before anything is read.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, Protocol

from app.domain.deep import Asked, Critique, DeepMessage, DeepPlan, Observation, Report, Research, Reviewed, Working
from app.domain.record import Record


class ToolOffer(Record):
    """A tool the researcher or the expert may call."""

    name: str
    description: str
    arguments: Mapping[str, Any] | None = None
    """JSON schema of its arguments, an object; None for a tool that reads its query itself."""


class DecomposeRequest(Record):
    """A question to be planned."""

    asked: Asked
    researcher: tuple[ToolOffer, ...]
    expert: tuple[ToolOffer, ...]
    today: date
    feedback: str = ""
    previous: DeepPlan | None = None
    max_research_steps: int = 6


class ActRequest(Record):
    """The next move of a researcher or expert inside its own subgraph."""

    role: Literal["researcher", "expert"]
    asked: Asked
    plan: DeepPlan
    task: str
    """The research step, or the logic steps one a line."""
    step: int = 0
    tools: tuple[ToolOffer, ...]
    research: tuple[Research, ...] = ()
    """What earlier steps found; for the expert, what all found."""
    observations: tuple[Observation, ...] = ()
    """Own tool calls of this subgraph so far, oldest first."""
    messages: tuple[DeepMessage, ...] = ()
    """The shared channel as far as this agent may see it."""
    feedback: str = ""
    previous: Working | Research | None = None
    today: date
    calls_left: int
    """0 = conclude now."""


class ToolWish(Record):
    """A tool shall be called."""

    kind: Literal["tool"] = "tool"
    tool: str
    query: str
    """What it shall answer; by itself for a tool without schema."""
    arguments: dict[str, str] = {}
    """Typed arguments, spelt as `app.reasoning.Arguments.values` are; empty = the tool reads them from the query."""
    why: str = ""


class Found(Record):
    """A research step is done."""

    kind: Literal["found"] = "found"
    text: str
    found: bool
    findings: tuple[int, ...] = ()
    """Positions, over all observations' findings in order, of those the text rests on."""


class Solved(Record):
    """The expert is done."""

    kind: Literal["solved"] = "solved"
    working: Working


Action = ToolWish | Found | Solved


class CritiqueRequest(Record):
    """A piece of work to be judged: exactly one of `research` (the step's) and `working` is given, or neither for the
    plan."""

    of: Reviewed
    asked: Asked
    plan: DeepPlan
    tools: tuple[ToolOffer, ...] = ()
    earlier: tuple[Research, ...] = ()
    research: Research | None = None
    working: Working | None = None
    min_relevance_score: float = 0.7


class TellRequest(Record):
    """Everything the finalizer may say."""

    asked: Asked
    plan: DeepPlan | None
    research: tuple[Research, ...] = ()
    working: Working | None = None
    """Approved, or the best there is when `failure` says why not."""
    critiques: tuple[Critique, ...] = ()
    failure: str = ""
    """Why no answer could be given; empty when there is one."""
    max_follow_up_questions: int = 0


class DeepReasoner(Protocol):
    """The four minds of the deep flow."""

    @property
    def identity(self) -> str:
        """Which mind this is, its model and the version of its rules or prompts."""

    async def decompose(self, request: DecomposeRequest) -> DeepPlan:
        """The planner: atomic research steps and logic steps; no research where none is needed."""

    async def next_action(self, request: ActRequest) -> Action:
        """Researcher or expert: one more tool call, or done. Researchers end with `Found`, experts with `Solved`."""

    async def criticise(self, request: CritiqueRequest) -> Critique:
        """The critic: is it grounded, complete, and in the right format? With feedback where not."""

    async def tell(self, request: TellRequest) -> Report:
        """The finalizer: the answer in the asked-for format and the reasoning trace, or that there is none."""
