"""Commands of the operator: tenants and their users."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.api.auth import Claims
from app.cli.output import OK, AsJson, finish, names, opened, print_json
from app.domain.principal import GENERAL, tenant_id_of
from app.domain.zones import HOME, zone_named
from app.settings import Settings
from app.storage import tenants

tenant_commands = typer.Typer(no_args_is_help=True, help="Tenants.")
user_commands = typer.Typer(no_args_is_help=True, help="Users of a tenant and what they may read.")
Permissions = Annotated[str, typer.Option(help="Comma separated: public,internal,private.")]


@tenant_commands.command("add")
def tenant_add(
    name: Annotated[str, typer.Argument(help="Short name, as in tenant/user.")],
    display_name: Annotated[str, typer.Option("--name", help="Full name.")] = "",
    language: Annotated[str, typer.Option()] = "vi",
    time_zone: Annotated[str, typer.Option(help="Where its people work: Asia/Ho_Chi_Minh, Europe/London.")] = HOME,
) -> None:
    """Make a tenant, or change it."""
    try:
        zone_named(time_zone)
    except ValueError as unknown:
        raise typer.BadParameter(str(unknown), param_hint="--time-zone") from unknown
    finish(_tenant_add(name, display_name, language, time_zone))


async def _tenant_add(name: str, display_name: str, language: str, time_zone: str) -> int:
    async with opened(Settings(), Console(stderr=True)) as services:
        operator = await services.open_operator()
        async with operator.operator_scope() as tx:
            made = await tenants.add_tenant(tx, name, display_name=display_name, language=language, time_zone=time_zone)
    typer.echo(made.tenant_id)
    return OK


@tenant_commands.command("list")
def tenant_list(as_json: AsJson = False) -> None:
    """All tenants."""
    finish(_tenant_list(as_json))


async def _tenant_list(as_json: bool) -> int:
    async with opened(Settings(), Console(stderr=True)) as services:
        operator = await services.open_operator()
        async with operator.operator_scope() as tx:
            found = await tenants.tenants(tx)
    _show([tenant.model_dump(mode="json") for tenant in found], as_json)
    return OK


@user_commands.command("add")
def user_add(
    user: Annotated[str, typer.Argument(metavar="TENANT/USER")],
    department: Annotated[str, typer.Option()] = GENERAL,
    permissions: Permissions = "public",
    departments: Annotated[str, typer.Option(help="Further departments, comma separated.")] = "",
    role: Annotated[list[str] | None, typer.Option(help="May be given several times, for example admin.")] = None,
    display_name: Annotated[str, typer.Option("--name", help="Full name.")] = "",
) -> None:
    """Make a user, or replace the rights of one."""
    tenant, _, name = user.partition("/")
    claims = Claims(
        sub=name,
        tenant_id=tenant,
        name=display_name,
        department=department,
        departments=names(departments),
        permissions=names(permissions),
        roles=tuple(role or ()),
    )
    finish(_user_add(claims))


async def _user_add(claims: Claims) -> int:
    principal = claims.principal()
    async with opened(Settings(), Console(stderr=True)) as services:
        operator = await services.open_operator()
        async with operator.operator_scope() as tx:
            made = await tenants.add_user(
                tx,
                principal.tenant_id,
                claims.sub,
                department=principal.department,
                departments=principal.departments,
                scopes=principal.scopes,
                roles=principal.roles,
                display_name=claims.name,
            )
    typer.echo(made.user_id)
    return OK


@user_commands.command("list")
def user_list(tenant: Annotated[str, typer.Argument()], as_json: AsJson = False) -> None:
    """The users of a tenant."""
    finish(_user_list(tenant, as_json))


async def _user_list(tenant: str, as_json: bool) -> int:
    async with opened(Settings(), Console(stderr=True)) as services:
        operator = await services.open_operator()
        async with operator.operator_scope() as tx:
            found = await tenants.users(tx, tenant_id_of(tenant))
    _show([{**user.model_dump(mode="json"), "scopes": sorted(user.scopes)} for user in found], as_json)
    return OK


def _show(rows: list[dict[str, object]], as_json: bool) -> None:
    console = Console()
    if as_json:
        for row in rows:
            print_json(console, row)
        return
    table = Table(*(rows[0] if rows else ()), box=None, header_style="dim")
    for row in rows:
        cells = (", ".join(map(str, item)) if isinstance(item, list) else str(item) for item in row.values())
        table.add_row(*cells)
    console.print(table)
