"""What stands at an address where nothing is: a page for a browser, a problem for every other client."""

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from app.api.described import describe_refusals
from app.api.operations import WEB_FOLDER
from app.api.problem import answer_http_exception, install_problem_handlers

_PAGE = WEB_FOLDER / "missing.html"


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error of the application: as `install_problem_handlers` does, unknown addresses by a page where one
    is asked for. The OpenAPI document says so."""
    install_problem_handlers(app)
    describe_refusals(app)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    is_read = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
    if error.status_code == 404 and is_read:
        return FileResponse(_PAGE, status_code=404, headers={"Cache-Control": "no-cache", "Vary": "Accept"})
    return await answer_http_exception(request, error)
