"""The page of the named shapes of the HTTP interface."""

from collections.abc import Collection, Iterator, Mapping

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


def _meanings(name: str, properties: Collection[str]) -> Mapping[str, str]:
    """What the record behind a shape says of its fields: the one of this name and these fields, whatever else was
    imported; nothing where two records share both."""
    found = [
        one
        for one in _records(BaseModel)
        if one.__name__ == name and one.__module__.startswith("app.") and set(properties) <= _names(one)
    ]
    return docstrings.of_attributes(found[0]) if len(found) == 1 else {}


def _names(record: type[BaseModel]) -> set[str]:
    named = {name for field, told in record.model_fields.items() for name in (field, told.alias) if name}
    return named.union(record.model_computed_fields)


def _records(above: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in above.__subclasses__():
        yield one
        yield from _records(one)


def _part(name: str, described: schema.Schema) -> str:
    told = [f"## {name}", paragraphs(described.get("description"))]
    if described.get("properties"):
        told.append(
            schema.fields(
                described, _meanings(name, described["properties"]), lambda other: f"[{other}](#{other.lower()})"
            )
        )
    else:
        told.append(f"One of: {schema.kind(described)}." if "enum" in described else schema.kind(described))
    return "\n\n".join(part for part in told if part)
