"""What the stages of the deep flow hand on: a plan of atomic steps, what each research step found, how the expert
worked the answer out, what the critic says of it, and the messages between them."""

from typing import Literal

from pydantic import Field

from app.domain.knowledge import Finding, Language
from app.domain.record import Record

Stage = Literal["planner", "researcher", "expert", "critic", "finalizer"]
Reviewed = Literal["planner", "researcher", "expert"]
Party = Literal["orchestrator", "planner", "researcher", "expert", "critic", "finalizer"]
AnswerStyle = Literal["sentence", "short"]
"""``short`` gives the bare answer, as exact-match scoring compares it: ``17``, ``Hà Nội``, ``12, 14``."""


class DeepPlan(Record):
    """Atomic steps: first what to find out, one piece of information each, then what to do with it, in order."""

    question: str
    research: tuple[str, ...] = ()
    """Each a request that can be carried out alone; empty when nothing has to be found out."""
    logic: tuple[str, ...] = Field(min_length=1)
    """Instructions to the expert: calculate, compare, count, summarise …"""
    answer_format: str = ""
    """How the asker wants the answer, in words of the question: ``in USD, two decimals``; empty = not said."""


class Observation(Record):
    """What one tool call of a researcher or expert gave."""

    tool: str
    query: str
    text: str
    """The tool's answer; of a failed call the reason."""
    failed: bool = False
    value: str = ""
    """The bare result of a computation, ``17`` or ``2026-05-04``; empty where the tool has none."""
    findings: tuple[Finding, ...] = ()


class Research(Record):
    """What one research step found."""

    step: int = Field(ge=1)
    task: str
    text: str
    """What was learned, in the asker's language; empty when nothing was."""
    found: bool
    findings: tuple[Finding, ...] = ()
    observations: tuple[Observation, ...] = ()


class Working(Record):
    """The expert's answer and how it was reached."""

    answer: str
    """The bare answer in the asked-for format; empty when it could not be worked out."""
    text: str
    """The answer as a sentence or a few; of a failure, why."""
    solved: bool
    steps: tuple[str, ...] = ()
    """What was done, a line each: ``15.000.000 / 26 × 3 = 1.730.769 đồng``."""
    confidence: float = Field(ge=0, le=1, default=0.0)
    findings: tuple[Finding, ...] = ()
    """What the answer rests on, of the research and of the expert's own tools."""
    observations: tuple[Observation, ...] = ()


class Critique(Record):
    """The critic's decision on one piece of work."""

    of: Reviewed
    approved: bool
    feedback: str = ""
    """What to do differently; empty when approved."""
    step: int = 0
    """The research step it is about; 0 = none."""


class DeepMessage(Record):
    """A message of the shared channel."""

    sender: Party
    receiver: Party
    content: str
    step: int = 0
    """The research step it is about; 0 = none."""


class Asked(Record):
    """What every stage may know of the question."""

    question: str
    language: Language
    style: AnswerStyle = "sentence"
    files: tuple[str, ...] = ()


class Report(Record):
    """What the finalizer says."""

    answer: str
    """Told to the asker: the answer, or an honest message that it could not be found."""
    reasoning: str
    solved: bool
    follow_up_questions: tuple[str, ...] = ()
    """What may be asked next, from the documents the answer rests on."""
