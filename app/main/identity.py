"""Who may come in: the signing secret, tokens, the demo users."""

import os
import secrets
from pathlib import Path

from app.api.auth import Claims, DevLogin, KeySource, OwnCompanies, PublishedKeys, SharedSecret
from app.client.local import DEMO_KEY_FILE
from app.errors import AppError, ErrorCode
from app.ingestion.seed import SeedUser, read_demo
from app.settings import Settings

_DEV_TOKEN_SECONDS = 8 * 3600


def key_source(settings: Settings) -> KeySource:
    """Where token keys come from. Raises `AppError` when no safe source is configured."""
    if settings.auth_jwks_url:
        return PublishedKeys(settings.auth_jwks_url)
    return shared_secret(settings)


def shared_secret(settings: Settings) -> SharedSecret:
    """The HS256 secret. Raises `AppError` as `secret_text`, and when it is too short."""
    try:
        return SharedSecret(secret_text(settings))
    except ValueError as error:
        raise _unsafe(f"CONCLAVE_AUTH_JWT_SECRET cannot be used: {error}") from error


def secret_text(settings: Settings) -> str:
    """The installation's secret: the configured one, or one made once beside the embedded database, readable by its
    owner only. Raises `AppError` when there is none for an external database."""
    secret = settings.auth_jwt_secret.get_secret_value()
    if not secret and settings.is_embedded:
        secret = kept_secret(settings.data_dir / "jwt-secret")
    if not secret:
        raise _unsafe("Set CONCLAVE_AUTH_JWT_SECRET or CONCLAVE_AUTH_JWKS_URL when CONCLAVE_DATABASE_URL is set")
    return secret


def sign_token(settings: Settings, claims: Claims, ttl_seconds: int) -> str:
    """A token for these claims with the installation's own secret. Raises `AppError` when it has none, or would refuse
    a token that lives so long."""
    if ttl_seconds > settings.auth_token_max_seconds:
        detail = (
            f"A token lives for at most {settings.auth_token_max_seconds} seconds (CONCLAVE_AUTH_TOKEN_MAX_SECONDS)."
        )
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    return shared_secret(settings).sign(
        claims, issuer=settings.auth_issuer, audience=settings.auth_audience, ttl_seconds=ttl_seconds
    )


def kept_secret(path: Path) -> str:
    """The text of a file that its owner alone may read; made by chance where there is none."""
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


async def dev_login(settings: Settings, keys: KeySource, own_companies: OwnCompanies) -> DevLogin | None:
    """Sign-in as a demo user, where it is on, not over, and this service signs its own tokens. Its key is in the data
    directory: of several processes the first one makes it."""
    if not settings.dev_login or not isinstance(keys, SharedSecret) or await own_companies():
        return None
    users = {f"{user.tenant}/{user.name}": demo_claims(user) for user in read_demo(settings.seed_dir).users}
    return DevLogin(
        users=users, key=kept_secret(settings.data_dir / DEMO_KEY_FILE), own_companies=own_companies, secret=keys,
        issuer=settings.auth_issuer, audience=settings.auth_audience,
        ttl_seconds=min(_DEV_TOKEN_SECONDS, settings.auth_token_max_seconds),
    )  # fmt: skip


def demo_claims(user: SeedUser) -> Claims:
    """The token of a demo user."""
    return Claims(
        sub=user.name, tenant_id=user.tenant, name=user.name, department=user.department,
        departments=user.departments, permissions=user.scopes, roles=user.roles,
    )  # fmt: skip


def _unsafe(reason: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, f"{reason}.", status=500)


def trusted_hosts(settings: Settings) -> frozenset[str]:
    """Hosts whose links may stand in an answer: those of the settings, and of the demo companies where they are on.
    Reads one small file."""
    return settings.trusted_link_hosts | (
        read_demo(settings.seed_dir).trusted_link_hosts if settings.dev_login else frozenset()
    )
