"""JSON schemas in words: types, limits, defaults, fields."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from reference.markdown import code, prose, table

Schema = Mapping[str, Any]
_LIMITS = {
    "minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}",
    "minLength": "≥ {} characters", "maxLength": "≤ {} characters", "minItems": "≥ {} items", "maxItems": "≤ {} items",
}  # fmt: skip


def name_of(schema: Schema) -> str | None:
    """The shape a reference leads to."""
    return str(schema["$ref"]).rsplit("/", 1)[-1] if "$ref" in schema else None


def kind(schema: Schema, link: Callable[[str], str] = code) -> str:
    """The type in a few words; `link` says how a named shape is written."""
    if (name := name_of(schema)) is not None:
        return link(name)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(kind(one, link) for one in schema[choice]))
    if "const" in schema or "enum" in schema:
        allowed = [schema["const"]] if "const" in schema else schema["enum"]
        return " ".join(code(json.dumps(one, ensure_ascii=False)) for one in allowed)
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}), link)}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {kind(schema['additionalProperties'], link)}"
    return str(schema.get("format") or schema.get("type") or "anything")


def limits(schema: Schema) -> str:
    """Bounds of the value, also of the one choice that has some."""
    parts = [schema, *schema.get("anyOf", [])]
    told = [_limit(key, one[key], text) for one in parts for key, text in _LIMITS.items() if key in one]
    return ", ".join(dict.fromkeys(told))


def fields(schema: Schema, meanings: Mapping[str, str], link: Callable[[str], str] = code) -> str:
    """The fields of an object as a table: name, type with limits, default, meaning."""
    required = set(schema.get("required", ()))
    rows = []
    for name, field in schema.get("properties", {}).items():
        bounds = limits(field)
        told = field.get("description") or meanings.get(name, "")
        default = "required" if name in required else code(_default(field))
        rows.append([code(name), kind(field, link) + (f", {bounds}" if bounds else ""), default, prose(told)])
    return table(["field", "type", "default", "meaning"], rows)


def _default(field: Schema) -> str:
    value = field.get("default")
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _limit(key: str, value: float, text: str) -> str:
    return "not empty" if value == 1 and key in ("minLength", "minItems") else text.format(_short(value))


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
