"""`/metrics`, for Prometheus: open to this machine alone, or to who brings the operator's token."""

import hmac
from ipaddress import ip_address

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.deps import Services
from app.api.schemas import Problem
from app.errors import AppError, ErrorCode
from app.operations.metrics import MEDIA_TYPE

router = APIRouter(tags=["operations"])
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""A request with one of these was passed on: its peer is the proxy, not who asks."""


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, 403: {"model": Problem}},
)
async def metrics(request: Request, services: Services) -> Response:
    """Requests, runs, queue, models, caches, database pool and event loop of this process, without names of companies
    or people. With `CONCLAVE_METRICS_TOKEN` set everybody brings it as a bearer token; without it only readers on the
    same machine are served, and nobody through a proxy."""
    if not _may_read(request, services.metrics.token):
        detail = "Figures are for this machine: ask on 127.0.0.1, or set CONCLAVE_METRICS_TOKEN and bring it as bearer."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
    return Response(await services.metrics.write(), headers={"Content-Type": MEDIA_TYPE})


def _may_read(request: Request, token: str) -> bool:
    """Whether the reader brought the token, or, where none is set, sits at this machine itself."""
    if token:
        brought = request.headers.get("authorization", "")
        return hmac.compare_digest(brought.encode(), f"Bearer {token}".encode())
    if any(name in request.headers for name in _OF_PROXIES):
        return False
    # A page in a browser on this machine can lead its own name here: only the machine's own names are answered.
    return _is_local(request.client.host if request.client else "") and _is_local(request.url.hostname or "")


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
