"""Commands of the operator: tenants and users, tokens, demo data, the database, and a check of everything."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.api.auth import Claims
from app.cli.output import FAILED, OK, UNAVAILABLE, DocumentBar, finish, opened, print_json
from app.domain.principal import GENERAL, Principal, tenant_id_of
from app.domain.zones import HOME, zone_named
from app.errors import AppError
from app.main.identity import shared_secret
from app.main.models import probe
from app.main.outages import SPOOL_FOLDER
from app.reasoning.llm.outcomes import CallOutcome
from app.settings import Settings
from app.storage import migrate, tenants
from app.storage.embedded import start_embedded
from app.storage.spool import waiting_in

tenant_commands = typer.Typer(no_args_is_help=True, help="Tenants.")
user_commands = typer.Typer(no_args_is_help=True, help="Users of a tenant and what they may read.")
db_commands = typer.Typer(no_args_is_help=True, help="The database's schema.")
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Permissions = Annotated[str, typer.Option(help="Comma separated: public,internal,private.")]


def names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated option."""
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


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


async def seed(settings: Settings, as_json: bool) -> int:
    """Bring the demo companies in and say what was done."""
    console = Console(stderr=True)
    async with opened(settings, console) as services:
        bar = DocumentBar(console, "seeding")
        try:
            report = await services.seed(bar)
        finally:
            bar.stop()
    if as_json:
        print_json(Console(), report.model_dump())
    else:
        Console().print(
            f"{report.tenants} tenants, {report.users} users, {report.documents} documents brought in, "
            f"{report.unchanged} unchanged, {report.log_lines} log lines"
        )
    return OK


@contextmanager
def _database(settings: Settings) -> Iterator[tuple[str, str]]:
    """The addresses of the app and the owner role; the embedded server runs meanwhile."""
    if not settings.is_embedded:
        yield settings.database_url.get_secret_value(), settings.database_owner_url.get_secret_value()
        return
    server = start_embedded(settings.data_dir)
    try:
        yield server.app_url, server.owner_url
    finally:
        server.stop()


@db_commands.command("upgrade")
def db_upgrade() -> None:
    """Run the migrations this version needs."""
    with _database(Settings()) as (_, owner):
        if not owner:
            raise typer.BadParameter("set CONCLAVE_DATABASE_OWNER_URL to the address of the role that owns the tables")
        migrate.upgrade(owner)
        typer.echo(asyncio.run(migrate.current(owner)))


@db_commands.command("current")
def db_current() -> None:
    """Print the schema's revision."""
    with _database(Settings()) as (app, owner):
        typer.echo(asyncio.run(migrate.current(owner or app)) or "empty")


@db_commands.command("check")
def db_check() -> None:
    """Exit 0 when the schema is this version's, else 1."""
    with _database(Settings()) as (app, owner):
        is_current = asyncio.run(migrate.is_current(owner or app))
    typer.echo("current" if is_current else "not current")
    raise typer.Exit(OK if is_current else FAILED)


async def doctor(settings: Settings, as_json: bool) -> int:
    """Print the settings, open everything and report each check. 3 when the service cannot be opened."""
    console, checks, problem = Console(), dict[str, bool](), ""
    try:
        async with opened(settings, Console(stderr=True)) as services:
            checks = dict(await services.rooms.readiness())
            checks["agents"] = bool(services.rooms.agents.names)
            asker = Principal(
                tenant_id=tenant_id_of("doctor"),
                user_id=tenant_id_of("doctor"),
                department=GENERAL,
                departments=frozenset({GENERAL}),
                scopes=frozenset(),
            )
            for model, outcome in (await probe(services.ladder, asker)).items():
                checks[f"language model {model}: {outcome}"] = outcome == CallOutcome.DONE
    except AppError as error:
        problem = f"{error.code.value}: {error.detail}"
    shown = {name: _without_password(value) for name, value in settings.model_dump(mode="json").items()}
    waiting = waiting_in(settings.data_dir / SPOOL_FOLDER)
    if as_json:
        told = {"settings": shown, "checks": checks, "spool": waiting._asdict(), "problem": problem or None}
        print_json(console, told)
    else:
        for name, value in shown.items():
            console.print(f"CONCLAVE_{name.upper()}={value}", highlight=False, markup=False)
        console.print(f"spool: {waiting.runs} tasks, {waiting.entries} entries waiting", highlight=False)
        for name, ok in checks.items():
            console.print(f"{'[green]ok[/]' if ok else '[red]failed[/]'}  {name}")
        if problem:
            console.print(f"[red]failed[/]  {problem}", highlight=False)
    if problem:
        return UNAVAILABLE
    return OK if all(checks.values()) else FAILED


def _without_password(value: object) -> object:
    return re.sub(r"(://[^:@/]*):[^@]*@", r"\1:**********@", value) if isinstance(value, str) else value
