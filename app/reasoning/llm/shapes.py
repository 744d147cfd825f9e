"""What models are asked to reply, one shape a purpose. Field names are told in the prompts."""

from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from app.reasoning.llm.structured import Shape

_Text = Annotated[str, Field(max_length=4_000)]
_Line = Annotated[str, Field(max_length=1_000)]
_Short = Annotated[str, Field(max_length=400)]


class AssignmentShape(Shape):
    """What one agent is asked."""

    agent: _Short
    queries: Annotated[list[_Text], Field(max_length=20)]
    tools: Annotated[list[_Short], Field(max_length=10)]


class PlanShape(Shape):
    """``plan``."""

    kind: Literal["chitchat", "question", "edit"]
    refined_query: _Text
    chitchat_response: _Text
    agents: Annotated[list[AssignmentShape], Field(max_length=20)]


class QuoteShape(Shape):
    """A sentence of a passage."""

    passage: int
    text: _Text


class AnswerShape(Shape):
    """``answer``."""

    found: bool
    quotes: Annotated[list[QuoteShape], Field(max_length=20)]


class StatementShape(Shape):
    """A statement written anew; empty where the sources do not hold it."""

    n: int
    text: _Text


class MendedShape(Shape):
    """``mend``."""

    statements: Annotated[list[StatementShape], Field(max_length=40)]


class NamedValue(Shape):
    """One argument of a tool with a schema; objects and lists as JSON text."""

    name: _Short
    value: _Text


class ArgumentsShape(Shape):
    """``arguments``."""

    expression: _Text
    unit: _Short
    terms: _Short
    level: _Short
    source: _Short
    period: _Short
    values: Annotated[list[NamedValue], Field(max_length=40)] = []
    missing: Annotated[list[_Short], Field(max_length=20)]
    grounds: Annotated[list[_Text], Field(max_length=20)]


def _any_of(schema: dict[str, Any]) -> None:
    """Strict endpoints know ``anyOf`` alone."""
    schema["anyOf"] = schema.pop("oneOf")
    schema.pop("discriminator", None)


class DeepPlanShape(Shape):
    """``deep_plan``."""

    research: Annotated[list[_Line], Field(max_length=20)]
    logic: Annotated[list[_Line], Field(max_length=20)]
    answer_format: _Short


class ToolShape(Shape):
    """A tool call."""

    kind: Literal["tool"]
    tool: _Short
    query: _Text
    arguments: Annotated[list[NamedValue], Field(max_length=20)]
    why: _Line


class FoundShape(Shape):
    """The end of a research step."""

    kind: Literal["found"]
    text: _Text
    found: bool
    sources: Annotated[list[int], Field(max_length=60)]


class SolvedShape(Shape):
    """The end of the expert's work."""

    kind: Literal["solved"]
    solved: bool
    answer: _Line
    text: _Text
    steps: Annotated[list[_Line], Field(max_length=20)]
    sources: Annotated[list[int], Field(max_length=60)]
    confidence: Annotated[float, Field(ge=0, le=1)]


class ActionShape(Shape):
    """What a researcher or expert does next."""

    action: ToolShape | FoundShape | SolvedShape


def _one_of(name: str, *kinds: type[Shape]) -> type[ActionShape]:
    """The shape of an action of one of these kinds."""
    told = Field(discriminator="kind", json_schema_extra=_any_of) if len(kinds) > 1 else Field()
    return create_model(name, __base__=ActionShape, action=(reduce(or_, kinds), told))


ACTIONS = {
    ("researcher", True): _one_of("ResearchShape", ToolShape, FoundShape),
    ("researcher", False): _one_of("ResearchEndShape", FoundShape),
    ("expert", True): _one_of("SolveShape", ToolShape, SolvedShape),
    ("expert", False): _one_of("SolveEndShape", SolvedShape),
}
"""What is asked of each role, by whether it may still call a tool."""


class CritiqueShape(Shape):
    """``deep_review``."""

    approved: bool
    feedback: _Line


class ReportShape(Shape):
    """``deep_tell``."""

    answer: _Text
    reasoning: Annotated[list[_Line], Field(max_length=30)]
