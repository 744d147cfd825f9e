"""Signing in as a demo user, for a person sitting at the machine the service runs on."""

import re
from hmac import compare_digest
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from pydantic import ConfigDict

from app.api.auth import DevLogin
from app.api.deps import Services
from app.api.schemas import Body, Label, Problem, View
from app.client.local import DEMO_KEY_HEADER
from app.errors import AppError, ErrorCode

router = APIRouter(prefix="/auth", tags=["sign-in"], responses={404: {"model": Problem}})
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[?::1\]?)(:\d+)?")
"""This machine, as the address of a peer and as the name it asked for."""
_OF_A_PROXY = re.compile(
    r"via|forwarded|x-forwarded.*|x-original-.*|x-envoy-.*|(.*-)?(client|real|connecting|remote)-?(ip|addr)"
)
"""Headers by which proxies say that they are there, or for whom they ask."""


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


async def _dev_login(
    request: Request, services: Services, key: Annotated[str, Header(alias=DEMO_KEY_HEADER)] = ""
) -> DevLogin:
    """The demo sign-in, if it is on, for who sits at this machine and has one of the links printed at the start.

    Raises `AppError` NOT_FOUND otherwise, and does not tell why.
    """
    login = services.dev_login
    is_let_in = login is not None and _is_from_here(request) and compare_digest(key.encode(), login.key.encode())
    if login is None or not is_let_in or await login.own_companies():
        raise AppError(ErrorCode.NOT_FOUND, "There is nothing at this address.", status=404)
    return login


Login = Annotated[DevLogin, Depends(_dev_login)]


@router.get("/dev", summary="Demo users")
async def demo_users(login: Login) -> list[DemoUser]:
    """The demo users one may sign in as from this machine."""
    return [
        DemoUser.model_validate({**claims.model_dump(), "user": name, "tenant": claims.tenant_id})
        for name, claims in login.users.items()
    ]


@router.post("/dev", summary="Sign in as a demo user")
async def sign_in(body: DevLoginBody, login: Login) -> DevToken:
    """A token for a demo user."""
    return DevToken(token=login.token_for(body.user), expires_in_seconds=login.ttl_seconds)


def _is_from_here(request: Request) -> bool:
    """Whether a program of this machine asks, in no page's and no proxy's name.

    Not enough by itself: a proxy on this machine may write this machine's name for its caller's, and add nothing.
    """
    headers, hosts = request.headers, request.headers.getlist("host")
    return (
        request.client is not None
        and _LOOPBACK.fullmatch(request.client.host) is not None
        and not any(_OF_A_PROXY.fullmatch(name) for name in headers)
        and len(hosts) == 1
        and _LOOPBACK.fullmatch(hosts[0]) is not None
        and set(headers.getlist("origin")) <= {f"{request.url.scheme}://{hosts[0]}"}
    )
