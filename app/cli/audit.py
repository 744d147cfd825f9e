"""`conclave audit`: check that nobody changed the audit, and take a copy of it."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from rich.console import Console

from app.cli.connecting import Tenant, opened_storage
from app.cli.output import FAILED, OK, AsJson, print_json, run_async, text
from app.domain.principal import tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.storage import audit, tenants
from app.trust.chain import Copy, export, verify

if TYPE_CHECKING:
    from app.main.storage import Storage

audit_commands = typer.Typer(no_args_is_help=True, help="The audit: check it, take a copy of it.")


@audit_commands.command("verify")
@run_async
async def audit_verify(
    tenant: Annotated[str, typer.Option(help="Only this tenant; default: all of them.")] = "",
    against: Annotated[
        Path | None, typer.Option(help="A file `audit export` wrote before: its rows must still be there.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Walk every chain, and name the first row that was changed, removed or added (exit code 1)."""
    out, code = Console(), OK
    copy = None if against is None else _read_copy(against)
    async with opened_storage() as storage:
        for name in [await storage.tenant_named(tenant)] if copy is not None or tenant else await _names(storage):
            auditor = (await storage.operator_of(name)).principal()
            if copy is not None and copy.tenant_id != auditor.tenant_id:
                raise typer.BadParameter(f"the file is of another tenant than {name}", param_hint="--against")
            found = await verify(storage.database, auditor, copy)
            code = code if found.holds else FAILED
            if as_json:
                print_json(out, {"tenant": name, **found.model_dump(exclude_unset=True), "holds": found.holds})
            else:
                good = f"{found.rows} rows hold; the last is {found.head_seq} {found.head_hash}"
                sentence = text(f"{name}: {found.problem or good}", "" if found.holds else "red")
                out.print(sentence, soft_wrap=True)
    return code


@audit_commands.command("export")
@run_async
async def audit_export(
    tenant: Tenant = "",
    to: Annotated[Path | None, typer.Option(help="A new file; default: it is printed.")] = None,
) -> int:
    """Write the audit of a tenant, one JSON object a row, and last its end; keep it on another machine."""
    async with AsyncExitStack() as stack:
        storage = await stack.enter_async_context(opened_storage())
        out = Console() if to is None else Console(file=stack.enter_context(_new_file(to)))
        auditor = (await storage.operator_of(await storage.tenant_named(tenant))).principal()
        async for row in export(storage.database, auditor):
            print_json(out, row)
    return OK


@audit_commands.command("hold")
@run_async
async def audit_hold(
    user: Annotated[str, typer.Argument(metavar="TENANT/USER")],
    undo: Annotated[bool, typer.Option("--undo", help="Lift the hold.")] = False,
) -> int:
    """Put a user under legal hold: nothing of the user is erased or removed after its time."""
    tenant, _, name = user.partition("/")
    tenant_id = tenant_id_of(tenant)
    async with opened_storage() as storage, (await storage.open_operator()).operator_scope() as tx:
        if not await audit.hold(tx, tenant_id, user_id_of(tenant_id, name), held=not undo):
            raise AppError(ErrorCode.NOT_FOUND, f"There is no user {user[:100]!r}; write tenant/user.", status=404)
    return OK


def _new_file(path: Path) -> TextIO:
    try:
        return path.open("x", encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint="--to") from error


def _read_copy(path: Path) -> Copy:
    try:
        return Copy(path.read_text("utf-8").splitlines())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint="--against") from error


async def _names(storage: "Storage") -> list[str]:
    async with (await storage.open_operator()).operator_scope() as tx:
        return [one.name for one in await tenants.tenants(tx)]
