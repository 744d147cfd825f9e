"""Tell where the next page of a listing begins.

A listing pages by a key that never repeats, the values of the last row it showed; a caller hands it back as an opaque
text.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from app.errors import AppError, ErrorCode

Key = TypeVar("Key")
Row = TypeVar("Row")


def write_cursor(shape: TypeAdapter[Key], key: Key) -> str:
    """The key of the last row of a page as a cursor."""
    return base64.urlsafe_b64encode(shape.dump_json(key)).decode()


def read_cursor(shape: TypeAdapter[Key], cursor: str | None) -> Key | None:
    """The key inside a cursor; None for the first page. Raises `AppError` (422) for one that was not given out by this
    listing, or holds what no row can."""
    if cursor is None:
        return None
    try:
        key = shape.validate_json(base64.urlsafe_b64decode(cursor.encode()))
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, datetime):
                part.astimezone(UTC)
            elif isinstance(part, int):
                part.to_bytes(8, signed=True)
    except (ValidationError, binascii.Error, UnicodeError, ValueError, OverflowError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "cursor: not one of this list.", status=422) from error
    return key


def cut_page(
    shape: TypeAdapter[Key], found: Sequence[Row], limit: int, key_of: Callable[[Row], Key]
) -> tuple[tuple[Row, ...], str | None]:
    """The rows of a page of which one more than `limit` was asked for, and the cursor of the next page, if any."""
    shown = tuple(found[:limit])
    return shown, write_cursor(shape, key_of(shown[-1])) if len(found) > limit else None
