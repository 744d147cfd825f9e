"""The files of the pages: packed for who can unpack them, and not sent again to who has them."""

import gzip
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response

from app.errors import AppError, ErrorCode

WEB_FOLDER = Path(__file__).parents[1] / "web"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FILES = {path.name: path for path in WEB_FOLDER.iterdir() if path.suffix in _KINDS}
"""Listed once: nothing outside this table can be asked for."""


class _Packed(NamedTuple):
    plain: bytes
    packed: bytes
    tag: str


def page_file(name: str, asked: Mapping[str, str]) -> Response:
    """A file; `asked` are the request's headers. Empty with 304 when the browser has it as it is.

    Raises `AppError` (404) for a name that is none.
    """
    path = _FILES.get(name)
    if path is None:
        raise AppError(ErrorCode.NOT_FOUND, "There is nothing at this address.", status=404)
    file = _read(path, path.stat().st_mtime_ns)
    is_packed = _takes_gzip(asked.get("accept-encoding", ""))
    tag = f'"{file.tag}{"-gzip" if is_packed else ""}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in (one.strip().removeprefix("W/") for one in asked.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    if is_packed:
        headers["Content-Encoding"] = "gzip"
    return Response(file.packed if is_packed else file.plain, media_type=_KINDS[path.suffix], headers=headers)


def _takes_gzip(accepted: str) -> bool:
    offers = [one.replace(" ", "").lower().partition(";q=") for one in accepted.split(",")]
    return any(name == "gzip" and (not quality or quality.strip("0.") != "") for name, _, quality in offers)


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int) -> _Packed:
    """Read and packed once; anew when it was changed at another time."""
    plain = path.read_bytes()
    return _Packed(plain, gzip.compress(plain, 9, mtime=0), hashlib.sha256(plain).hexdigest()[:24])
