"""Arguments by a JSON schema, from the words of the question alone: what findings say fills nothing here."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.domain.knowledge import Language
from app.domain.language import fold, normalise
from app.reasoning import Arguments
from app.reasoning.local.numbers import amounts_in, plain
from app.reasoning.local.pure_arithmetic import PureSum, pure_expression

_ASKS = frozenset(("query", "question", "q", "text", "search", "topic", "prompt"))
"""Properties that take the question as it stands."""
_ADDRESS = re.compile(r"https?://[^\s<>\"'“”]+")
_AROUND = ".,;:!?)]}"
_OPERANDS = re.compile(r"(?P<a>[\d.]+)(?P<percent> %)? (?:\+|-|\*\*|[*/]) (?P<b>[\d.]+)")


def schema_arguments(query: str, language: Language, schema: Mapping[str, Any]) -> Arguments:
    """Each property filled by its type: numbers in the order they are named, choices that are mentioned, an address,
    the question itself; required ones that nothing fills are missing."""
    values = dict(_filled(normalise(query), language, schema.get("properties", {})))
    missing = tuple(name for name in schema.get("required", ()) if name not in values)
    return Arguments(values=values, missing=missing, grounds=tuple(values.values()))


def _filled(text: str, language: Language, properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    pure = pure_expression(text)
    numbers = iter(_operands(pure) if pure else [plain(amount.value) for amount in amounts_in(text, language)])
    for name, schema in properties.items():
        if pure and name == "expression":
            yield name, pure.expression
        elif choice := _mentioned(text, schema):
            yield name, choice
        elif address := _address(text, name, schema):
            yield name, address
        elif _is_number(schema):
            number = next(numbers, None)
            if number is not None:
                yield name, number
        elif name in _ASKS:
            yield name, text


def _operands(pure: PureSum) -> list[str]:
    """Both numbers of a sum of two; those of others do not belong to single properties."""
    match = _OPERANDS.fullmatch(pure.expression)
    return [match["a"], match["b"]] if match else []


def _mentioned(text: str, schema: Mapping[str, Any]) -> str:
    said = fold(text).lower()
    return next((c for c in schema.get("enum", ()) if isinstance(c, str) and c and fold(c).lower() in said), "")


def _address(text: str, name: str, schema: Mapping[str, Any]) -> str:
    if name not in ("url", "uri", "address") and schema.get("format") != "uri":
        return ""
    match = _ADDRESS.search(text)
    return match[0].rstrip(_AROUND) if match else ""


def _is_number(schema: Mapping[str, Any]) -> bool:
    """Numbers, and texts that are described as numbers."""
    kinds = {schema.get("type"), *(choice.get("type") for choice in schema.get("anyOf", ()))}
    return bool(kinds & {"number", "integer"}) or schema.get("format") == "decimal"
