"""`conclave db` and `conclave seed`: what a database needs at first, as it grows and as models change."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from app.cli.connecting import opened
from app.cli.output import FAILED, OK, AsJson, AsJsonResult, DocumentBar, print_json, run_async
from app.domain.principal import Principal
from app.settings import Settings
from app.storage import documents, migrate, tenants
from app.storage.embedded import start_embedded

if TYPE_CHECKING:
    from app.main.storage import Storage

db_commands = typer.Typer(no_args_is_help=True, help="The database's schema.")
Tenant = Annotated[str, typer.Option(help="Only this tenant; default: all of them.")]


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
        if not asyncio.run(migrate.is_current(owner)):
            migrate.upgrade(owner)
        typer.echo(asyncio.run(migrate.current(owner)))


@db_commands.command("current")
def db_current() -> None:
    """Print the schema's revision."""
    with _database(Settings()) as (app, owner):
        typer.echo(asyncio.run(migrate.current(owner or app)) or "empty")


@db_commands.command("check")
def db_check() -> None:
    """Exit 0 when the schema is this version's or a newer one's, else 1."""
    with _database(Settings()) as (app, owner):
        is_current = asyncio.run(migrate.is_current(owner or app))
    typer.echo("current" if is_current else "not current")
    raise typer.Exit(OK if is_current else FAILED)


@db_commands.command("reembed")
@run_async
async def reembed(tenant: Tenant = "", as_json: AsJson = False) -> int:
    """Make the configured model's vectors beside the old ones, then search by them; goes on where it was stopped."""
    out, code = Console(), OK
    async with opened(Settings(), Console(stderr=True)) as services:
        for name in await _names(services.storage, tenant):
            reader = await _reader_of_all(services.storage, name)
            with DocumentBar(Console(stderr=True), name) as bar:
                report = await services.reembedding.run(reader, partial(bar, total=None, title=""))
            code = code if report.is_searched else FAILED
            if as_json:
                print_json(out, {"tenant": name, **report.model_dump()})
            else:
                state = "searched by the new vectors" if report.is_searched else "still searched by the old vectors"
                out.print(f"{name}: {report.written} vectors written, {report.dropped} removed, {state}")
    return code


async def _names(storage: "Storage", tenant: str) -> list[str]:
    if tenant:
        return [tenant]
    async with (await storage.open_operator()).operator_scope() as tx:
        return [one.name for one in await tenants.tenants(tx)]


async def _reader_of_all(storage: "Storage", name: str) -> Principal:
    """Whoever sits at the machine, with every department a document of the tenant belongs to."""
    operator = (await storage.operator_of(name)).principal()
    async with storage.database.principal_scope(operator) as tx:
        every = await documents.departments(tx)
    return operator.model_copy(update={"departments": operator.departments | every})


@run_async
async def seed(as_json: AsJsonResult = False) -> int:
    """Bring the demo tenants, users, documents and logs into the database; what is there already is skipped."""
    console = Console(stderr=True)
    async with opened(Settings(), console) as services:
        with DocumentBar(console, "seeding") as bar:
            report = await services.seed(bar)
    if as_json:
        print_json(Console(), report.model_dump())
    else:
        Console().print(
            f"{report.tenants} tenants, {report.users} users, {report.documents} documents brought in, "
            + ", ".join((f"{report.unchanged} unchanged", *(f"{n} {name}" for name, n in report.further.items())))
        )
    return OK
