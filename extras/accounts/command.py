"""`conclave account`: links for people. It opens the database and nothing else."""

from typing import Annotated

import typer

from app.cli.connecting import opened_storage
from app.cli.output import OK, run_async
from app.client.local import local_server
from app.domain.principal import user_id_of
from app.errors import AppError, ErrorCode
from app.main.oidc import open_accounts
from app.main.storage import operator_claims
from app.settings import Settings

account_commands = typer.Typer(no_args_is_help=True, help="Accounts of people who sign in with a password kept here.")


@account_commands.callback()
def _accounts() -> None:
    """Keep `invite` a command of its own while it is the only one."""


@account_commands.command("invite")
@run_async
async def invite(user: Annotated[str, typer.Argument(metavar="TENANT/USER", help="A user there is already.")]) -> int:
    """Print a link with which somebody sets a first or a new password, within three days and once."""
    tenant, _, name = user.partition("/")
    async with opened_storage() as storage:
        accounts = await open_accounts(storage.settings, storage)
        if accounts is None:
            detail = "There are no accounts here: people sign in at a provider, or CONCLAVE_AUTH_LOCAL_ACCOUNTS is off."
            raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
        operator = operator_claims(tenant).principal()
        link, _until = await accounts.invite(operator, user_id_of(operator.tenant_id, name))
    typer.echo(f"{_address(storage.settings)}/#link={link}")
    return OK


def _address(settings: Settings) -> str:
    """Where people find the pages: as the settings say, else the server that runs here, else its usual place."""
    server = local_server(settings.data_dir)
    return settings.auth_address.rstrip("/") or (server.address if server else "http://127.0.0.1:8000")
