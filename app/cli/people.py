"""`conclave tenant`, `conclave user`, `conclave token`: who there is. They open the database and nothing else."""

from typing import Annotated

import typer

from app.api.auth import Claims
from app.cli.connecting import Tenant, opened_storage
from app.cli.leaving import tenant_remove, user_disable, user_erase
from app.cli.output import OK, AsJson, names, print_rows, run_async
from app.domain.principal import GENERAL, tenant_id_of
from app.main.identity import shared_secret, sign_token
from app.settings import Settings
from app.storage import tenants
from app.text.dates import HOME, zone_named

tenant_commands = typer.Typer(no_args_is_help=True, help="Tenants.")
user_commands = typer.Typer(no_args_is_help=True, help="Users of a tenant and what they may read.")
user_commands.command("disable")(user_disable)
user_commands.command("erase")(user_erase)
tenant_commands.command("remove")(tenant_remove)
Permissions = Annotated[str, typer.Option(help="Comma separated: public,internal,private.")]


@tenant_commands.command("add")
@run_async
async def tenant_add(
    name: Annotated[str, typer.Argument(help="Short name, as in tenant/user.")],
    display_name: Annotated[str, typer.Option("--name", help="Full name.")] = "",
    language: Annotated[str, typer.Option()] = "vi",
    time_zone: Annotated[str, typer.Option(help="Where its people work: Asia/Ho_Chi_Minh, Europe/London.")] = HOME,
    answer_mode: Annotated[
        tenants.AnswerMode, typer.Option(help="strict: where a model is configured, it may only quote.")
    ] = "model",
) -> int:
    """Make a tenant, or change it."""
    try:
        zone_named(time_zone)
    except ValueError as unknown:
        raise typer.BadParameter(str(unknown), param_hint="--time-zone") from unknown
    async with opened_storage() as storage, (await storage.open_operator()).operator_scope() as tx:
        made = await tenants.add_tenant(
            tx, name, display_name=display_name, language=language, time_zone=time_zone, answer_mode=answer_mode
        )  # fmt: skip
    typer.echo(made.tenant_id)
    return OK


@tenant_commands.command("list")
@run_async
async def tenant_list(as_json: AsJson = False) -> int:
    """All tenants."""
    async with opened_storage() as storage, (await storage.open_operator()).operator_scope() as tx:
        found = await tenants.tenants(tx)
    print_rows([tenant.model_dump(mode="json") for tenant in found], as_json)
    return OK


@user_commands.command("add")
@run_async
async def user_add(
    user: Annotated[str, typer.Argument(metavar="TENANT/USER")],
    department: Annotated[str, typer.Option()] = GENERAL,
    permissions: Permissions = "public",
    departments: Annotated[str, typer.Option(help="Further departments, comma separated.")] = "",
    role: Annotated[list[str] | None, typer.Option(help="May be given several times, for example admin.")] = None,
    display_name: Annotated[str, typer.Option("--name", help="Full name.")] = "",
) -> int:
    """Make a user, or replace the rights of one."""
    tenant, _, name = user.partition("/")
    claims = Claims(
        sub=name, tenant_id=tenant, name=display_name, department=department, departments=names(departments),
        permissions=names(permissions), roles=tuple(role or ()),
    )  # fmt: skip
    principal = claims.principal()
    rights = {right: getattr(principal, right) for right in ("department", "departments", "scopes", "roles")}
    async with opened_storage() as storage, (await storage.open_operator()).operator_scope() as tx:
        made = await tenants.add_user(tx, principal.tenant_id, claims.sub, **rights, display_name=claims.name)
    typer.echo(made.user_id)
    return OK


@user_commands.command("list")
@run_async
async def user_list(
    tenant: Annotated[str, typer.Argument(help="Default: CONCLAVE_DEFAULT_TENANT.")] = "", as_json: AsJson = False
) -> int:
    """The users of a tenant."""
    async with opened_storage() as storage, (await storage.open_operator()).operator_scope() as tx:
        found = await tenants.users(tx, tenant_id_of(await storage.tenant_named(tenant)))
    print_rows([{**user.model_dump(mode="json"), "scopes": sorted(user.scopes)} for user in found], as_json)
    return OK


@run_async
async def token(
    tenant: Tenant = "",
    user: Annotated[str, typer.Option(help="Default: CONCLAVE_DEFAULT_USER.")] = "",
    department: Annotated[str, typer.Option(help="Default: the stored user's.")] = "",
    permissions: Annotated[str, typer.Option(help="Comma separated; default: the stored user's.")] = "",
    role: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds.")] = 3600,
) -> int:
    """Print a bearer token, and nothing else."""
    changes: dict[str, object] = {"roles": tuple(role)} if role else {}
    if department:
        changes |= {"department": department, "departments": (department,)}
    if permissions:
        changes |= {"permissions": names(permissions)}
    if tenant and user and department and permissions:
        claims = Claims.model_validate({"sub": user, "tenant_id": tenant, "name": user, **changes})
        typer.echo(sign_token(Settings(), claims, ttl))
        return OK
    shared_secret(Settings())  # what cannot be signed is said before a database is opened
    async with opened_storage() as storage:
        if user:
            named = f"{await storage.tenant_named(tenant)}/{user}"
        else:
            named = await storage.user_named("")
        stored = await storage.claims_of(named)
    claims = Claims.model_validate({**stored.model_dump(), **changes})
    typer.echo(sign_token(Settings(), claims, ttl))
    return OK
