"""Companies' own sign-in, from the file the settings name; and accounts of this service."""

import os
from contextlib import suppress

from app.client.local import FIRST_FILE
from app.domain.principal import tenant_id_of
from app.errors import AppError, ErrorCode
from app.identity.accounts import Accounts
from app.identity.providers import ProvidersRefused, bare_address, read_providers
from app.identity.sign_ins import SignIns
from app.main.identity import kept_secret, secret_text
from app.main.storage import Storage
from app.settings import Settings
from app.storage.database import Database


def open_sign_ins(settings: Settings, database: Database) -> SignIns | None:
    """The providers of ``CONCLAVE_OIDC_FILE``, none without one; None where nobody has an account either. Reads it, and
    the variables it names. Raises `AppError` for what cannot be used."""
    if settings.oidc_file is None:
        address = _address(settings)
        return SignIns(database, None, {}, makes_users=False, address=address) if settings.has_accounts else None
    try:
        told = read_providers(settings.oidc_file)
    except ProvidersRefused as refused:
        raise _unusable(str(refused)) from None
    secrets_of = {name: os.environ.get(one.client_secret_env, "") for name, one in told.providers.items()}
    for name, one in told.providers.items():
        if one.client_secret_env and not secrets_of[name]:
            raise _unusable(f"providers.{name}: set the environment variable {one.client_secret_env}")
    return SignIns(database, told, secrets_of, makes_users=settings.auth_provider_makes_users)


async def open_accounts(settings: Settings, storage: Storage) -> Accounts | None:
    """Accounts of this service; None where nobody has one. A server leaves a link in the data directory with which the
    first administrator comes in, as long as there is none and it may make companies."""
    if not settings.has_accounts:
        return None
    demo = () if settings.auth_local_accounts else storage.demo_companies()
    found = Accounts(storage.database, storage, secret_text(settings), frozenset(map(tenant_id_of, demo)))
    with suppress(AppError):
        if settings.serve_address and await found.is_unruled():
            kept_secret(settings.data_dir / FIRST_FILE)
    return found


def _address(settings: Settings) -> str:
    try:
        return settings.auth_address and bare_address(settings.auth_address)
    except ValueError as wrong:
        detail = f"CONCLAVE_AUTH_ADDRESS cannot be used: it {wrong}."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=500) from wrong


def _unusable(reason: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, f"CONCLAVE_OIDC_FILE cannot be used: {reason}.", status=500)
