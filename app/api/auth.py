"""Who is calling: a bearer token or a key becomes a `Principal`, here and nowhere else.

Two kinds of tokens: HS256 with this service's own secret, or RS256/ES256 with the keys of a configured JWKS address.
The algorithm and the address come from the settings, never from a token; of a token's header only ``kid`` is read.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import jwt
import structlog
from cachetools import TTLCache
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.domain.principal import SCOPES, Principal, Visit, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.identity.keys import KEY_MARK, ApiKeys
from app.identity.sign_ins import SignIns
from app.storage.keys import KeyRights

MAX_TOKEN_CHARS = 8_192
LEEWAY_SECONDS = 10
_MIN_SECRET_BYTES = 32
OwnCompanies = Callable[[], Awaitable[Sequence[str]]]
_log = structlog.get_logger(__name__)

Key = str | jwt.PyJWK
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
_WITHOUT_NUL = r"^[^\x00]*$"


class Claims(BaseModel):
    """What a token says about its bearer; claims of others are ignored, scopes nobody knows give nothing."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sub: Name = Field(pattern=_WITHOUT_NUL)
    """User: a UUID or a name."""
    tenant_id: Name
    """Tenant: a UUID or a name."""
    name: str = Field("", max_length=200, pattern=_WITHOUT_NUL)
    department: Slug
    departments: tuple[Slug, ...] = Field((), max_length=64)
    permissions: tuple[str, ...] = Field((), max_length=64)
    roles: tuple[Slug, ...] = Field((), max_length=64)

    def principal(self) -> Principal:
        """The caller these claims describe."""
        tenant_id = tenant_id_of(self.tenant_id)
        return Principal(
            tenant_id=tenant_id,
            user_id=user_id_of(tenant_id, self.sub),
            department=self.department,
            departments=frozenset({self.department, *self.departments}),
            scopes=frozenset(scope for scope in SCOPES if scope in self.permissions),
            roles=frozenset(self.roles),
            name=self.name or self.sub,
        )


class SharedSecret:
    """One HS256 secret, for tokens this service signs itself."""

    algorithms = ["HS256"]

    def __init__(self, secret: str):
        if len(secret.encode()) < _MIN_SECRET_BYTES:
            raise ValueError(f"the signing secret must have at least {_MIN_SECRET_BYTES} bytes")
        self._secret = secret

    async def key(self, kid: str | None) -> Key:
        """The secret; `kid` does not matter."""
        return self._secret

    def sign(self, claims: Claims, *, issuer: str, audience: str, ttl_seconds: int, now: datetime | None = None) -> str:
        """A token for these claims, valid from now for `ttl_seconds`."""
        issued = now or datetime.now(UTC)
        payload = claims.model_dump(mode="json", exclude_defaults=True) | {
            "iss": issuer,
            "aud": audience,
            "iat": issued,
            "exp": issued + timedelta(seconds=ttl_seconds),
        }
        return jwt.encode(payload, self._secret, algorithm="HS256")


class PublishedKeys:
    """The public keys of an identity provider, fetched off the event loop and kept for a bounded time.

    A key set is believed for a minute and asked for at once for an unknown ``kid`` (at most every ten seconds). While
    the provider cannot be reached the last set serves for a quarter of an hour, then nobody gets in.
    """

    algorithms = ["RS256", "ES256"]

    def __init__(
        self, url: str, *, fresh_seconds: float = 60, stale_seconds: float = 900, retry_seconds: float = 10,
        clock: Callable[[], float] = time.monotonic,
    ):  # fmt: skip
        self._client, self._clock = jwt.PyJWKClient(url, cache_jwk_set=False, timeout=5), clock
        self._fresh_seconds, self._stale_seconds, self._retry_seconds = fresh_seconds, stale_seconds, retry_seconds
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._is_away = False
        self._fetching = asyncio.Lock()
        self._renewal: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._renewal.set_result(None)

    async def key(self, kid: str | None) -> Key:
        """The published key called `kid`. Waits for the network when the key is unknown or its set outworn; of a
        provider that is away only the first caller does."""
        if kid is None:
            raise jwt.InvalidTokenError("a token names its key")
        is_outworn = self._clock() - self._fetched_at > self._fresh_seconds
        if not self._holds(kid) or (is_outworn and not self._is_away):
            await self._refresh()
        elif is_outworn and self._renewal.done():
            self._renewal = asyncio.ensure_future(self._refresh())
        if not self._holds(kid):
            raise jwt.InvalidTokenError("no such key")
        return self._keys[kid]

    def _holds(self, kid: str) -> bool:
        return kid in self._keys and self._clock() - self._fetched_at <= self._stale_seconds

    async def _refresh(self) -> None:
        async with self._fetching:
            if self._clock() - self._tried_at < self._retry_seconds:
                return
            self._is_away = True
            try:
                keys = await asyncio.to_thread(self._client.get_signing_keys)
            except (jwt.PyJWTError, OSError, ValueError) as error:
                _log.warning("key_set_unavailable", error_class=type(error).__name__)
            else:
                self._keys = {key.key_id: key for key in keys if key.key_id and key.algorithm_name in self.algorithms}
                self._fetched_at, self._is_away = self._clock(), False
            finally:
                self._tried_at = self._clock()


KeySource = SharedSecret | PublishedKeys


class LivesTooLong(jwt.InvalidTokenError):
    """Says why a token was refused; to the log alone."""


Known = TTLCache[tuple[UUID, UUID], Principal | None]
"""What people may do, by tenant and user."""


def known_people(clock: Callable[[], float] = time.monotonic) -> Known:
    """Remember of some thousand people what they may do, for a minute."""
    return TTLCache(10_000, 60, clock)


@dataclass(frozen=True)
class Authenticator:
    """Checks tokens."""

    keys: KeySource
    issuer: str
    audience: str
    rights_today: Callable[[Principal], Awaitable[Principal | None]]
    """What the caller may do at this time, whatever the token says; None = all it says. Raises `AppError` for unknown
    callers and those who were shut out."""
    max_seconds: int
    """No token lives longer."""
    known: Known = field(default_factory=known_people)
    api_keys: ApiKeys | None = None
    """None = keys of programs are taken for bad tokens."""
    sign_ins: SignIns | None = None
    """None = no cookie counts."""

    async def authenticate(self, authorization: str | None, visit: Visit | None = None) -> Principal:
        """The caller behind an ``Authorization`` header, else behind the cookie of a `visit`, with those rights of the
        token, key or sign-in that the user still has. Raises `AppError` UNAUTHENTICATED for anything but a good one;
        the reasons are not told apart to the caller. 403 for a cookie that another page sends."""
        if authorization is None and visit is not None and self.sign_ins is not None:
            if (caller := await self.sign_ins.caller(visit, self._today)) is None:
                raise unauthenticated()
            return caller
        token = bearer_token(authorization)
        if self.api_keys is not None and token.startswith(KEY_MARK):
            if (caller := await self.api_keys.caller(token, self._today)) is None:
                raise unauthenticated()
            return caller
        principal = (await self._verified(token)).principal()
        today = await self._today(principal)
        return principal if today is None else principal.limited_to(today)

    async def key_behind(self, authorization: str | None) -> KeyRights | None:
        """The key a caller came with; None = a token, or the private socket."""
        token = (authorization or "").partition(" ")[2]
        return None if self.api_keys is None else await self.api_keys.rights_of(token)

    async def _today(self, principal: Principal) -> Principal | None:
        whose = principal.tenant_id, principal.user_id
        try:
            return self.known[whose]
        except KeyError:
            today = self.known[whose] = await self.rights_today(principal)
            return today

    async def _verified(self, token: str) -> Claims:
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            payload = jwt.decode(
                token,
                await self.keys.key(kid if isinstance(kid, str) else None),
                algorithms=self.keys.algorithms,
                issuer=self.issuer,
                audience=self.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            now = time.time()
            if payload["exp"] - min(payload.get("iat", now), now) > self.max_seconds + LEEWAY_SECONDS:
                raise LivesTooLong
            return Claims.model_validate(payload)
        except (jwt.PyJWTError, ValidationError, ValueError, TypeError, RecursionError) as error:
            _log.info("token_refused", error_class=type(error).__name__)
            raise unauthenticated() from None


@dataclass(frozen=True, kw_only=True)
class DevLogin:
    """Tokens for the demo users, for a person sitting at this machine."""

    users: Mapping[str, Claims]
    """By ``tenant/user``."""
    key: str
    """What the sign-in links carry."""
    own_companies: OwnCompanies
    """Those beside the demo's: as soon as there is one, there is somebody to protect."""
    secret: SharedSecret
    issuer: str
    audience: str
    ttl_seconds: int

    def token_for(self, user: str) -> str:
        """A token for a demo user. Raises `AppError` NOT_FOUND for anybody else."""
        if user not in self.users:
            raise AppError(ErrorCode.NOT_FOUND, "There is no such demo user.", status=404)
        claims, ttl = self.users[user], self.ttl_seconds
        return self.secret.sign(claims, issuer=self.issuer, audience=self.audience, ttl_seconds=ttl)


def bearer_token(authorization: str | None) -> str:
    """The token in an ``Authorization`` header; refuses other schemes and oversized tokens before any parsing."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token or len(token) > MAX_TOKEN_CHARS:
        raise unauthenticated()
    return token


def unauthenticated() -> AppError:
    """The one refusal of every bad token."""
    return AppError(ErrorCode.UNAUTHENTICATED, "A valid bearer token is needed.", status=401)


def narrowed_by_context(principal: Principal, context: Mapping[str, Any]) -> Principal:
    """The principal with the fewer rights a request asked for (``user_context`` of §1.1, only its set fields).

    Raises `AppError` PERMISSION_DENIED when the context names somebody else or asks for more than the token gives.
    """
    tenant, user = context.get("tenant_id"), context.get("user_id")
    is_same = (tenant is None or tenant_id_of(tenant) == principal.tenant_id) and (
        user is None or user_id_of(principal.tenant_id, user) == principal.user_id
    )
    permissions, department = context.get("permissions"), context.get("department")
    wanted = principal.scopes if permissions is None else frozenset(permissions)
    if not is_same or not wanted <= principal.scopes or department not in (None, *principal.departments):
        raise AppError(ErrorCode.PERMISSION_DENIED, "user_context asks for more than the token gives.", status=403)
    if department is None:
        return principal.model_copy(update={"scopes": wanted})
    return principal.narrowed(scopes=wanted, department=department)
