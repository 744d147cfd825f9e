"""`conclave token`."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console

from app.api.auth import Claims
from app.cli.output import OK, finish, names, opened
from app.main.identity import shared_secret
from app.settings import Settings


def token(
    tenant: Annotated[str, typer.Option()] = "acme",
    user: Annotated[str, typer.Option()] = "lan",
    department: Annotated[str, typer.Option(help="Default: the stored user's.")] = "",
    permissions: Annotated[str, typer.Option(help="Comma separated; default: the stored user's.")] = "",
    role: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds.")] = 3600,
) -> None:
    """Print a bearer token, and nothing else."""
    changes: dict[str, object] = {"roles": tuple(role)} if role else {}
    if department:
        changes |= {"department": department, "departments": (department,)}
    if permissions:
        changes |= {"permissions": names(permissions)}
    if department and permissions:
        claims = Claims.model_validate({"sub": user, "tenant_id": tenant, "name": user, **changes})
        typer.echo(sign_token(Settings(), claims, ttl))
        return
    finish(print_stored_token(Settings(), f"{tenant}/{user}", changes, ttl))


def sign_token(settings: Settings, claims: Claims, ttl_seconds: int) -> str:
    """A token for these claims with the service's own secret. Raises `AppError` when it has none."""
    return shared_secret(settings).sign(
        claims, issuer=settings.auth_issuer, audience=settings.auth_audience, ttl_seconds=ttl_seconds
    )


async def print_stored_token(settings: Settings, user: str, changes: Mapping[str, object], ttl_seconds: int) -> int:
    """Print a token for a user of the database, with the given claims changed."""
    async with opened(settings, Console(stderr=True)) as services:
        stored = await services.claims_of(user)
    claims = Claims.model_validate({**stored.model_dump(), **changes})
    typer.echo(sign_token(settings, claims, ttl_seconds))
    return OK
