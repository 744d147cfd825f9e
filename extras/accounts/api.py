"""Signing in with a password kept here, links that set one, and what people change of their own account.

What is secret travels in bodies alone: an address stands in logs. Every answer about a sign-in that fails is the same.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from app.api.auth import Slug
from app.api.deps import Caller, Services
from app.api.oidc import SignedInAs, keep_cookie, visit_of
from app.api.schemas import Body, Label, Problem, Text, View
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.faces.face import Face
from app.identity.accounts import Accounts, Wrong
from app.identity.sign_ins import SignIns, csrf_of
from app.storage import accounts as rows
from app.trust.refusals import Refusals, address_class
from extras.accounts.codes import Codes
from extras.accounts.first import First, Founder
from extras.accounts.states import AccountState, states

_ROOT, _LOCAL, _LINK = "/api/v1/account", "/api/v1/auth/local", "/api/v1/auth/link"
_ENTERING: list[str | Enum] = ["sign-in"]
_OWN: list[str | Enum] = ["account"]
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"model": Problem}}
_REFUSED: dict[int | str, dict[str, Any]] = {code: {"model": Problem} for code in (401, 403, 404, 409, 429)}
router = APIRouter()
Password = Annotated[Text, Field(min_length=1, max_length=1_000)]
Link = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{20,200}$")]
Code = Annotated[str, Field(pattern=r"^([0-9]{6})?$")]


def _accounts(services: Services) -> Accounts:
    if services.accounts is None:
        raise AppError(ErrorCode.NOT_FOUND, "There is nothing at this address.", status=404)
    return services.accounts


Here = Annotated[Accounts, Depends(_accounts)]


class SignInBody(Body):
    """Who wants to come in."""

    user: Label
    """Name; with ``company/`` before it where there are several companies."""
    password: Password
    code: Code = ""
    """Of the authenticator app, for who has one."""


class LinkBody(Body):
    """What a link carries behind its ``#``."""

    link: Link


class PasswordBody(LinkBody):
    """A password set with a link."""

    password: Password
    company: Slug | None = None
    """This and the next two for the first administrator alone."""
    user: Annotated[Label | None, Field(pattern=r"^[^/\x00-\x20\x7f]([^/\x00-\x1f\x7f]*[^/\x00-\x20\x7f])?$")] = None
    name: Annotated[Text, Field(max_length=200)] = ""
    language: Literal["vi", "en"] = "vi"


class ChangeBody(Body):
    """Another password."""

    password: Password
    """The present one."""
    new_password: Password


class ConfirmedBody(Body):
    """The password, brought once more."""

    password: Password


class CodesBody(ConfirmedBody):
    """A code that the app shows."""

    code: Code
    asked: bool = Field(strict=True)
    """Whether codes are asked for from now on."""


class LocalView(View):
    """Whether people sign in with passwords kept here."""

    is_on: bool


class GuestView(View):
    """Whom a link is for."""

    is_first: bool
    """Whether it is the one for the first administrator, who says all the rest."""
    companies: tuple[str, ...]
    """The person's, or those that wait for an administrator; none = a new one is made."""
    user: str
    name: str


class AccountView(View):
    """The caller's account."""

    has_password: bool
    has_codes: bool


class SecretView(View):
    """The secret of somebody's codes, shown this once."""

    secret: str
    """To be typed into the app."""
    address: str
    """The same as an address that the app opens."""


class StateView(AccountState, View):
    """Somebody's account."""


class InvitationView(View):
    """A link for somebody, shown this once."""

    link: str
    """To be put behind the address of the service: ``/#link=…``."""
    expires_at: datetime


@router.get(_LOCAL, tags=_ENTERING, summary="Are there passwords here?")
async def local(services: Services) -> LocalView:
    """Whether the sign-in page asks for name and password."""
    return LocalView(is_on=services.accounts is not None)


@router.post(_LOCAL, tags=_ENTERING, summary="Sign in with a password", responses=_REFUSED)
async def sign_in(
    body: SignInBody, request: Request, response: Response, services: Services, accounts: Here
) -> SignedInAs:
    """A cookie for who has this password. Whatever is wrong, the answer is the same 401; who tries too often waits."""
    own, codes, whose = _sign_ins(services), Codes(accounts), await accounts.named(body.user)
    own.check_page(visit_of(request))
    async with _noting(request, whose):
        entered = await accounts.sign_in(
            whose, body.password, _network(request), lambda tx, held: codes.takes(tx, held, body.code)
        )
    return await _let_in(entered, own, request, response, services)


@router.post(_LINK, tags=_ENTERING, summary="Whom a link is for", responses=_UNKNOWN)
async def look(body: LinkBody, services: Services, accounts: Here) -> GuestView:
    """What the page shows before somebody sets a password."""
    first = First(accounts, services.limits.data_dir)
    if first.fits(body.link):
        return GuestView(is_first=True, companies=tuple(await first.companies()), user="", name="")
    guest = await accounts.guest(body.link)
    return GuestView(is_first=False, companies=(guest.company,), user=guest.user, name=guest.name)


@router.put(
    _LINK, tags=_ENTERING, summary="Set a password with a link", responses={**_UNKNOWN, 403: {"model": Problem}}
)
async def redeem(
    body: PasswordBody, request: Request, response: Response, services: Services, accounts: Here
) -> SignedInAs:
    """Sets the password of whom the link is for, ends that person's sign-ins, and gives a new one. The link of the
    first administrator makes the company, too. A link counts once."""
    own, first = _sign_ins(services), First(accounts, services.limits.data_dir)
    own.check_page(visit_of(request))
    if not first.fits(body.link):
        return await _let_in(await accounts.redeem(body.link, body.password), own, request, response, services)
    if body.company is None or body.user is None:
        detail = "company, user: name the company and yourself."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    wanted = Founder(**body.model_dump(exclude={"link"}))
    return await _let_in(await first.enter(wanted), own, request, response, services)


@router.get(_ROOT, tags=_OWN, summary="Your account")
async def state(caller: Caller, accounts: Here) -> AccountView:
    """Whether you have a password here, and whether codes are asked for."""
    async with accounts.database.principal_scope(caller) as tx:
        held = await rows.own(tx)
    return AccountView(has_password=held is not None, has_codes=held is not None and held.has_totp)


@router.put(
    f"{_ROOT}/password",
    tags=_OWN,
    summary="Change your password",
    status_code=204,
    response_class=Response,
    responses=_REFUSED,
)
async def change(body: ChangeBody, caller: Caller, request: Request, services: Services, accounts: Here) -> None:
    """Ends every other sign-in of yours."""
    kept = await _sign_ins(services).id_of(visit_of(request))
    async with _noting(request, caller):
        await accounts.change(caller, body.password, body.new_password, _network(request), kept)


@router.post(f"{_ROOT}/codes", tags=_OWN, summary="Begin with codes", responses=_REFUSED)
async def begin_codes(body: ConfirmedBody, caller: Caller, request: Request, accounts: Here) -> SecretView:
    """The secret for an authenticator app; codes are asked for once you have shown one."""
    async with _noting(request, caller):
        secret, address = await Codes(accounts).begin(caller, body.password, _network(request))
    return SecretView(secret=secret, address=address)


@router.put(
    f"{_ROOT}/codes", tags=_OWN, summary="Codes on or off", status_code=204, response_class=Response, responses=_REFUSED
)
async def settle_codes(body: CodesBody, caller: Caller, request: Request, accounts: Here) -> None:
    """Show a code, and codes are asked for from now on, or no longer. Who has lost the app asks an administrator for a
    link."""
    async with _noting(request, caller):
        await Codes(accounts).settle(caller, body.password, body.code, _network(request), is_on=body.asked)


@router.post(
    f"{_ROOT}/invitations/{{user_id}}", tags=["users"], summary="Invite somebody", status_code=201,
    responses={code: {"model": Problem} for code in (403, 404, 409)},
)  # fmt: skip
async def invite(user_id: UUID, caller: Caller, accounts: Here) -> InvitationView:
    """For administrators: a link with which a user of the company sets a first or a new password within three days. The
    link before counts no more; password and codes stay until it is used. Written to the audit."""
    link, until = await accounts.invite(caller, user_id)
    return InvitationView(link=link, expires_at=until)


async def _let_in(
    entered: tuple[Principal, str], own: SignIns, request: Request, response: Response, services: Services
) -> SignedInAs:
    person, cookie = entered
    await keep_cookie(response, own, request, services, person, cookie)
    return SignedInAs(user=person.name, csrf=csrf_of(cookie), roles=tuple(sorted(person.roles)))


@router.get(f"{_ROOT}/invitations", tags=["users"], summary="Who has an account", responses={403: {"model": Problem}})
async def listing(caller: Caller, accounts: Here) -> list[StateView]:
    """For administrators and auditors: who of the company has a password or a link for one. No secret is in it."""
    return [StateView(**one.model_dump()) for one in await states(accounts.database, caller)]


@asynccontextmanager
async def _noting(request: Request, whose: Principal) -> AsyncIterator[None]:
    """Write to the audit that a password or code was wrong, or came too early, as of every refused sign-in."""
    try:
        yield
    except AppError as refused:
        if isinstance(refused, Wrong) or refused.code is ErrorCode.RATE_LIMITED:
            refusals: Refusals = request.app.state.refusals
            peer = request.client.host if request.client else ""
            await refusals.note_named((whose.tenant_id, whose.user_id), peer, refused)
        raise


def _sign_ins(services: Services) -> SignIns:
    assert services.sign_ins is not None, "where there are accounts there are sign-ins"
    return services.sign_ins


def _network(request: Request) -> str:
    return address_class(request.client.host) if request.client else ""


FACE = Face(router=router, roots=(_ROOT,), open_paths=frozenset({_LOCAL, _LINK}))
