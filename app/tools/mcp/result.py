"""What a server answers, as text for people and a value for machines; everything in it is a stranger's."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from app.text.language import clean

MAX_SCHEMA_BYTES = 65_536
MAX_DEPTH = 40
MAX_STEPS = 20_000
"""Keywords looked at for one value: some tens of milliseconds."""
_MAX_ERRORS = 6

_QUIET = re2.Options()
_QUIET.log_errors = False
_QUIET.max_mem = 2**20

_Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class SchemaRefused(Exception):
    """A schema that is none, that reaches outside itself, that cannot be followed in bounded time, or that a result
    does not fit."""


class TooManySteps(SchemaRefused):
    """The value took more steps than anybody's value should."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Whether `schema` can be used. Raises `SchemaRefused` with the reason."""
    try:
        size = len(json.dumps(schema))
    except (RecursionError, ValueError) as nested:
        raise SchemaRefused("the schema is nested too deeply") from nested
    if size > MAX_SCHEMA_BYTES:
        raise SchemaRefused("the schema is too large")
    _check_parts(schema, 0)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as wrong:
        raise SchemaRefused("this is no JSON schema") from wrong


def wrong_places(value: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Where `value` does not fit, the outermost names, each once; empty = it fits.

    Raises `SchemaRefused` when the schema cannot be followed and `TooManySteps` when that takes too long.
    """
    try:
        errors = _validator(schema).iter_errors(value)
        found = [_place(error) for _, error in zip(range(_MAX_ERRORS), errors, strict=False)]
    except (Unresolvable, RecursionError, re2.error, TypeError, ValueError) as broken:
        raise SchemaRefused("the schema cannot be followed") from broken
    return tuple(dict.fromkeys(found))


def _place(error: ValidationError) -> str:
    if error.absolute_path:
        return str(error.absolute_path[0])
    if error.validator == "required":
        return str(error.message).split("'")[1] if "'" in error.message else "required"
    return str(error.validator)


def _check_parts(part: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise SchemaRefused("the schema is nested too deeply")
    if isinstance(part, list):
        for item in part:
            _check_parts(item, depth + 1)
    if not isinstance(part, Mapping):
        return
    for key, value in part.items():
        if key in ("$ref", "$dynamicRef") and not str(value).startswith("#"):
            raise SchemaRefused("the schema refers to something outside itself")
        if key == "pattern" and isinstance(value, str):
            _compiled(value)
        if key == "patternProperties" and isinstance(value, Mapping):
            for pattern in value:
                _compiled(pattern)
        _check_parts(value, depth + 1)


def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error as unsupported:
        raise SchemaRefused("the schema has a pattern that cannot be matched in linear time") from unsupported


def _validator(schema: Mapping[str, Any]) -> Validator:
    """A validator with a fresh account of steps."""
    left = [MAX_STEPS]

    def counted(keyword: _Keyword) -> _Keyword:
        def step(validator: Any, told: Any, instance: Any, whole: Any) -> Iterator[ValidationError]:
            left[0] -= 1
            if left[0] < 0:
                raise TooManySteps
            yield from keyword(validator, told, instance, whole) or ()

        return step

    keywords = Draft202012Validator.VALIDATORS | {
        "pattern": _pattern, "patternProperties": _pattern_properties, "uniqueItems": _unique_items,
    }  # fmt: skip
    kind: type[Validator] = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {name: counted(keyword) for name, keyword in keywords.items()}
    )
    return kind(schema, registry=Registry())


def _pattern(validator: Any, pattern: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _compiled(pattern).search(instance):
        yield ValidationError("does not match")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, schema in patterns.items():
        compiled = _compiled(pattern)
        for name, value in instance.items():
            if compiled.search(name):
                yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _unique_items(validator: Any, wanted: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    """In linear time, by the one spelling of each item."""
    if wanted and validator.is_type(instance, "array"):
        spelt = [json.dumps(item, sort_keys=True) for item in instance]
        if len(set(spelt)) < len(spelt):
            yield ValidationError("has an item twice")


MAX_TEXT_CHARS = 4000
_MAX_NAME_CHARS = 80
_MAX_NAMED = 10


class Reply(NamedTuple):
    """A read result."""

    text: str
    value: JsonValue
    left_out: tuple[str, ...]
    """Kinds of content that were named by the server and not fetched."""


def read_reply(result: CallToolResult, output_schema: Mapping[str, Any] | None) -> Reply:
    """The text and the value. Raises `SchemaRefused`; takes some milliseconds for a large value."""
    value = result.structured_content
    if output_schema is not None and (value is None or wrong_places(value, output_schema)):
        raise SchemaRefused("the result is not what the approved list promises")
    text = text_of(result)
    if not text and value is not None:
        text = _cut(clean(json.dumps(value, ensure_ascii=False)))
    return Reply(text, value, tuple(_left_out(result))[:_MAX_NAMED])


def text_of(result: CallToolResult) -> str:
    """Its texts one below the other, without anything invisible, at most `MAX_TEXT_CHARS`."""
    texts = [content.text[: MAX_TEXT_CHARS + 1] for content in result.content if isinstance(content, TextContent)]
    return _cut(clean("\n".join(texts)).strip())


def _left_out(result: CallToolResult) -> Iterator[str]:
    for content in result.content:
        match content:
            case ImageContent() | AudioContent():
                yield f"{content.type} {_named(content.mime_type)}"
            case ResourceLink():
                yield f"resource {_named(str(content.uri))}"
            case EmbeddedResource():
                yield f"resource {_named(str(content.resource.uri))}"


def _named(name: str) -> str:
    return " ".join(clean(name).split())[:_MAX_NAME_CHARS]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}…"
