"""What models are asked to reply in the deep flow, one shape a purpose. Field names are told in the prompts."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.reasoning.llm.shapes import NamedValue
from app.reasoning.llm.structured import Shape

_Text = Annotated[str, Field(max_length=4_000)]
_Line = Annotated[str, Field(max_length=1_000)]
_Short = Annotated[str, Field(max_length=400)]


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


class ResearchShape(ActionShape):
    """``deep_research``."""

    action: Annotated[ToolShape | FoundShape, Field(discriminator="kind", json_schema_extra=_any_of)]


class ResearchEndShape(ActionShape):
    """``deep_research`` when no calls are left."""

    action: FoundShape


class SolveShape(ActionShape):
    """``deep_solve``."""

    action: Annotated[ToolShape | SolvedShape, Field(discriminator="kind", json_schema_extra=_any_of)]


class SolveEndShape(ActionShape):
    """``deep_solve`` when no calls are left."""

    action: SolvedShape


class CritiqueShape(Shape):
    """``deep_review``."""

    approved: bool
    feedback: _Line


class ReportShape(Shape):
    """``deep_tell``."""

    answer: _Text
    reasoning: Annotated[list[_Line], Field(max_length=30)]
