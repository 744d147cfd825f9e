"""What a server answers, as text for people and a value for machines; everything in it is a stranger's."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent
from pydantic import JsonValue

from app.text.language import clean
from app.tools.mcp.schema import SchemaRefused, TooManySteps, wrong_places

MAX_TEXT_CHARS = 4000
_MAX_NAME_CHARS = 80
_MAX_NAMED = 10


class WrongSchema(Exception):
    """The structured result is not what the approved list promises."""


class Reply(NamedTuple):
    """A read result."""

    text: str
    value: JsonValue
    left_out: tuple[str, ...]
    """Kinds of content that were named by the server and not fetched."""


def read_reply(result: CallToolResult, output_schema: Mapping[str, Any] | None) -> Reply:
    """The text and the value. Raises `WrongSchema`; takes some milliseconds for a large value."""
    if output_schema is not None and not result.is_error:
        _check(result.structured_content, output_schema)
    text = text_of(result)
    if not text and result.structured_content is not None:
        text = _cut(clean(json.dumps(result.structured_content, ensure_ascii=False)))
    return Reply(text, result.structured_content, tuple(_left_out(result))[:_MAX_NAMED])


def text_of(result: CallToolResult) -> str:
    """Its texts one below the other, without anything invisible, at most `MAX_TEXT_CHARS`."""
    texts = [content.text[: MAX_TEXT_CHARS + 1] for content in result.content if isinstance(content, TextContent)]
    return _cut(clean("\n".join(texts)).strip())


def _check(value: Any, schema: Mapping[str, Any]) -> None:
    try:
        wrong = wrong_places(value, schema)
    except (SchemaRefused, TooManySteps) as unknown:
        raise WrongSchema from unknown
    if value is None or wrong:
        raise WrongSchema


def _left_out(result: CallToolResult) -> Iterator[str]:
    for content in result.content:
        match content:
            case ImageContent() | AudioContent():
                yield f"{content.type} {_named(content.mime_type)}"
            case ResourceLink():
                yield f"resource {_named(str(content.uri))}"
            case EmbeddedResource():
                yield f"resource {_named(str(content.resource.uri))}"
            case _:
                pass


def _named(name: str) -> str:
    return " ".join(clean(name).split())[:_MAX_NAME_CHARS]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}…"
