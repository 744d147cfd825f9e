"""What models are asked to reply, one shape a purpose. Field names are told in the prompts."""

from typing import Annotated, Literal

from pydantic import Field

from app.claims import Polarity
from app.reasoning.llm.structured import Shape

_Text = Annotated[str, Field(max_length=4_000)]
_Short = Annotated[str, Field(max_length=400)]


class AssignmentShape(Shape):
    """What one agent is asked."""

    agent: _Short
    queries: Annotated[list[_Text], Field(max_length=20)]
    tools: Annotated[list[_Short], Field(max_length=10)]


class PlanShape(Shape):
    """``plan``."""

    kind: Literal["chitchat", "question"]
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
    answer: _Text
    quotes: Annotated[list[QuoteShape], Field(max_length=20)]
    confidence: Annotated[float, Field(ge=0, le=1)]


class SummaryShape(Shape):
    """``summarise``."""

    text: _Text
    sources: Annotated[list[int], Field(max_length=100)]


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


class ClaimShape(Shape):
    """What a quote states."""

    n: int
    quote: _Text
    subject: _Short
    attribute: _Short
    value: _Short
    polarity: Polarity


class ClaimsShape(Shape):
    """``claims``."""

    claims: Annotated[list[ClaimShape], Field(max_length=60)]


class ReviewShape(Shape):
    """``review``."""

    approved: bool
    reason: _Short
