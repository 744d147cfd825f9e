"""Evaluations that were kept: their figures, their pages, two beside each other."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from starlette.responses import HTMLResponse

from app.api.admin.access import Administrator
from app.api.deps import Services
from app.api.schemas import Problem, View
from app.domain.evaluations import RUN_ID, KeptRun, RunFigures

router = APIRouter(prefix="/admin")
_PAGE_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Nothing on the page may run, load, send or be framed by anybody; it shows what documents and askers said."""
RunId = Annotated[str, PathParameter(pattern=f"^{RUN_ID.pattern}$")]


class RunList(View):
    """Evaluations, newest first."""

    runs: tuple[RunFigures, ...]


@router.get("/evaluations", summary="Evaluations that were kept")
async def listing(caller: Administrator, services: Services) -> RunList:
    """What `conclave eval run` left on this machine: runs that asked about your company, or about documents of a
    dataset's own alone; in figures."""
    return RunList(runs=tuple(map(_figures, await services.evaluations.runs(caller))))


@router.get(
    "/evaluations/{run_id}",
    summary="The page of an evaluation",
    response_class=HTMLResponse,
    responses={404: {"model": Problem}, 422: {"model": Problem}},
)
async def page(
    run_id: RunId,
    caller: Administrator,
    services: Services,
    before: Annotated[str | None, Query(pattern=f"^{RUN_ID.pattern}$", description="Compare with this run")] = None,
) -> HTMLResponse:
    """HTML that needs nothing else, sandboxed by its policy. Of the questions it shows those about your company that
    were asked with rights you hold yourself; its figures count all."""
    text = await services.evaluations.page(caller, run_id, before)
    return HTMLResponse(text, headers={"Content-Security-Policy": _PAGE_POLICY})


def _figures(run: KeptRun) -> RunFigures:
    """Without whose documents besides were asked about."""
    return RunFigures.model_validate(run.model_dump(exclude={"tenants"}))
