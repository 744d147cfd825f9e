"""JSON as PostgreSQL can store it: jsonb refuses NUL, lone surrogates and NaN, which Python writes without a word."""

import json
import re

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""An escaped NUL; an even number of backslashes before it are characters of their own."""


def dump(value: object) -> str:
    """`value` as JSON text for a jsonb column; what is no JSON becomes its text, NaN and infinities become null."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if "NaN" in text or "Infinity" in text:
        text = json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)
    return storable(text)


def storable(text: str) -> str:
    """JSON text without what jsonb refuses: NUL is dropped, a lone surrogate becomes a question mark."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return _NUL.sub(r"\1", text) if "\\u0000" in text else text
