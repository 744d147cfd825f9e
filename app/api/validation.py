"""What is wrong with the fields somebody sent, in one sentence; no framework is needed for it."""

from collections.abc import Mapping, Sequence
from typing import Any

_SILENT_KINDS = ("uuid_parsing", "json_invalid", "date_", "datetime_", "timezone_", "int_parsing")
"""Validation messages that repeat a piece of what was sent; they are replaced."""


def describe_validation(errors: Sequence[Any]) -> str:
    """One sentence out of the framework's validation errors: which fields and what is wrong, never their values."""
    told = [f"{_path(error.get('loc', ()))}: {_message(error)}" for error in list(errors)[:5]]
    more = f" (and {len(errors) - 5} more)" if len(errors) > 5 else ""
    return "; ".join(told) + more


def _path(loc: Sequence[Any]) -> str:
    return ".".join(_printable(part) for part in loc[:6]) or "body"


def _printable(part: Any) -> str:
    """A part of a field's path: names are the caller's own words, so only short plain ones are repeated."""
    text = str(part)
    return text if len(text) <= 40 and text.isascii() and text.isprintable() else "…"


def _message(error: Mapping[str, Any]) -> str:
    kind = str(error.get("type", ""))
    return "is not valid" if kind.startswith(_SILENT_KINDS) else str(error.get("msg", "is not valid"))[:200]
