"""Files named on the command line."""

from pathlib import Path

from app.errors import AppError, ErrorCode


def content_of(path: Path, max_bytes: int | None) -> bytes:
    """The bytes of a file. Raises `AppError` for one that cannot be read or is too large."""
    try:
        if max_bytes is not None and path.stat().st_size > max_bytes:
            raise AppError(ErrorCode.PAYLOAD_TOO_LARGE, f"{path}: has more than {max_bytes} bytes.", status=413)
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"{path}: cannot be read ({reason}).", status=422) from error
