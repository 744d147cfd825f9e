"""The page of the HTTP interface, from the application's own OpenAPI description."""

import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from app.main import create_app
from app.settings import Settings
from reference import schema
from reference.markdown import code, paragraphs, prose, table, whole

_LEAD = (
    "Everything but `/live`, `/ready`, `/metrics`, the pages and the demo sign-in needs `Authorization: Bearer TOKEN`; "
    "who asks, and what that person may read, comes from the token alone. A running service describes itself at "
    "`/openapi.json`, and `/docs` shows the same with examples. Any operation may be refused with one of the [error "
    "codes](errors.md), which is not repeated below. Streams send [events](events.md); named shapes have [a page of "
    "their own](http-shapes.md). MCP is spoken at `/mcp`, see [MCP](../mcp.md#conclave-as-a-server)."
)
_METHODS = ("get", "post", "put", "patch", "delete")


@cache
def description() -> dict[str, Any]:
    """The OpenAPI document; settings are the defaults, whatever the environment says."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.model_construct(data_dir=Path(folder))
        return create_app(settings).openapi()


def page() -> str:
    """Every operation, in the groups of the application."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for path, item in description()["paths"].items():
        for method in _METHODS:
            if method in item:
                operation = item[method]
                grouped[operation.get("tags", ["other"])[0]].append(_part(method, path, operation))
    return whole("HTTP interface", _LEAD, [f"## {tag}\n\n" + "\n\n".join(parts) for tag, parts in grouped.items()])


def link(name: str) -> str:
    """A named shape, as a link to its place."""
    return f"[{name}](http-shapes.md#{name.lower()})"


def _part(method: str, path: str, operation: dict[str, Any]) -> str:
    told = [
        f"### {method.upper()} {path}",
        f"**{_sentence(operation.get('summary', ''))}** {paragraphs(operation.get('description'))}",
        _parameters(operation.get("parameters", [])),
        _body(operation.get("requestBody")),
        _responses(operation["responses"]),
    ]
    return "\n\n".join(part for part in told if part)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


def _parameters(parameters: list[dict[str, Any]]) -> str:
    rows = []
    for one in parameters:
        described = one.get("schema", {})
        default = described.get("default")
        told = "required" if one.get("required") else code("" if default is None else default)
        bounds = schema.limits(described)
        kind = schema.kind(described, link).replace(" or null", "") + (f", {bounds}" if bounds else "")
        rows.append([code(one["name"]), one["in"], kind, told, prose(one.get("description"))])
    return table(["parameter", "in", "type", "default", "meaning"], rows)


def _body(body: dict[str, Any] | None) -> str:
    if body is None:
        return ""
    return (
        "Body: " + ", or ".join(f"{code(media)} {_shape(one)}".strip() for media, one in body["content"].items()) + "."
    )


def _responses(responses: dict[str, dict[str, Any]]) -> str:
    rows = []
    for status, one in responses.items():
        if "HTTPValidationError" in str(one):
            continue  # the framework's own shape, which is never sent: such refusals are problems, too
        content = [f"{code(media)} {_shape(shown)}".strip() for media, shown in one.get("content", {}).items()]
        rows.append([status, prose(one.get("description")), ", ".join(content)])
    return table(["status", "when", "what comes back"], rows)


def _shape(content: dict[str, Any]) -> str:
    described = content.get("schema", {})
    named = schema.kind(described, link)
    return "" if named in ("anything", "object") else named
