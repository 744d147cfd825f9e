"""Signing in as a demo user, for a person sitting at the machine the service runs on."""

from ipaddress import ip_address

from fastapi import APIRouter, Request
from pydantic import ConfigDict

from app.api.auth import DevLogin
from app.api.deps import AppServices, Services
from app.api.schemas import Body, Label, Problem, View
from app.errors import AppError, ErrorCode

router = APIRouter(prefix="/auth", tags=["sign-in"], responses={404: {"model": Problem}})
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


class DevLoginBody(Body):
    """Which demo user to sign in as."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user": "tenant/user"}]})

    user: Label


class DevToken(View):
    """A token for the API, to be sent as ``Authorization: Bearer …``."""

    token: str
    expires_in_seconds: int


class DemoUser(View):
    """A demo user anybody on this machine may sign in as."""

    user: str
    name: str
    tenant: str
    department: str
    permissions: tuple[str, ...]
    roles: tuple[str, ...]


@router.get("/dev", summary="Demo users")
async def demo_users(request: Request, services: Services) -> list[DemoUser]:
    """The demo users one may sign in as from this machine."""
    users = _dev_login(request, services).users
    return [
        DemoUser.model_validate({**claims.model_dump(), "user": name, "tenant": claims.tenant_id})
        for name, claims in users.items()
    ]


@router.post("/dev", summary="Sign in as a demo user")
async def sign_in(body: DevLoginBody, request: Request, services: Services) -> DevToken:
    """A token for a demo user."""
    login = _dev_login(request, services)
    return DevToken(token=login.token_for(body.user), expires_in_seconds=login.ttl_seconds)


def _dev_login(request: Request, services: AppServices) -> DevLogin:
    """The development sign-in, if it is on and the caller really sits at this machine.

    The Host must be this machine's too: a foreign page whose name was made to point here (DNS rebinding) and a proxy
    on this machine that serves others both carry another one. Raises `AppError` NOT_FOUND otherwise.
    """
    is_proxied = any(header in request.headers for header in _PROXY_HEADERS)
    is_local = request.client is not None and _is_loopback(request.client.host)
    if services.dev_login is None or is_proxied or not is_local or not _is_loopback(request.url.hostname or ""):
        raise AppError(ErrorCode.NOT_FOUND, "There is nothing at this address.", status=404)
    return services.dev_login


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
