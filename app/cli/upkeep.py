"""`conclave db balance` and `conclave db reembed`: what a database needs as it grows and as models change."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.cli.admin import AsJson, db_commands
from app.cli.documents.operator import operator_in
from app.cli.output import FAILED, OK, finish, opened, print_json
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.ingestion.reembed import ReembedReport
from app.main import Services
from app.settings import Settings
from app.storage import documents, large_tenants, tenants

__all__ = ["db_commands"]
Tenant = Annotated[str, typer.Option(help="Only this tenant; default: all of them.")]


@db_commands.command("balance")
def balance(tenant: Tenant = "", as_json: AsJson = False) -> None:
    """Give large tenants vector and word indexes of their own, and take them from those that shrank."""
    finish(_balance(tenant, as_json))


async def _balance(tenant: str, as_json: bool) -> int:
    out = Console()
    async with opened(Settings(), Console(stderr=True)) as services:
        if not services.addresses.owner:
            detail = "Set CONCLAVE_DATABASE_OWNER_URL: only the role that owns the tables makes indexes."
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        people = [await operator_in(services, name) for name in await _names(services, tenant)]
        changes = await large_tenants.balance(services.addresses.owner, [one.tenant_id for one in people])
    for change in changes:
        if as_json:
            print_json(out, change._asdict())
        else:
            out.print(f"{change.tenant_id} {change.action}: {change.chunks} chunks in {change.space}", highlight=False)
    if not changes and not as_json:
        out.print("nothing to do")
    return OK


@db_commands.command("reembed")
def reembed(tenant: Tenant = "", as_json: AsJson = False) -> None:
    """Make the configured model's vectors beside the old ones, then search by them; goes on where it was stopped."""
    finish(_reembed(tenant, as_json))


async def _reembed(tenant: str, as_json: bool) -> int:
    out, code = Console(), OK
    async with opened(Settings(), Console(stderr=True)) as services:
        for name in await _names(services, tenant):
            report = await _reembed_one(services, name, await _reader_of_all(services, name))
            code = code if report.is_searched else FAILED
            if as_json:
                print_json(out, {"tenant": name, **report.model_dump()})
            else:
                state = "searched by the new vectors" if report.is_searched else "still searched by the old vectors"
                out.print(f"{name}: {report.written} vectors written, {report.dropped} removed, {state}")
    return code


async def _reembed_one(services: Services, name: str, reader: Principal) -> ReembedReport:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(name, total=None)
        return await services.reembedding.run(reader, lambda done: progress.update(bar, completed=done))


async def _names(services: Services, tenant: str) -> list[str]:
    if tenant:
        return [tenant]
    operator = await services.open_operator()
    async with operator.operator_scope() as tx:
        return [one.name for one in await tenants.tenants(tx)]


async def _reader_of_all(services: Services, name: str) -> Principal:
    """Whoever sits at the machine, with every department a document of the tenant belongs to."""
    operator = await operator_in(services, name)
    async with services.database.principal_scope(operator) as tx:
        every = await documents.departments(tx)
    return operator.model_copy(update={"departments": operator.departments | every})
