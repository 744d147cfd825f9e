"""`conclave backup`, `restore` and `upgrade --check`: what is needed before and after something goes wrong."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress

from app.cli.output import FAILED, OK, AsJson, AsJsonResult, print_json, run_async, text
from app.errors import AppError, ErrorCode
from app.models.store import FOLDER, ModelStore
from app.operations import upgrading
from app.operations.backup import Source, files_below, take_backup
from app.operations.contents import SINGLE, Manifest, Seen, check_backup
from app.operations.programs import Programs
from app.operations.restore import check_fits, is_used, restore_embedded, restore_external
from app.settings import Settings
from app.storage.database import open_driver
from app.storage.embedded import binary, start_embedded

_SHORTEST = 12
"""Characters of a passphrase."""
WhichFile = Annotated[Path, typer.Argument(metavar="FILE")]
PassphraseFile = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="Its first line; default: CONCLAVE_BACKUP_PASSPHRASE, or asked."),
]


@run_async
async def backup(
    file: WhichFile,
    passphrase_file: PassphraseFile = None,
    unencrypted: Annotated[bool, typer.Option("--unencrypted", help="Write what everybody can read.")] = False,
    models: Annotated[bool, typer.Option("--models", help="With the files of pulled models.")] = False,
    as_json: AsJsonResult = False,
) -> int:
    """Copy the whole service into one new file, encrypted, while it runs.

    The database, originals, waiting writes, the signing secret, agents' files and kept evaluations. The file appears
    when it is whole and was read back.
    """
    settings = Settings()
    passphrase = None if unencrypted else _passphrase(settings, passphrase_file, is_new=True)
    with _superuser(settings) as url, _bar("backup") as seen, _plainly():
        source = Source(url, _programs(settings), settings.data_dir, _files(settings, models), _models(settings))
        manifest = await take_backup(source, file, passphrase, seen)
    upgrading.remember(settings.data_dir, file, manifest.made_at, manifest.revision)
    told = {**_told(manifest), "file": str(file), "bytes": file.stat().st_size, "encrypted": not unencrypted}
    if as_json:
        print_json(Console(), told)
    else:
        typer.echo(f"{file}: {told['bytes']} bytes, {told['rows']} rows of {told['tables']} tables, read back")
    return OK


@run_async
async def restore(
    file: WhichFile,
    passphrase_file: PassphraseFile = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of what is here.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for the names of the companies here.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only hold the file against its seals and hashes.")] = False,
    as_json: AsJsonResult = False,
) -> int:
    """Bring a backup back, into an empty data directory or in place of another.

    Everything is checked before anything is written, and built beside the old state, which is kept as a folder.
    """
    settings = Settings()
    passphrase = _passphrase(settings, passphrase_file, is_new=False, wanted=_is_encrypted(file))
    with _bar("checking") as seen:
        manifest = await asyncio.to_thread(check_backup, file, passphrase, seen)
    check_fits(manifest)
    kept: Path | None = None
    if not check:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        await _allow(settings, replace, yes)
        kept = await _bring_back(settings, file, passphrase, manifest)
    _print_restored(manifest, kept, settings, as_json=as_json, checked_only=check)
    return OK


@run_async
async def upgrade(
    check: Annotated[bool, typer.Option("--check", help="Wanted: `conclave db upgrade` is what upgrades.")] = False,
    as_json: AsJson = False,
) -> int:
    """Say what an upgrade of the database would do. Changes nothing.

    Exit 0: it may be done while the service runs, a backup of the last day is known and there is room. Else 1.
    """
    if not check:
        raise typer.BadParameter("say --check; `conclave db upgrade` runs the migrations")
    settings = Settings()
    with _any_role(settings) as url:
        free = shutil.disk_usage(settings.data_dir).free if settings.is_embedded else None
        found = await upgrading.look_ahead(url, settings.data_dir, free)
    problems = found.problems(datetime.now(UTC))
    if as_json:
        print_json(Console(), {**found.model_dump(mode="json"), "problems": problems, "ready": not problems})
        return FAILED if problems else OK
    out = Console()
    for one in found.steps:
        beside = "only adds" if one.only_adds else "needs the service stopped"
        out.print(text(f"{one.revision} {beside}: {one.title}"), soft_wrap=True)
    out.print(text(f"The schema is {found.revision or 'empty'}; {len(found.steps)} migrations would run."))
    for problem in problems:
        out.print(text(problem), soft_wrap=True)
    return FAILED if problems else OK


def _print_restored(
    manifest: Manifest, kept: Path | None, settings: Settings, *, as_json: bool, checked_only: bool
) -> None:
    told = {**_told(manifest), "restored": not checked_only, "kept": str(kept) if kept else None}
    if as_json:
        print_json(Console(), told)
        return
    done = "is whole" if checked_only else "is restored"
    typer.echo(f"{', '.join(manifest.companies)}: the backup of {manifest.made_at:%Y-%m-%d %H:%M} UTC {done}")
    if kept:
        typer.echo(f"What was here before lies in {kept}: remove it when all is well.")
    names = {one.name.partition("/")[0] for one in manifest.members}
    for folder, setting in (("agents", "CONCLAVE_AGENTS_DIR"), ("mcp", "CONCLAVE_MCP_SERVERS")):
        if folder in names and not checked_only:
            typer.echo(f"{setting}: its files lie in {settings.data_dir / folder}")
    for name, sha256 in () if "models" in names else manifest.models.items():
        typer.echo(f"Not in it: the model {name} ({sha256}). Bring it in with `conclave model pull {name}`.")


async def _bring_back(settings: Settings, file: Path, passphrase: str | None, manifest: Manifest) -> Path | None:
    programs, here = _programs(settings), settings.data_dir
    with _plainly():
        if settings.is_embedded:
            return await restore_embedded(file, passphrase, manifest, here, start_embedded, programs)
        urls = _external(settings), settings.database_owner_url.get_secret_value(), _app(settings)
        return await restore_external(file, passphrase, manifest, here, urls, programs)


@contextmanager
def _plainly() -> Iterator[None]:
    """Tell what the disk refuses in a sentence."""
    try:
        yield
    except OSError as error:
        detail = f"{error.filename or 'The disk'}: {error.strerror or error}. Nothing was changed."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=422) from error


def _told(manifest: Manifest) -> dict[str, Any]:
    return {
        "made_at": manifest.made_at.isoformat(), "version": manifest.version, "revision": manifest.revision,
        "companies": manifest.companies, "tables": len(manifest.counts), "rows": sum(manifest.counts.values()),
        "files": len(manifest.members) - 1, "models": manifest.models,
    }  # fmt: skip


async def _allow(settings: Settings, replace: bool, yes: bool) -> None:
    """Raise `AppError` unless nothing is here, or the operator knows what goes."""
    if not is_used(settings.data_dir):
        return
    if not replace:
        detail = f"{settings.data_dir} is not empty. Name another CONCLAVE_DATA_DIR, or say --replace."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=422)
    names = await _companies(settings) if not yes else []
    if names and typer.prompt(f"{', '.join(names)} will be replaced. Type these names again").split(", ") != names:
        raise AppError(ErrorCode.VALIDATION_FAILED, "Nothing was restored: those are other names.", status=422)


async def _companies(settings: Settings) -> list[str]:
    """Who is in the embedded database that would be replaced."""
    if not settings.is_embedded or not (settings.data_dir / "postgres").exists():
        return ["everything"]
    with _superuser(settings) as url:
        driver = await open_driver(url)
        try:
            if await driver.fetchval("select to_regclass('public.tenants')") is None:
                return []
            return [row["name"] for row in await driver.fetch("select name from tenants order by name")]
        finally:
            await driver.close()


def _files(settings: Settings, models: bool) -> list[tuple[str, Path]]:
    here = settings.data_dir
    found = [(name, here / name) for name in SINGLE if (here / name).is_file() and not (here / name).is_symlink()]
    found += [one for one in files_below(settings.spool_dir, "spool") if one[0].endswith(".sqlite")]
    found += files_below(here / "evaluations", "evaluations")
    if settings.agents_dir is not None:
        found += files_below(settings.agents_dir, "agents")
    if settings.mcp_servers is not None:
        found += [
            one for one in files_below(settings.mcp_servers.parent, "mcp")
            if one[1].parent == settings.mcp_servers.parent and one[1].name.startswith(settings.mcp_servers.stem)
        ]  # fmt: skip
    return found + (list(files_below(here / FOLDER, FOLDER)) if models else [])


def _models(settings: Settings) -> dict[str, str]:
    return {name: one.sha256 for name, one in ModelStore(settings.data_dir).pulled().items()}


def _programs(settings: Settings) -> Programs:
    return Programs(binary("pg_dump").parent if settings.is_embedded else None)


@contextmanager
def _superuser(settings: Settings) -> Iterator[str]:
    """Where the superuser reaches the database; the embedded server runs meanwhile."""
    if not settings.is_embedded:
        yield _external(settings)
        return
    if not (settings.data_dir / "postgres" / "PG_VERSION").exists():
        raise AppError(ErrorCode.NOT_FOUND, f"There is no database in {settings.data_dir}.", status=404)
    server = start_embedded(settings.data_dir)
    try:
        yield server.url("postgres")
    finally:
        server.stop()


@contextmanager
def _any_role(settings: Settings) -> Iterator[str]:
    if settings.is_embedded:
        with _superuser(settings) as url:
            yield url
    else:
        yield settings.database_owner_url.get_secret_value() or _app(settings)


def _app(settings: Settings) -> str:
    return settings.database_url.get_secret_value()


def _external(settings: Settings) -> str:
    if not (url := settings.backup_database_url.get_secret_value()):
        detail = "Set CONCLAVE_BACKUP_DATABASE_URL to the address of a superuser of this database."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
    return url


def _is_encrypted(file: Path) -> bool:
    with suppress(OSError), file.open("rb") as body:
        return b'"sha256"' not in body.read(100)
    raise AppError(ErrorCode.NOT_FOUND, f"{file} cannot be read.", status=404)


def _passphrase(settings: Settings, file: Path | None, *, is_new: bool, wanted: bool = True) -> str | None:
    if not wanted:
        return None
    try:
        told = file.read_text("utf-8").split("\n", 1)[0].rstrip("\r") if file else ""
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint="--passphrase-file") from error
    told = told or settings.backup_passphrase.get_secret_value()
    if not told and sys.stdin.isatty():
        told = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new)
    if not told or (is_new and len(told) < _SHORTEST):
        detail = f"Give a passphrase of at least {_SHORTEST} characters: --passphrase-file, CONCLAVE_BACKUP_PASSPHRASE"
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"{detail}, or --unencrypted.", status=422)
    return told


@contextmanager
def _bar(label: str) -> Iterator[Seen]:
    columns = label, BarColumn(), DownloadColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
