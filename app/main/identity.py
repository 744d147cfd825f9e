"""Who may come in: the signing secret, the directory of known tenants, the demo users."""

import os
import secrets
import time
from pathlib import Path
from uuid import UUID

from app.api.auth import Authenticator, Claims, DevLogin, KeySource, PublishedKeys, SharedSecret
from app.domain.principal import GENERAL, Principal, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.ingestion.seed import SEED_USERS, SeedUser
from app.settings import Settings
from app.storage import tenants
from app.storage.database import Database

_DEV_TOKEN_SECONDS = 8 * 3600
_KNOWN_SECONDS = 60
"""How long a tenant is believed to exist without asking again."""


class Directory:
    """The tenants and users of the database."""

    def __init__(self, database: Database):
        self._database = database
        self._known_until: dict[UUID, float] = {}

    async def is_known(self, principal: Principal) -> bool:
        """Whether the caller's tenant exists; at most one query a minute and tenant. Raises `AppError` (503) when the
        database is away."""
        if time.monotonic() < self._known_until.get(principal.tenant_id, 0):
            return True
        async with self._database.principal_scope(principal, durable=False) as tx:
            is_known = bool(await tenants.tenants(tx))
        if is_known:
            self._known_until[principal.tenant_id] = time.monotonic() + _KNOWN_SECONDS
        return is_known

    async def claims_of(self, user: str) -> Claims:
        """What the database says about ``tenant/user``, for the operator's own tokens and questions.

        Raises `AppError` NOT_FOUND when there is no such user.
        """
        tenant, _, name = user.partition("/")
        tenant_id = tenant_id_of(tenant)
        nobody = Principal(
            tenant_id=tenant_id,
            user_id=user_id_of(tenant_id, name),
            department=GENERAL,
            departments=frozenset({GENERAL}),
            scopes=frozenset(),
        )
        async with self._database.principal_scope(nobody, durable=False) as tx:
            found = await tenants.user(tx, tenant_id, nobody.user_id)
        if found is None:
            raise AppError(ErrorCode.NOT_FOUND, f"There is no user {user[:100]!r}; write tenant/user.", status=404)
        return Claims(
            sub=found.name,
            tenant_id=tenant,
            name=found.display_name or found.name,
            department=found.department,
            departments=tuple(sorted(found.departments)),
            permissions=tuple(sorted(found.scopes)),
            roles=tuple(sorted(found.roles)),
        )


def key_source(settings: Settings) -> KeySource:
    """Where token keys come from. Raises `AppError` when no safe source is configured."""
    if settings.auth_jwks_url:
        return PublishedKeys(settings.auth_jwks_url)
    return shared_secret(settings)


def shared_secret(settings: Settings) -> SharedSecret:
    """The HS256 secret: the configured one, or one made once beside the embedded database, readable by its owner only.

    Raises `AppError` when there is none for an external database, or it is too short.
    """
    secret = settings.auth_jwt_secret.get_secret_value()
    if not secret and settings.is_embedded:
        secret = _kept_secret(settings.data_dir / "jwt-secret")
    if not secret:
        raise _unsafe("Set CONCLAVE_AUTH_JWT_SECRET or CONCLAVE_AUTH_JWKS_URL when CONCLAVE_DATABASE_URL is set")
    try:
        return SharedSecret(secret)
    except ValueError as error:
        raise _unsafe(f"CONCLAVE_AUTH_JWT_SECRET cannot be used: {error}") from error


def _kept_secret(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(48))
    try:
        # A link either makes the whole file or fails because another process was first.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()


def authenticator(settings: Settings, keys: KeySource, directory: Directory) -> Authenticator:
    """Checks tokens with these keys."""
    return Authenticator(
        keys, issuer=settings.auth_issuer, audience=settings.auth_audience, is_known=directory.is_known
    )


def dev_login(settings: Settings, keys: KeySource) -> DevLogin | None:
    """Sign-in as a demo user, where it is on and this service signs its own tokens."""
    if not settings.dev_login or not isinstance(keys, SharedSecret):
        return None
    users = {f"{user.tenant}/{user.name}": demo_claims(user) for user in SEED_USERS}
    return DevLogin(
        users,
        keys,
        issuer=settings.auth_issuer,
        audience=settings.auth_audience,
        ttl_seconds=_DEV_TOKEN_SECONDS,
    )


def demo_claims(user: SeedUser) -> Claims:
    """The token of a demo user."""
    return Claims(
        sub=user.name,
        tenant_id=user.tenant,
        name=user.name,
        department=user.department,
        departments=user.departments,
        permissions=user.scopes,
        roles=user.roles,
    )


def _unsafe(reason: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, f"{reason}.", status=500)
