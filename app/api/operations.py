"""Health for operators, and the files of the pages: packed for who can unpack them, not sent again to who has them."""

from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Request
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from app.api.deps import Services
from app.api.schemas import View

router = APIRouter(tags=["operations"])
WEB_FOLDER = Path(__file__).parents[1] / "web"
_FILES = StaticFiles(directory=WEB_FOLDER)
_PAGES = {"/": "index.html", "/admin": "admin.html", "/desk": "desk.html", "/docs": "docs.html"}
"""Open to everybody: what a page shows, the API gives to who may see it."""


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
    """Database reachable and migrated, row security binding, model loaded, room on the disk, worker running."""
    checks = dict(await services.readiness())
    is_ready = all(checks.values())
    found = Readiness(status="ready" if is_ready else "not_ready", checks=checks)
    headers = {} if is_ready else {"Retry-After": "5"}
    return JSONResponse(found.model_dump(), status_code=200 if is_ready else 503, headers=headers)


async def send_page_file(request: Request) -> Response:
    """Send a page or a file of the pages; 304 without a body when the browser has it as it is, 404 for any other."""
    name = request.path_params.get("name") or _PAGES[request.url.path]
    response = await _FILES.get_response(name, request.scope)
    response.headers["Cache-Control"] = "no-cache"
    return response


PAGES = [
    Route(path, send_page_file, include_in_schema=False, middleware=[Middleware(GZipMiddleware)])
    for path in (*_PAGES, "/web/{name}")
]
"""For the application itself: a router that is included drops its routes' middleware."""
