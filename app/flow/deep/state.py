"""All that a deep run has to know to go on: one frozen record, which is stored as JSON after every orchestrator visit.

Every change is a pure function from a state to the next one; `orchestrate` says which stage follows.
"""

from datetime import date
from typing import Any, Literal

from pydantic import Field

from app.agents.step import StepOutcome
from app.domain.answer import FlowAction
from app.domain.conflicts import Conflict
from app.domain.deep import Asked, Critique, DeepMessage, DeepPlan, Observation, Research, Reviewed, Stage, Working
from app.domain.knowledge import Finding
from app.domain.record import Record
from app.reasoning import Composition, ResolvedPoint


class DeepLimits(Record):
    """Per stage and research step; deadline and budget are the run's, shared by all."""

    max_plan_tries: int = Field(3, ge=1)
    max_research_tries: int = Field(2, ge=1)
    max_expert_tries: int = Field(3, ge=1)
    max_tool_calls: int = Field(6, ge=0)
    """Of one visit to the researcher or the expert."""
    max_research_steps: int = Field(6, ge=0)
    """Of a plan; further ones are left out."""

    @property
    def most_visits(self) -> int:
        """Node visits that one run can have at most, in the graph and in either subgraph: more is a bug."""
        tries = self.max_plan_tries + self.max_research_tries * self.max_research_steps + self.max_expert_tries
        return max(4 * tries, 2 * self.max_tool_calls) + 8


VERSION = 2
"""Of the stored form; a state of another version is not gone on with."""
Cause = Literal["plan", "research", "expert", "deadline", "budget"]
"""Why a run gives up: the tries of a stage are used up, or what all stages share is."""


class Talk(Record):
    """The state a subgraph has of its own: its messages and its tool calls."""

    messages: tuple[DeepMessage, ...] = ()
    """Of the shared channel, those it may see; renewed by the orchestrator before each visit."""
    observations: tuple[Observation, ...] = ()
    """Every tool call of this agent for this piece of work, oldest first."""
    calls: int = 0
    """Tool calls of this visit; work that was sent back has its calls anew."""


class DeepState(Record):
    """One deep run between two stages."""

    version: int = VERSION
    asked: Asked
    said: str
    """The asker's own words: addresses and figures of tool calls may come from here, not from what a mind wrote."""
    searched_on: date | None = None
    """The day whose documents are read; None = today."""
    reply: Composition | None = None
    """What is said where nothing was asked."""

    plan: DeepPlan | None = None
    is_plan_approved: bool = False
    asks_approval: bool = False

    research: tuple[Research, ...] = ()
    """Approved, in the order of the plan."""
    draft: Research | None = None
    """What the step after those found, not approved."""
    working: Working | None = None
    is_answer_approved: bool = False

    at_work: Stage | None = None
    """To whom the orchestrator gave the floor; None = it has to decide."""
    under_review: Reviewed | None = None
    """Whose work the critic has to look at; None = nobody's."""
    critiques: tuple[Critique, ...] = ()
    plan_tries: int = 0
    research_tries: int = 0
    expert_tries: int = 0
    stopped: Cause | None = None

    talks: dict[str, Talk] = {}
    """Of the subgraphs: ``researcher:1`` …, ``expert``."""
    messages: tuple[DeepMessage, ...] = ()
    calls: dict[str, int] = {}
    """Tool calls so far, by agent: they number the steps."""

    actions: tuple[FlowAction, ...] = ()
    outcomes: tuple[StepOutcome, ...] = ()
    """The tool calls as steps, for the run's figures; their quotes are in the observations only."""
    verdicts: tuple[Conflict, ...] = ()
    points: tuple[ResolvedPoint, ...] = ()
    """The same as the answer tells it."""

    @property
    def step(self) -> int:
        """The research step in hand, from 1; 0 = none is left."""
        done = len(self.research)
        return done + 1 if self.plan is not None and done < len(self.plan.research) else 0

    @property
    def task(self) -> str:
        """What is to be done by the plan: the research step in hand, else the logic steps; empty without a plan."""
        if self.plan is None:
            return ""
        return self.plan.research[self.step - 1] if self.step else "\n".join(self.plan.logic)

    @property
    def observations(self) -> tuple[Observation, ...]:
        """Every tool call whose result is still held."""
        done = (one for research in self.research for one in research.observations)
        return (*done, *(one for talk in self.talks.values() for one in talk.observations))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything tools came back with so far, also where nothing was found."""
        return tuple(finding for one in self.observations for finding in one.findings)

    @property
    def feedback(self) -> str:
        """Of the last critique, when work was sent back."""
        return self.critiques[-1].feedback if self.critiques and not self.critiques[-1].approved else ""

    def talk(self, key: str) -> Talk:
        """A subgraph's own state; a fresh one before its first visit."""
        return self.talks.get(key) or Talk()

    def but(self, **changes: Any) -> "DeepState":
        """The same state with some fields changed."""
        return self.model_copy(update=changes)

    def with_talk(self, key: str, talk: Talk) -> "DeepState":
        """The same with a subgraph's state changed."""
        return self.but(talks={**self.talks, key: talk})

    def dump(self) -> dict[str, Any]:
        """As JSON; `load` reads it."""
        return {**self.model_dump(mode="json", exclude_unset=True), "version": self.version}

    @classmethod
    def load(cls, value: dict[str, Any]) -> "DeepState":
        """A dumped state. Raises `ValueError` for another shape or version."""
        if value.get("version") != VERSION:
            raise ValueError(f"a state of version {value.get('version')}, not {VERSION}")
        return cls.model_validate(value)


def decided(state: dict[str, Any], *, approved: bool, feedback: str = "") -> dict[str, Any]:
    """A parked state with a person's decision in it: approved, the run goes on; refused, the planner plans again with
    the feedback. Raises `ValueError` for what is no dumped state with a plan."""
    parked = DeepState.load(state)
    if parked.plan is None:
        raise ValueError("there is no plan to decide about")
    if approved:
        return parked.but(asks_approval=False).dump()
    critique = Critique(of="planner", approved=False, feedback=feedback)
    again = parked.but(
        is_plan_approved=False, plan_tries=0, critiques=(*parked.critiques, critique),
        messages=(*parked.messages, DeepMessage(sender="orchestrator", receiver="planner", content=feedback)),
    )  # fmt: skip
    return again.dump()
