"""For operators and people: health, documentation, and the page."""

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, JSONResponse, Response

from app.api.deps import TheRooms
from app.api.schemas import Readiness
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

router = APIRouter(tags=["operations"])


@router.get("/live", summary="Is the process alive?")
async def live() -> dict[str, str]:
    """Answers as long as the process can answer at all."""
    return {"status": "ok"}


@router.get("/ready", summary="Can it take questions?", responses={503: {"model": Readiness}})
async def ready(rooms: TheRooms) -> Response:
    """Database reachable and migrated, row security binding, embedding model loaded, worker running."""
    checks = dict(await rooms.readiness())
    is_ready = all(checks.values())
    found = Readiness(status="ready" if is_ready else "not_ready", checks=checks)
    headers = {} if is_ready else {"Retry-After": "5"}
    return JSONResponse(found.model_dump(), status_code=200 if is_ready else 503, headers=headers)


@router.get("/", include_in_schema=False)
async def page() -> Response:
    """The chat page."""
    return _file("index.html")


@router.get("/admin", include_in_schema=False)
async def admin_page() -> Response:
    """The pages for administrators, open like the chat page: what they show, the API gives to administrators alone."""
    return _file("admin.html")


@router.get("/docs", include_in_schema=False)
async def docs() -> Response:
    """The API's documentation."""
    return _file("docs.html")


@router.get("/web/{name}", include_in_schema=False)
async def web_file(name: str) -> Response:
    """A file of the page."""
    return _file(name)


def _file(name: str) -> Response:
    if name not in _FILES:
        raise AppError(ErrorCode.NOT_FOUND, "There is nothing at this address.", status=404)
    path = _FILES[name]
    return FileResponse(path, media_type=_KINDS[path.suffix], headers={"Cache-Control": "no-cache"})
