"""`conclave key`: keys by which programs come in. They open the database and nothing else."""

from typing import Annotated
from uuid import UUID

import typer
from rich.console import Console

from app.cli.connecting import Tenant, opened_storage
from app.cli.output import OK, AsJson, names, print_json, print_rows, run_async
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.identity.keys import ApiKeys, WantedKey
from app.main.storage import Storage
from app.storage.keys import StoredKey

key_commands = typer.Typer(no_args_is_help=True, help="Keys by which programs come in.")
_PAGE = 100
_SHOWN = (
    "key_id",
    "user",
    "name",
    "prefix",
    "scopes",
    "departments",
    "roles",
    "expires_at",
    "last_used_at",
    "revoked_at",
)


@key_commands.command("add")
@run_async
async def key_add(
    user: Annotated[str, typer.Argument(metavar="TENANT/USER", help="Whom the key speaks as.")],
    name: Annotated[str, typer.Option(help="What it is for.")] = "command line",
    permissions: Annotated[str, typer.Option(help="Comma separated; default: the user's.")] = "",
    departments: Annotated[str, typer.Option(help="Comma separated; default: the user's.")] = "",
    role: Annotated[list[str] | None, typer.Option(help="May be given several times; none unless named.")] = None,
    days: Annotated[int, typer.Option(min=1, help="How long it lives.")] = 90,
    as_json: AsJson = False,
) -> int:
    """Make a key and print it alone: it is shown this once."""
    wanted = WantedKey.model_validate({
        "name": name, "scopes": names(permissions) or None, "departments": names(departments) or None,
        "roles": role or (), "days": days,
    })  # fmt: skip
    async with opened_storage() as storage:
        owner = (await storage.claims_of(user)).principal()
        made, text = await _keys(storage).make(owner, wanted)
    if as_json:
        print_json(Console(), {**_shown(made), "key": text})
    else:
        typer.echo(text)
    return OK


@key_commands.command("list")
@run_async
async def key_list(
    tenant: Annotated[str, typer.Argument(help="Default: CONCLAVE_DEFAULT_TENANT.")] = "", as_json: AsJson = False
) -> int:
    """The keys of a tenant, newest first; no secret is in it."""
    found: list[StoredKey] = []
    async with opened_storage() as storage:
        operator, cursor = await _operator(storage, tenant), None
        while True:
            page, cursor = await _keys(storage).page(operator, None, cursor, _PAGE)
            found += page
            if cursor is None:
                break
    print_rows([_shown(one) for one in found], as_json)
    return OK


@key_commands.command("revoke")
@run_async
async def key_revoke(
    key: Annotated[str, typer.Argument(metavar="KEY_ID", help="Its id, as `key list` shows it.")], tenant: Tenant = ""
) -> int:
    """Refuse a key from now on; within a minute everywhere."""
    try:
        key_id = UUID(key)
    except ValueError as wrong:
        detail = "KEY_ID is the id that `conclave key list` shows, not the key."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422) from wrong
    async with opened_storage() as storage:
        await _keys(storage).revoke(await _operator(storage, tenant), key_id)
    return OK


def _keys(storage: Storage) -> ApiKeys:
    return ApiKeys(storage.database, storage.settings.auth_key_max_days)


async def _operator(storage: Storage, tenant: str) -> Principal:
    return (await storage.operator_of(await storage.tenant_named(tenant))).principal()


def _shown(one: StoredKey) -> dict[str, object]:
    told = one.model_dump(mode="json", include=set(_SHOWN))
    return {name: sorted(told[name]) if isinstance(told[name], list) else told[name] for name in _SHOWN}
