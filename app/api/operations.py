"""For operators and people: health, documentation, and the page."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.api.deps import Services
from app.api.middleware import SECURITY_HEADERS
from app.api.page_files import page_file
from app.api.schemas import Readiness

router = APIRouter(tags=["operations"])


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
async def admin_page(services: Services, request: Request) -> Response:
    """The pages for administrators, open like the chat page: what they show, the API gives to administrators alone.

    Their policy also lets in the style sheet of evaluations, which they show in a frame without any right.
    """
    page = page_file("admin.html", request.headers)
    own = f"style-src 'self' '{services.evaluations.page_style_hash}'"
    page.headers["Content-Security-Policy"] = SECURITY_HEADERS["Content-Security-Policy"].replace(
        "style-src 'self'", own
    )
    return page


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The API's documentation."""
    return page_file("docs.html", request.headers)


@router.get("/web/{name}", include_in_schema=False)
async def web_file(name: str, request: Request) -> Response:
    """A file of the page."""
    return page_file(name, request.headers)
