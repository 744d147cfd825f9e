"""Companies' own sign-in, from the file the settings name."""

import os

from app.errors import AppError, ErrorCode
from app.identity.providers import ProvidersRefused, read_providers
from app.identity.sign_ins import SignIns
from app.settings import Settings
from app.storage.database import Database


def open_sign_ins(settings: Settings, database: Database) -> SignIns | None:
    """The providers of ``CONCLAVE_OIDC_FILE``; None without one. Reads it, and the variables it names. Raises
    `AppError` for what cannot be used."""
    if settings.oidc_file is None:
        return None
    try:
        told = read_providers(settings.oidc_file)
    except ProvidersRefused as refused:
        raise _unusable(str(refused)) from None
    secrets_of = {name: os.environ.get(one.client_secret_env, "") for name, one in told.providers.items()}
    for name, one in told.providers.items():
        if one.client_secret_env and not secrets_of[name]:
            raise _unusable(f"providers.{name}: set the environment variable {one.client_secret_env}")
    return SignIns(database, told, secrets_of, makes_users=settings.auth_provider_makes_users)


def _unusable(reason: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, f"CONCLAVE_OIDC_FILE cannot be used: {reason}.", status=500)
