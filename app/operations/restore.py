"""Bringing a backup back: all is built beside the old state, and takes its place when it is whole and checked."""

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from app.operations.backup import counts
from app.operations.contents import DUMP, FOLDERS, Manifest, extract
from app.operations.programs import Programs
from app.operations.sealed import refused
from app.operations.upgrading import newer
from app.storage import migrate
from app.storage.database import Database, open_driver

STAGE = "restoring"
"""Below the data directory: where the new state is built. What a killed restore left there is thrown away."""
_ROLES = ("conclave_app", "conclave_maintenance", "conclave_owner")
_ALONE = ("postgres", "jwt-secret")
_PREPARE = "drop schema if exists word_lookup cascade; drop extension if exists vector"
"""What every database of the service is born with; the dump brings its own."""


class Server(Protocol):
    """A PostgreSQL of the service's own."""

    def url(self, role: str, database: str = ...) -> str:
        """Where a role reaches it."""

    def stop(self) -> None:
        """Let go of it; the last to do so stops it."""


def is_used(data_dir: Path) -> bool:
    """Whether anything that a restore would replace is there."""
    held = (data_dir / one for one in FOLDERS if one != "models/pulled")
    return any((data_dir / one).exists() for one in _ALONE) or any(one.is_dir() and any(one.iterdir()) for one in held)


def check_fits(manifest: Manifest) -> None:
    """Raise `AppError` where the backup is of a newer version than this one."""
    if manifest.revision not in migrate.revisions():
        detail = (
            f"The backup is of version {manifest.version} (schema {manifest.revision}), which this one does not know."
        )
        raise refused(f"{detail} Install that version or a newer one first.")


async def restore_embedded(
    path: Path, passphrase: str | None, manifest: Manifest, data_dir: Path, start: Callable[[Path], Server],
    programs: Programs,
) -> Path | None:  # fmt: skip
    """Build a data directory out of a checked backup and put it in the place of what is there; where that went.

    Raises `AppError`; then everything is as it was. Nobody else may use the data directory meanwhile.
    """
    stage = data_dir / STAGE
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, stage, ignore_errors=True)
        _hold(data_dir, stack)
        await asyncio.to_thread(_unpack, path, passphrase, stage)
        marks = stage / "marks"
        (stage / "postgres").rename(marks) if (stage / "postgres").exists() else marks.mkdir()
        server = await asyncio.to_thread(start, stage)
        try:
            urls = [server.url(role) for role in ("postgres", "conclave_owner", "conclave_app")]
            await _fill(manifest, stage / DUMP, urls[0], urls[1], urls[2], programs)
        finally:
            await asyncio.to_thread(server.stop)
        for mark in marks.iterdir():
            mark.rename(stage / "postgres" / mark.name)
        return _swap(stage, data_dir)


async def restore_external(
    path: Path, passphrase: str | None, manifest: Manifest, data_dir: Path, urls: tuple[str, str, str],
    programs: Programs,
) -> Path | None:  # fmt: skip
    """The same into an empty database elsewhere; `urls` of a superuser, the owner and the app role."""
    driver = await open_driver(urls[0])
    try:
        filled = await driver.fetchval("select to_regclass('public.alembic_version') is not null")
        known = await driver.fetchval("select array_agg(rolname::text) from pg_roles where rolname = any ($1)", _ROLES)
    finally:
        await driver.close()
    if filled:
        raise refused("The database is not empty: make a new one, restore into that, and point the service to it.")
    if missing := sorted({*_ROLES} - {*(known or ())}):
        raise refused(f"The database has no role {', '.join(missing)}: make them first, as docker/roles.sh does.")
    stage = data_dir / STAGE
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, stage, ignore_errors=True)
        await asyncio.to_thread(_unpack, path, passphrase, stage)
        await _fill(manifest, stage / DUMP, *urls, programs)
        shutil.rmtree(stage / "postgres", ignore_errors=True)
        return _swap(stage, data_dir)


def _hold(data_dir: Path, stack: ExitStack) -> None:
    """Keep every other process from starting the database here. Raises `AppError` where one uses it."""
    for name in (".postgres.lock", ".postgres.users"):
        file = stack.enter_context((data_dir / name).open("wb"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise refused("The service runs on this data directory: stop it first.") from None


def _unpack(path: Path, passphrase: str | None, stage: Path) -> None:
    if stage.exists():
        shutil.rmtree(stage)
    extract(path, passphrase, stage)


async def _fill(manifest: Manifest, dump: Path, superuser: str, owner: str, app: str, programs: Programs) -> None:
    """Load the dump, count every row again, bring the schema forward and ask the checks of the service's start."""
    driver = await open_driver(superuser)
    try:
        await driver.execute(_PREPARE)
        await asyncio.to_thread(programs.load, superuser, dump, manifest.server)
        if (found := await counts(driver)) != manifest.counts:
            wrong = sorted(name for name, _ in {*found.items()} ^ {*manifest.counts.items()})
            raise refused(f"After the restore {wrong[0]} has another number of rows than the backup says.")
        await driver.execute("analyze")
    finally:
        await driver.close()
    if newer(manifest.revision):
        await asyncio.to_thread(migrate.upgrade, owner)
    database = await Database.connect(app, pool_size=2)
    try:
        await database.check_row_security()
    finally:
        await database.dispose()
    await asyncio.to_thread(dump.unlink)


def _swap(stage: Path, data_dir: Path) -> Path | None:
    """Move what is replaced out and what was built in; all of it, or nothing."""
    old = data_dir / f"replaced-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    done: list[tuple[Path, Path]] = []
    try:
        for name in _names(stage, data_dir):
            for place, goal in ((data_dir / name, old / name), (stage / name, data_dir / name)):
                if os.path.lexists(place):
                    goal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    shutil.move(place, goal)  # on volumes of their own they are copied
                    done.append((place, goal))
    except BaseException:
        for place, goal in reversed(done):
            shutil.move(goal, place)
        shutil.rmtree(old, ignore_errors=True)  # by now empty folders
        raise
    return old if old.exists() else None


def _names(stage: Path, data_dir: Path) -> list[str]:
    """What is moved: single things, and in folders what lies in them, as a folder may be a volume of its own. Waiting
    writes of the old database never stay: they would be brought into the new one."""
    names = [one for one in _ALONE if (stage / one).exists()]
    for folder in FOLDERS:
        if (stage / folder).is_dir() or folder == "spool":
            inside = {
                one.name for side in (stage, data_dir) if (side / folder).is_dir() for one in (side / folder).iterdir()
            }
            names += [f"{folder}/{one}" for one in sorted(inside)]
    return names
