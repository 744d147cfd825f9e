"""Signing in at the provider of one's company, and out again."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.responses import RedirectResponse

from app.api.deps import AppServices, Caller, Services
from app.api.schemas import Problem, View
from app.domain.principal import Principal, Visit
from app.errors import AppError, ErrorCode
from app.identity.openid import START_SECONDS
from app.identity.sign_ins import SESSION_SECONDS, NotSignedIn, Reason, SignIns

router = APIRouter(prefix="/auth", tags=["sign-in"], responses={404: {"model": Problem}})
_OWN_PATH = re.compile(r"/([A-Za-z0-9_.~-][A-Za-z0-9_.~/?=&-]{0,500})?", re.ASCII)
"""Paths of this service; what a browser could take for another host is none."""
_Provider = Annotated[str, Path(max_length=32, description="Name of the provider.", examples=["company"])]
_Told = Annotated[str, Query(max_length=4_096)]


class ProviderButton(View):
    """A provider one may sign in at, by ``GET /auth/{name}/start``."""

    name: str
    title: str


class SignedInAs(View):
    """Who is signed in."""

    user: str
    """Name to show."""
    csrf: str
    """To be sent as ``Conclave-CSRF`` with all but GET; empty for who came with a token."""
    roles: tuple[str, ...]


class SignedOut(View):
    """Where the browser has to go, so that the provider signs the person out, too."""

    location: str


def _sign_ins(services: Services) -> SignIns:
    if services.sign_ins is None:
        raise AppError(ErrorCode.NOT_FOUND, "There is nothing at this address.", status=404)
    return services.sign_ins


@router.get("/providers", summary="Providers to sign in at")
async def list_providers(services: Services) -> list[ProviderButton]:
    """The providers people of a company may sign in at, as the operator's file lists them; none where it has none."""
    known = {} if services.sign_ins is None else services.sign_ins.known
    return [ProviderButton(name=name, title=one.provider.title) for name, one in known.items()]


@router.get("/{provider}/start", summary="Sign in at a provider", status_code=303, response_class=RedirectResponse)
async def start(
    services: Services, provider: _Provider, back: Annotated[str, Query(max_length=600)] = "/"
) -> RedirectResponse:
    """Send the browser to the provider; `back` is the page to show afterwards, a path of this service. While the
    provider is away the sign-in page is shown and says so."""
    own = _sign_ins(services)
    try:
        location, cookie = await own.begin(provider, back if _OWN_PATH.fullmatch(back) else "/")
    except NotSignedIn as none:
        return _refusal(none.reason)
    answer = RedirectResponse(location, 303)
    _set(own, answer, own.start_cookie, cookie, START_SECONDS)
    return answer


@router.get(
    "/{provider}/callback", summary="Come back from a provider", status_code=303, response_class=RedirectResponse
)
async def come_back(
    request: Request, services: Services, provider: _Provider, code: _Told = "", state: _Told = "",
    error: _Told = "", iss: Annotated[str | None, Query(max_length=4_096)] = None,
) -> RedirectResponse:  # fmt: skip
    """Let in whom the provider sends back, with a new cookie; whoever it does not vouch for sees the sign-in page."""
    own = _sign_ins(services)
    told = {"code": code, "state": state, "error": error} | ({} if iss is None else {"iss": iss})
    try:
        person, cookie, back = await own.come_back(provider, request.cookies.get(own.start_cookie, ""), told)
    except NotSignedIn as none:
        answer = _refusal(none.reason)
    else:
        answer = RedirectResponse(back if _OWN_PATH.fullmatch(back) else "/", 303)
        await keep_cookie(answer, own, request, services, person, cookie)
    answer.delete_cookie(own.start_cookie, secure=own.is_secure, httponly=True, samesite="lax")
    return answer


@router.get("/session", summary="Who is signed in")
async def signed_in(request: Request, services: Services, caller: Caller) -> SignedInAs:
    """Who is signed in in this browser, and what its page has to send along with changes."""
    is_by_cookie = services.sign_ins is not None and "authorization" not in request.headers
    csrf = services.sign_ins.csrf(visit_of(request)) if services.sign_ins is not None and is_by_cookie else ""
    return SignedInAs(user=caller.name, csrf=csrf, roles=tuple(sorted(caller.roles)))


@router.post("/logout", summary="Sign out")
async def log_out(request: Request, response: Response, services: Services, caller: Caller) -> SignedOut:
    """End the sign-in of this browser at once, and tell where the provider ends its own."""
    own = _sign_ins(services)
    location = await own.end(visit_of(request))
    response.delete_cookie(own.session_cookie, secure=own.is_secure, httponly=True, samesite="lax")
    return SignedOut(location=location or "/")


def visit_of(request: Request) -> Visit:
    """What a request says about where it comes from."""
    return Visit(request.method, request.headers)


async def keep_cookie(
    answer: Response, own: SignIns, request: Request, services: AppServices, person: Principal, cookie: str
) -> None:
    """Give the browser the cookie of a new sign-in, end the one it had, and ask anew what the person may do."""
    await own.replace(visit_of(request))
    services.authenticator.known.pop((person.tenant_id, person.user_id), None)
    _set(own, answer, own.session_cookie, cookie, SESSION_SECONDS)


def _refusal(reason: Reason) -> RedirectResponse:
    """The sign-in page, which has words for each reason."""
    return RedirectResponse(f"/?sign-in={reason}", 303)


def _set(own: SignIns, answer: Response, name: str, value: str, seconds: int) -> None:
    answer.set_cookie(name, value, max_age=seconds, path="/", secure=own.is_secure, httponly=True, samesite="lax")
