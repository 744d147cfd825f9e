"""Sign people in at the provider of their company: the cookie they get for it, and who comes with one. People with an
account of this service (`app.identity.accounts`) get the same cookie.

The cookie is a value by chance, in the database as its hash alone. It counts as its user only where the page of this
service asks: requests that change something bring a second value, which other pages cannot read (CSRF).
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Literal
from uuid import UUID, uuid4

import structlog

from app.domain.principal import Principal, Visit, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.identity import RightsToday, speaking_as
from app.identity.openid import OpenId, ProviderAway, Refused, Start
from app.identity.providers import Mapped, NotMapped, Provider, Providers
from app.storage import sign_ins, tenants
from app.storage.database import Database, Transaction
from app.storage.documents import note
from app.storage.sign_ins import SignedIn

CSRF_HEADER = "Conclave-CSRF"
SESSION_SECONDS = 8 * 3600
"""A sign-in ends then, whatever is done with it; the provider lets people in again without asking them."""
CALLBACK = "/api/v1/auth/{name}/callback"
_VALUE_CHARS = 43
_SAFE = ("GET", "HEAD", "OPTIONS")
Reason = Literal["away", "refused", "unknown", "nothing"]
"""Why nobody came in: the provider is away; what came back is no sign-in begun here; the account is not known here or
shut out; it may read nothing."""
_log = structlog.get_logger(__name__)


class NotSignedIn(Exception):
    """Nobody came in."""

    def __init__(self, reason: Reason):
        """`reason` is shown to the person."""
        super().__init__(reason)
        self.reason: Reason = reason


class SignIns:
    """The sign-ins of an installation."""

    def __init__(
        self, database: Database, providers: Providers | None, secrets_of: Mapping[str, str], *, makes_users: bool,
        address: str = "",
    ):  # fmt: skip
        """`secrets_of`: the client's secret by provider. `makes_users`: whether people whom nobody added come in.
        `address`: where people find the service, where there are no providers that say it; empty = under any name."""
        self._database, self._makes_users, self.address = database, makes_users, address
        if providers is not None:
            self.address = address = providers.address
        self.is_secure = address.startswith("https://")
        self.session_cookie, self.start_cookie = ("conclave-session", "conclave-start")
        if self.is_secure:  # then no other host of the domain can have set them
            self.session_cookie, self.start_cookie = f"__Host-{self.session_cookie}", f"__Host-{self.start_cookie}"
        self.known = {
            name: OpenId(one, secrets_of.get(name, ""), address + CALLBACK.format(name=name))
            for name, one in ({} if providers is None else providers.providers).items()
        }

    async def begin(self, name: str, back: str) -> tuple[str, str]:
        """Where to send a browser that wants to sign in and come `back`, and the cookie it needs then. Raises
        `NotSignedIn` while the provider is away, and `AppError` (404) for an unknown one."""
        openid = self._openid(name)
        start = Start.of(name, back, openid.clock())
        try:
            return await openid.start_address(start), start.text()
        except ProviderAway as away:
            _log.warning("provider_away", provider=name, reason=str(away))
            raise NotSignedIn("away") from None

    async def come_back(self, name: str, cookie: str, answer: Mapping[str, str]) -> tuple[Principal, str, str]:
        """The person a provider sends back with `answer`, the cookie of a new sign-in, and the path to show.

        Nothing that the browser brought before becomes the new cookie. Raises `NotSignedIn`, and `AppError`: 404 for an
        unknown provider, 503 when the database is away.
        """
        openid, start = self._openid(name), Start.read(cookie)
        try:
            if start is None:
                raise Refused("no cookie of a start")
            start.check(name, answer.get("state", ""), openid.clock())
            if answer.get("iss", openid.provider.issuer) != openid.provider.issuer or answer.get("error"):
                raise Refused("the provider says no")
            mapped = openid.provider.mapped(await openid.claims(start, answer.get("code", "")))
        except ProviderAway as away:
            _log.warning("provider_away", provider=name, reason=str(away))
            raise NotSignedIn("away") from None
        except Refused as refused:
            _log.warning("sign_in_refused", provider=name, reason=str(refused))
            raise NotSignedIn("refused") from None
        except NotMapped as refused:
            _log.warning("sign_in_refused", provider=name, reason=str(refused))
            raise NotSignedIn("nothing") from None
        return *await self._enter(name, openid.provider, mapped), start.back

    async def caller(self, visit: Visit, rights_today: RightsToday) -> Principal | None:
        """Find who comes with a cookie, with the rights of now (`speaking_as`); None for a cookie that is no good.

        Raises `AppError`: 403 for what another page sends, or this one without the header; 503 when the database is
        away.
        """
        value = self._cookie(visit)
        found = await self._found(value)
        if found is None:
            return None
        self.check_page(visit, value)
        return await speaking_as(found, rights_today)

    def csrf(self, visit: Visit) -> str:
        """What the page of this browser has to send as `CSRF_HEADER`; empty without a cookie."""
        return csrf_of(self._cookie(visit))

    async def id_of(self, visit: Visit) -> UUID | None:
        """The sign-in of this browser."""
        found = await self._found(self._cookie(visit))
        return None if found is None else found.sign_in_id

    async def end(self, visit: Visit) -> str:
        """End the sign-in of a request at once, and give where the person is signed out at the provider, too; empty
        where there is nothing to end. Raises `AppError` (403) as `caller` does."""
        value = self._cookie(visit)
        found = await self._found(value)
        if found is None:
            return ""
        self.check_page(visit, value)
        await self._remove(found)
        try:
            openid = self.known.get(found.provider)
            return "" if openid is None else await openid.end_address(f"{self.address}/")
        except ProviderAway:
            return ""

    async def replace(self, visit: Visit) -> None:
        """End the sign-in a browser had before it got a new one."""
        if (found := await self._found(self._cookie(visit))) is not None:
            await self._remove(found)

    def _openid(self, name: str) -> OpenId:
        if (found := self.known.get(name)) is None:
            raise AppError(ErrorCode.NOT_FOUND, "There is no such provider.", status=404)
        return found

    async def _enter(self, name: str, provider: Provider, mapped: Mapped) -> tuple[Principal, str]:
        tenant_id = tenant_id_of(provider.tenant)
        user_id = user_id_of(tenant_id, mapped.user)
        most = Principal(
            tenant_id=tenant_id, user_id=user_id, department=mapped.department, departments=mapped.departments,
            scopes=mapped.scopes, roles=mapped.roles, name=mapped.name or mapped.user,
        )  # fmt: skip
        if self._makes_users:
            await self._keep_user(name, most, mapped.user)
        async with self._database.principal_scope(Principal.without_rights(tenant_id, user_id)) as tx:
            found = await tenants.user(tx, tenant_id, user_id)
            if found is None or found.disabled_at is not None or "service" in found.roles:
                raise NotSignedIn("unknown")
            return most, await begun(tx, name, most, {"groups": mapped.groups})

    async def _keep_user(self, name: str, most: Principal, user: str) -> None:
        clerk = most.model_copy(update={"roles": frozenset({"admin"}), "scopes": frozenset()})
        async with self._database.principal_scope(clerk) as tx:
            if not await tenants.tenants(tx):
                raise NotSignedIn("unknown")
            await sign_ins.keep_user(tx, name, most, user)

    async def _remove(self, found: SignedIn) -> None:
        async with self._database.principal_scope(Principal.without_rights(found.tenant_id, found.user_id)) as tx:
            if await sign_ins.end(tx, found.sign_in_id):
                await note(tx, "signed_out", str(found.user_id), {"provider": found.provider})

    async def _found(self, value: str) -> SignedIn | None:
        return await sign_ins.use(self._database, hash_of(value)) if value else None

    def _cookie(self, visit: Visit) -> str:
        """The value of the one cookie of a sign-in; empty for none, several, and what none can be."""
        told = (part.strip().partition("=") for part in visit.headers.get("cookie", "").split(";"))
        values = [value for name, _, value in told if name == self.session_cookie]
        return values[0] if len(values) == 1 and len(values[0]) == _VALUE_CHARS else ""

    def check_page(self, visit: Visit, value: str = "") -> None:
        """Raise `AppError` (403) unless the page of this service asks, with what belongs to the cookie `value` where
        there is one, or a person follows a link."""
        headers = visit.headers
        # Where nobody said how the service is called, it is called as the browser calls it.
        own = [self.address] if self.address else [f"{one}://{headers.get('host')}" for one in ("http", "https")]
        is_own = headers.get("origin", own[0]) in own
        site = headers.get("sec-fetch-site", "same-origin")
        is_link = visit.method in _SAFE and headers.get("sec-fetch-mode") == "navigate"
        told = headers.get(CSRF_HEADER.lower(), "").encode()
        is_page = visit.method in _SAFE or not value or hmac.compare_digest(told, csrf_of(value).encode())
        if not is_own or not (site in ("same-origin", "none") or is_link) or not is_page:
            detail = (
                f"A cookie counts on the pages of this service alone, with the header {CSRF_HEADER}: reload the page."
            )
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)


async def begun(tx: Transaction, provider: str, most: Principal, told: Mapping[str, object]) -> str:
    """Write down a sign-in of the caller that gives at most the rights of `most`, with what the audit is `told` of it;
    gives the cookie, by chance."""
    value = secrets.token_urlsafe(32)
    await sign_ins.add(tx, uuid4(), hash_of(value), provider, most, SESSION_SECONDS)
    await note(tx, "signed_in", str(most.user_id), {"provider": provider, **told})
    return value


def hash_of(value: str) -> bytes:
    """What is kept of a value by chance."""
    return hashlib.sha256(value.encode()).digest()


def csrf_of(value: str) -> str:
    """The second value of a cookie; empty for none."""
    digest = hmac.digest(value.encode(), b"csrf", hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") if value else ""
