"""Tools with typed arguments: a mind fills the arguments by their schema, pydantic checks them, the tool runs.

Such a tool is a class with a docstring, a record of arguments and one async method.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import JsonValue, ValidationError

from app.domain.knowledge import Language
from app.domain.record import Record
from app.errors import ToolFailed, ToolRetry
from app.reasoning import Arguments, Reasoner
from app.reasoning.budget import note_downgrade
from app.text.language import clean
from app.tools.base import ToolCall, ToolResult, outages_as_retry, sentence, side_by_side

_MAX_NAMES, _MAX_NAME_CHARS, _MAX_TOLD = 6, 60, 600
_TRUE, _FALSE = frozenset(("true", "yes", "1", "có", "đúng")), frozenset(("false", "no", "0", "không", "sai"))


class ArgumentsRefused(ToolFailed):
    """Arguments do not fit; the message says which or why. A model that read them is asked once more."""


def coerced(values: Mapping[str, str], schema: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Texts as the JSON values an object schema asks for; what it does not name is left out.

    A text that does not fit its type stays a text: whoever validates against the schema refuses it.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    return {name: _value(text, properties[name]) for name, text in values.items() if name in properties}


def not_understood(names: tuple[str, ...], language: Language) -> ArgumentsRefused:
    """The refusal of values that do not fit."""
    return ArgumentsRefused(sentence("arguments", "not_understood", language, names=_listed(names)))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(clean(name)[:_MAX_NAME_CHARS] for name in names[:_MAX_NAMES])


def _value(text: str, schema: Mapping[str, Any]) -> JsonValue:
    kinds = _kinds(schema)
    if "string" in kinds:
        return text
    try:
        if "boolean" in kinds and text.strip().lower() in _TRUE | _FALSE:
            return text.strip().lower() in _TRUE
        if "integer" in kinds and "number" not in kinds:
            return int(text)
        if "number" in kinds:
            return float(text) if any(mark in text for mark in ".eE") else int(text)
        parsed: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return parsed


def _kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    """The types a schema allows, also where it is a choice of schemas."""
    own = schema.get("type", ())
    kinds = {own} if isinstance(own, str) else set(own)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        kinds |= _kinds(choice)
    return frozenset(kinds)


A = TypeVar("A")
R = TypeVar("R", bound=Record)


class ArgumentTool(ABC, Generic[A]):
    """Base of tools whose arguments a mind fills in by a JSON schema; implements `Tool`."""

    name: str
    alternative: str | None = None

    def __init__(self, reasoner: Reasoner | None):
        """`reasoner` chooses arguments; None = every call gives them."""
        self._reasoner = reasoner

    @property
    @abstractmethod
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""

    @abstractmethod
    async def run(self, call: ToolCall, index: int, query: str, arguments: A) -> ToolResult:
        """Do it for one query (`index` from 1). Raises `ToolRetry` and `ToolFailed` as `Tool` does."""

    @abstractmethod
    async def check(self, values: dict[str, JsonValue], call: ToolCall) -> A:
        """The arguments these values are. Raises `ToolFailed` where they do not fit the schema."""

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Answer every query of the call, side by side.

        Raises `ToolFailed` with a sentence for the asker when arguments are missing or not understood, `ToolRetry` when
        the reasoner cannot be reached, and whatever `run` raises.
        """
        queries = call.queries or ((1, call.refined_query),)
        results = await side_by_side([self._answer(call, index, query) for index, query in queries])
        return results[0] if len(results) == 1 else joined(results)

    async def _answer(self, call: ToolCall, index: int, query: str) -> ToolResult:
        schema = self.input_schema
        found = await self._choose(call, query, schema)
        try:
            return await self._run_with(call, index, query, found)
        except ArgumentsRefused as refused:
            told = f"{json.dumps(dict(found.values), ensure_ascii=False)[:_MAX_TOLD]}\n{str(refused)[:_MAX_TOLD]}"
            # Without findings: what a server says draws out nothing but words of the question and what was tried.
            again = await self._choose(call.model_copy(update={"findings": ()}), query, schema, told)
            if again.values == found.values:
                raise
            note_downgrade(f"{self.name}: arguments were refused, read once more")
            try:
                return await self._run_with(call, index, query, again)
            except ToolRetry as late:
                raise ToolFailed(str(late)) from late

    async def _run_with(self, call: ToolCall, index: int, query: str, found: Arguments) -> ToolResult:
        schema = self.input_schema
        unfilled = tuple(name for name in schema.get("required", ()) if not found.values.get(name, "").strip())
        if unfilled:
            listed = _listed(found.missing or unfilled)
            raise ToolFailed(sentence("arguments", "missing", call.language, missing=listed))
        return await self.run(call, index, query, await self.check(coerced(found.values, schema), call))

    async def _choose(self, call: ToolCall, query: str, schema: Mapping[str, Any], refused: str = "") -> Arguments:
        """What a mind has chosen already, or chooses now, after what was `refused` if anything was."""
        if call.given is not None:
            return Arguments(values=dict(call.given))
        assert self._reasoner is not None
        with outages_as_retry("The reasoner"):
            return await self._reasoner.arguments(self.name, query, call.findings, call.language, schema, refused)


class TypedTool(ArgumentTool[R]):
    """Base of tools whose arguments are a record. The first line of the docstring tells planners what the tool does."""

    arguments: type[R]
    """What a mind may fill in; the descriptions of its fields tell it how. Never anything about who asks."""

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        return schema_of(self.arguments)

    async def check(self, values: dict[str, JsonValue], call: ToolCall) -> R:
        """The record these values make. Raises `ToolFailed`."""
        try:
            return self.arguments.model_validate(values)
        except ValidationError as invalid:
            names = tuple(dict.fromkeys(str(error["loc"][0]) for error in invalid.errors() if error["loc"]))
            raise not_understood(names, call.language) from invalid
        except RecursionError as nested:
            raise ToolFailed("The arguments are nested too deeply.") from nested


@cache
def schema_of(arguments: type[Record]) -> Mapping[str, Any]:
    """The JSON schema of a record of arguments."""
    return arguments.model_json_schema()


def joined(results: list[ToolResult]) -> ToolResult:
    """One result of several, in their order."""
    return ToolResult(
        text="\n".join(result.text for result in results if result.text),
        findings=tuple(finding for result in results for finding in result.findings),
        searches=tuple(plan for result in results for plan in result.searches),
        value=[result.value for result in results],
        trace=tuple(line for result in results for line in result.trace),
    )
