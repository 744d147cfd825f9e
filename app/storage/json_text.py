"""JSON as PostgreSQL can store it: jsonb refuses NUL and lone surrogates, which Python's text may hold."""

import json
import re

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""An escaped NUL; an even number of backslashes before it are characters of their own."""


def dump(value: object) -> str:
    """`value` as JSON text for a jsonb column."""
    return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def storable(text: str) -> str:
    """JSON text without what jsonb refuses: NUL is dropped, a lone surrogate becomes a question mark."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return _NUL.sub(r"\1", text) if "\\u0000" in text else text
