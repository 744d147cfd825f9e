"""The page of the named shapes of the HTTP interface."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from reference import docstrings, http, schema
from reference.markdown import paragraphs, whole

_NEVER_SENT = {"HTTPValidationError", "ValidationError"}
"""Shapes of the framework; a refusal is a problem (see `errors`)."""
_LEAD = "What goes in and comes out of the [HTTP interface](http-api.md). Unknown fields of a request are refused."


def page() -> str:
    """Every shape with its fields, by name."""
    shapes = http.description()["components"]["schemas"]
    return whole(
        "Shapes of the HTTP interface",
        _LEAD,
        [_part(name, shapes[name]) for name in sorted(shapes) if name not in _NEVER_SENT],
    )


def _meanings(name: str) -> Mapping[str, str]:
    """What the record behind a shape says of its fields; nothing where two records share the name."""
    found = [one for one in _records(BaseModel) if one.__name__ == name and one.__module__.startswith("app.")]
    return docstrings.of_attributes(found[0]) if len(found) == 1 else {}


def _records(above: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in above.__subclasses__():
        yield one
        yield from _records(one)


def _part(name: str, described: schema.Schema) -> str:
    told = [f"## {name}", paragraphs(described.get("description"))]
    if described.get("properties"):
        told.append(schema.fields(described, _meanings(name), lambda other: f"[{other}](#{other.lower()})"))
    else:
        told.append(f"One of: {schema.kind(described)}." if "enum" in described else schema.kind(described))
    return "\n\n".join(part for part in told if part)
