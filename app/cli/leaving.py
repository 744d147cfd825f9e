"""`conclave user disable`, `user erase` and `tenant remove`: who leaves, and what stays of them."""

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.console import Console

from app.cli.connecting import opened_storage
from app.cli.output import FAILED, OK, AsJsonResult, print_json, run_async
from app.client.local import local_server
from app.domain.principal import tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.evaluation.report_store import REPORTS_FOLDER, ReportStore
from app.main.storage import operator_claims
from app.sessions.session import SessionStore
from app.storage import people, tenants
from app.storage.large_tenants import balance
from app.storage.leaving import forget_spooled

if TYPE_CHECKING:
    from app.main.storage import Storage

WhichUser = Annotated[str, typer.Argument(metavar="TENANT/USER")]


@run_async
async def user_disable(
    user: WhichUser, undo: Annotated[bool, typer.Option("--undo", help="Let the user in again.")] = False
) -> int:
    """Shut a user out, whatever token is brought; within a minute everywhere."""
    tenant_id, user_id = _ids_of(user)
    async with opened_storage() as storage, (await storage.open_operator()).operator_scope() as tx:
        if not await people.shut_out(tx, tenant_id, user_id, out=not undo):
            raise _unknown(user)
    return OK


@run_async
async def user_erase(user: WhichUser, as_json: AsJsonResult = False) -> int:
    """Erase all that a user asked, was told and attached; the user stays. Written to the audit."""
    tenant_id, user_id = _ids_of(user)
    async with opened_storage() as storage:
        operator = (await storage.operator_of(user.partition("/")[0])).principal()
        erased = await SessionStore(storage.database).erase(operator, user_id)
        async with storage.database.principal_scope(operator) as tx:
            is_known = await tenants.user(tx, tenant_id, user_id) is not None
    if not is_known and not erased.conversations + erased.files:
        raise _unknown(user)
    if as_json:
        print_json(Console(), {"user": user, **erased._asdict()})
    else:
        typer.echo(f"{user}: {erased.conversations} conversations and {erased.files} files erased")
    return OK if erased.remaining == 0 else FAILED


@run_async
async def tenant_remove(
    name: Annotated[str, typer.Argument(help="Short name, as in tenant/user.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for the name again.")] = False,
    as_json: AsJsonResult = False,
) -> int:
    """Remove a tenant with its people, documents, conversations, audit and everything else there is of it, for good."""
    if not yes and typer.prompt(f"Everything of {name} goes, for good. Type its name again") != name:
        Console(stderr=True).print("Nothing was removed: that is another name.")
        return FAILED
    tenant_id = tenant_id_of(name)
    async with opened_storage() as storage:
        async with (await storage.open_operator()).operator_scope() as tx:
            rows = await tenants.remove_tenant(tx, tenant_id)
        files = await _forget_files(storage, name, tenant_id)
        if storage.addresses.owner:
            await balance(storage.addresses.owner, [tenant_id])  # indexes of its own
        is_served = local_server(storage.settings.data_dir) is not None
    if not rows and not files:
        raise AppError(
            ErrorCode.NOT_FOUND, f"There is no tenant {name[:100]!r}, and nothing is left of one.", status=404
        )
    if as_json:
        print_json(Console(), {"tenant": name, "rows": rows, "files": files, "is_served": is_served})
        return OK
    typer.echo(f"{name} is removed: {sum(rows.values())} rows of {len(rows)} tables, {files} entries of files")
    if is_served:
        typer.echo("A server runs here, which may believe its people for a minute: run this again after that.")
    return OK


async def _forget_files(storage: "Storage", name: str, tenant_id: UUID) -> int:
    """Remove what lies of a tenant in the data directory: waiting writes, and evaluations that asked about it."""
    folder = storage.settings.data_dir / REPORTS_FOLDER
    kept = await ReportStore(folder).runs(operator_claims(name).principal())
    about = [folder / run.run_id for run in kept if tenant_id in map(tenant_id_of, run.tenants)]
    return await asyncio.to_thread(_removed, about) + await asyncio.to_thread(
        forget_spooled, storage.settings.spool_dir, tenant_id
    )


def _removed(folders: list[Path]) -> int:
    for one in folders:
        shutil.rmtree(one)
    return len(folders)


def _ids_of(user: str) -> tuple[UUID, UUID]:
    tenant, _, name = user.partition("/")
    tenant_id = tenant_id_of(tenant)
    return tenant_id, user_id_of(tenant_id, name)


def _unknown(user: str) -> AppError:
    return AppError(ErrorCode.NOT_FOUND, f"There is no user {user[:100]!r}; write tenant/user.", status=404)
