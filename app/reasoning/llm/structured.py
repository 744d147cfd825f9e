"""Replies as records: a JSON schema goes out, strict reading comes back, one round of repair in between."""

import json
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from app.domain.knowledge import Language
from app.reasoning.budget import note_downgrade
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request
from app.reasoning.sentences import load

_OBJECT = re.compile(r"\{\s*[\"}]")
"""Where an object may begin; other braces are prose."""
_TRIES, _MAX_ERRORS = 2, 6
_ERROR_CHARS = 160


class Shape(BaseModel):
    """What a model is asked to reply. Fields nobody asked for are ignored: a model decides nothing by inventing one."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Reply = TypeVar("Reply", bound=Shape)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Question(Generic[Reply]):
    """One structured question; its prompt is named as its purpose is."""

    purpose: str
    language: Language
    told: str
    """What the prompt is about this time: the asker's words and data."""
    shape: type[Reply]
    max_tokens: int
    share: float
    """Of the time that is left."""
    instructions: str = ""
    """Of the prompt, the same over many questions."""
    check: Callable[[Reply], Sequence[str]] = lambda reply: ()
    """What is wrong beyond the schema, each as a sentence for the model."""


async def ask(ladder: Ladder, question: Question[Reply]) -> Reply:
    """The reply. A wrong one is shown its errors once. Raises `ModelFailed`."""
    messages = [*load(question.purpose, question.language).messages(question.told, question.instructions)]
    schema, repair = schema_of(question.shape), load("repair", question.language).text
    for _ in range(_TRIES):
        request = Request(messages, question.max_tokens, schema, question.purpose)
        said = await ladder.text(question.purpose, request, share=question.share)
        reply, errors = _read(said, question)
        if reply is not None:
            return reply
        told = repair.format(errors="\n".join(f"- {error}" for error in errors))
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": told}]
    raise ModelFailed(CallOutcome.MALFORMED)


async def or_else(
    purpose: str, asked: Awaitable[_Result], instead: Callable[[ModelFailed], _Result | Awaitable[_Result]]
) -> _Result:
    """What the model says; what comes `instead` when it fails or declines, which is noted in the run's account."""
    try:
        return await asked
    except ModelFailed as failure:
        note_downgrade(f"{purpose}: {failure.outcome}, done by rules")
        other = instead(failure)
        return await other if isinstance(other, Awaitable) else other


def _read(text: str, question: Question[Reply]) -> tuple[Reply | None, Sequence[str]]:
    """The reply, or what is wrong with it."""
    try:
        reply = question.shape.model_validate(parse(text))
    except ValidationError as invalid:
        found = invalid.errors(include_url=False, include_input=False)[:_MAX_ERRORS]
        return None, [f"{'.'.join(map(str, one['loc']))}: {one['msg']}"[:_ERROR_CHARS] for one in found]
    except ValueError as broken:
        return None, [str(broken)[:_ERROR_CHARS]]
    errors = question.check(reply)
    return (None, [error[:_ERROR_CHARS] for error in errors[:_MAX_ERRORS]]) if errors else (reply, ())


def parse(text: str) -> Any:
    """The one JSON object in a reply, whatever stands around it. Raises `ValueError` for duplicate keys, NaN, several,
    none."""
    start = _OBJECT.search(text)
    if start is None:
        raise ValueError("the reply holds no JSON object")
    try:
        value, end = _DECODER.raw_decode(text, start.start())
    except RecursionError as error:
        raise ValueError("the reply is nested too deeply") from error
    if _OBJECT.search(text, end):
        raise ValueError("the reply holds more than one JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return read


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


@cache
def schema_of(shape: type[Shape]) -> dict[str, Any]:
    """The JSON schema of a shape in the strict form: everything required, nothing else allowed, no defaults."""
    schema: dict[str, Any] = _strict(shape.model_json_schema())
    return schema


_LEFT_OUT = frozenset({"title", "default", "description", "maxLength", "minLength", "maxItems", "minimum", "maximum"})
"""What strict endpoints refuse or nobody needs; pydantic holds the bounds."""


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "properties" in node:
        properties = {name: _strict(one) for name, one in node["properties"].items()}
        rest = {key: _strict(item) for key, item in node.items() if key not in _LEFT_OUT and key != "properties"}
        return {**rest, "properties": properties, "required": list(properties), "additionalProperties": False}
    return {key: _strict(item) for key, item in node.items() if key not in _LEFT_OUT}
