"""Encode values: JSON as PostgreSQL can store it, and where the next page of a listing begins.

jsonb refuses NUL, lone surrogates and NaN, which Python writes without a word. A listing pages by a key that never
repeats, the values of the last row it showed; a caller hands it back as an opaque text.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from app.errors import AppError, ErrorCode

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


Key = TypeVar("Key")
Row = TypeVar("Row")


def write_cursor(shape: TypeAdapter[Key], key: Key) -> str:
    """The key of the last row of a page as a cursor."""
    return base64.urlsafe_b64encode(shape.dump_json(key)).decode()


def read_cursor(shape: TypeAdapter[Key], cursor: str | None) -> Key | None:
    """The key inside a cursor; None for the first page. Raises `AppError` (422) for one that was not given out by this
    listing."""
    if cursor is None:
        return None
    try:
        return shape.validate_json(base64.urlsafe_b64decode(cursor.encode()))
    except (ValidationError, binascii.Error, UnicodeError, ValueError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "cursor: not one of this list.", status=422) from error


def cut_page(
    shape: TypeAdapter[Key], found: Sequence[Row], limit: int, key_of: Callable[[Row], Key]
) -> tuple[tuple[Row, ...], str | None]:
    """The rows of a page of which one more than `limit` was asked for, and the cursor of the next page, if any."""
    shown = tuple(found[:limit])
    return shown, write_cursor(shape, key_of(shown[-1])) if len(found) > limit else None
