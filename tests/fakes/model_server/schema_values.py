"""Values that keep a JSON schema, chosen by whoever is asked: the smallest ones unless told otherwise."""

import re
from collections.abc import Sequence
from typing import Any

from tests.fakes.model_server.asked import Json

_SAMPLES = ("a", "ab", "abc", "vi", "a1", "A", "A1", "1", "10", "2026-01-31", "09:30", "p1", "c1", "x_1", "a-b", "")
_FORMATS = {
    "date": "2026-01-31",
    "time": "09:30:00Z",
    "date-time": "2026-01-31T09:30:00Z",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com/",
    "email": "a@example.com",
}
Path = tuple[str, ...]
"""The names of the fields that lead to a value; a list adds ``*``."""


class SchemaValues:
    """Chooses a value for every part of a schema."""

    def __init__(self, schema: Json):
        self._root = schema

    # -- what a mind may decide

    def text(self, path: Path) -> str:
        """The wanted words of a free string."""
        return "a"

    def option(self, options: Sequence[Any], path: Path) -> Any:
        """One of a closed set."""
        return options[0]

    def items(self, schema: Json, path: Path, least: int, most: int) -> list[Any]:
        """The items of a list, between `least` and `most` of them."""
        return [self.value(schema, path) for _ in range(max(least, min(1, most)))]

    # -- what the schema decides

    def value(self, schema: Json | None = None, path: Path = ()) -> Any:
        """A value that keeps `schema`; the whole one if none is given."""
        part = self._resolved(self._root if schema is None else schema)
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return self.option(part["enum"], path)
        if choices := part.get("anyOf") or part.get("oneOf"):
            return self.value(_smallest(choices), path)
        kind = part.get("type", "object" if "properties" in part else "null")
        return self._of_type(kind[0] if isinstance(kind, list) else kind, part, path)

    def _of_type(self, kind: str, part: Json, path: Path) -> Any:
        match kind:
            case "object":
                fields = part.get("properties", {})
                return {name: self.value(fields[name], (*path, name)) for name in fields if name in _needed(part)}
            case "array":
                return self._listed(part, path)
            case "string":
                return self._string(part, path)
            case "integer" | "number":
                return _number(part, kind == "integer")
            case "boolean":
                return False
        return None

    def _listed(self, part: Json, path: Path) -> list[Any]:
        first = [self.value(schema, path) for schema in part.get("prefixItems", [])]
        if "items" not in part:
            return first
        most = part.get("maxItems", 100) - len(first)
        return first + self.items(part["items"], (*path, "*"), part.get("minItems", 0) - len(first), most)

    def _string(self, part: Json, path: Path) -> str:
        if "format" in part and part["format"] in _FORMATS:
            return _FORMATS[part["format"]]
        wanted = self.text(path)[: part.get("maxLength")].ljust(part.get("minLength", 0), ".")
        pattern = part.get("pattern")
        if pattern is None or re.search(pattern, wanted):
            return wanted
        fitting = [text for text in _SAMPLES if re.search(pattern, text) and len(text) >= part.get("minLength", 0)]
        if not fitting:
            raise ValueError(f"no sample fits {pattern!r} at {path}: give the test a mind of its own")
        return fitting[0]

    def _resolved(self, schema: Json) -> Json:
        part = dict(schema)
        if "$ref" in part:
            target: Any = self._root
            for name in part.pop("$ref").removeprefix("#/").split("/"):
                target = target[name]
            part = {**self._resolved(target), **part}
        for other in part.pop("allOf", []):
            part = {**part, **self._resolved(other)}
        return part


def _needed(part: Json) -> Sequence[str]:
    return part.get("required") or []


def _smallest(choices: Sequence[Json]) -> Json:
    return next((choice for choice in choices if choice.get("type") == "null"), choices[0])


def _number(part: Json, whole: bool) -> float | int:
    """The middle of a closed range, else the number nearest to nothing that is allowed."""
    least, most = part.get("minimum", part.get("exclusiveMinimum")), part.get("maximum", part.get("exclusiveMaximum"))
    if least is not None and most is not None:
        value = (least + most) / 2
    else:
        value = least if least is not None else min(0, most or 0)
        value += 1 if "exclusiveMinimum" in part else -1 if "exclusiveMaximum" in part else 0
    step = part.get("multipleOf")
    value = -(-value // step) * step if step else value
    return int(value) if whole else float(value)
