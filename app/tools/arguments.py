"""Arguments of tools: what a mind read from the question, as the types the tool's schema asks for."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from app.domain.knowledge import Language
from app.errors import ToolFailed
from app.text.language import clean

_MAX_NAMES, _MAX_NAME_CHARS = 6, 60
_MISSING: dict[Language, str] = {
    "vi": "Chưa làm được vì thiếu: {missing}. Vui lòng nêu trong câu hỏi.",
    "en": "This cannot be done yet; missing: {missing}. Please state it in the question.",
}
_WRONG: dict[Language, str] = {
    "vi": "Không hiểu được giá trị của: {names}.",
    "en": "The value cannot be understood: {names}.",
}
_TRUE, _FALSE = frozenset(("true", "yes", "1", "có", "đúng")), frozenset(("false", "no", "0", "không", "sai"))


def coerced(values: Mapping[str, str], schema: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Texts as the JSON values an object schema asks for; what it does not name is left out.

    A text that does not fit its type stays a text: whoever validates against the schema refuses it.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    return {name: _value(text, properties[name]) for name, text in values.items() if name in properties}


def missing(names: tuple[str, ...], language: Language) -> ToolFailed:
    """The refusal to go on without operands nobody stated."""
    told = ", ".join(clean(name)[:_MAX_NAME_CHARS] for name in names[:_MAX_NAMES])
    return ToolFailed(_MISSING[language].format(missing=told))


def not_understood(names: tuple[str, ...], language: Language) -> ToolFailed:
    """The refusal of values that do not fit."""
    told = ", ".join(clean(name)[:_MAX_NAME_CHARS] for name in names[:_MAX_NAMES])
    return ToolFailed(_WRONG[language].format(names=told))


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
