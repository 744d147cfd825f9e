"""Where the next page of a listing begins, as an opaque text that a caller hands back.

A listing pages by a key that never repeats: the values of the last row it showed.
"""

import base64
import binascii
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from app.errors import AppError, ErrorCode

Key = TypeVar("Key")


def write_cursor(shape: TypeAdapter[Key], key: Key) -> str:
    """The key of the last row of a page as a cursor."""
    return base64.urlsafe_b64encode(shape.dump_json(key)).decode()


def read_cursor(shape: TypeAdapter[Key], cursor: str) -> Key:
    """The key inside a cursor. Raises `AppError` (422) for one that was not given out by this listing."""
    try:
        return shape.validate_json(base64.urlsafe_b64decode(cursor.encode()))
    except (ValidationError, binascii.Error, UnicodeError, ValueError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "cursor: not one of this list.", status=422) from error
