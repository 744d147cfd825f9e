"""Health for operators, and the files of the pages: packed for who can unpack them, not sent again to who has them."""

import gzip
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.api.deps import Services
from app.api.schemas import View
from app.errors import AppError, ErrorCode

router = APIRouter(tags=["operations"])
WEB_FOLDER = Path(__file__).parents[1] / "web"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FILES = {path.name: path for path in WEB_FOLDER.iterdir() if path.suffix in _KINDS}
"""Listed once: nothing outside this table can be asked for."""


class Readiness(View):
    """Whether the service can take questions."""

    status: Literal["ready", "not_ready"]
    checks: dict[str, bool]


@router.get("/live", summary="Is the process alive?")
async def live() -> dict[str, str]:
    """Answers as long as the process can answer at all."""
    return {"status": "ok"}


@router.get("/ready", summary="Can it take questions?", responses={503: {"model": Readiness}})
async def ready(services: Services) -> Response:
    """Database reachable and migrated, row security binding, embedding model loaded, worker running."""
    checks = dict(await services.readiness())
    is_ready = all(checks.values())
    found = Readiness(status="ready" if is_ready else "not_ready", checks=checks)
    headers = {} if is_ready else {"Retry-After": "5"}
    return JSONResponse(found.model_dump(), status_code=200 if is_ready else 503, headers=headers)


@router.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    """The chat page."""
    return page_file("index.html", request.headers)


@router.get("/admin", include_in_schema=False)
async def admin_page(request: Request) -> Response:
    """The pages for administrators, open like the chat page: what they show, the API gives to administrators alone."""
    return page_file("admin.html", request.headers)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The API's documentation."""
    return page_file("docs.html", request.headers)


@router.get("/web/{name}", include_in_schema=False)
async def web_file(name: str, request: Request) -> Response:
    """A file of the page."""
    return page_file(name, request.headers)


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
