"""Taking a backup: one file with the database and what belongs to it in the data directory.

Everything is copied as one moment of the database saw it: rows are counted and dumped in the same snapshot. Waiting
writes of the spool are copied before it, so what leaves the spool meanwhile is in the database.
"""

import asyncio
import os
import sqlite3
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from app import __version__
from app.domain.record import Moment, Record
from app.errors import AppError, ErrorCode
from app.operations.contents import DUMP, Manifest, Seen, member_of, write_backup
from app.operations.programs import Programs
from app.operations.sealed import CHUNK, refused
from app.storage.database import open_driver

LAST = "last-backup.json"
"""In the data directory: what is known about the newest backup."""
_TABLES = """
select n.nspname || '.' || c.relname as name, format('%I.%I', n.nspname, c.relname) as quoted
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_temp' order by 1
"""


class LastBackup(Record):
    """What is kept about the newest backup, in the data directory."""

    file: str
    made_at: Moment
    revision: str


@dataclass(frozen=True)
class Source:
    """What a backup is taken of."""

    url: str
    """Of a role that reads the rows of all companies: a superuser, or one with BYPASSRLS."""
    programs: Programs
    data_dir: Path
    files: Sequence[tuple[str, Path]]
    """By their names in the backup."""
    models: dict[str, str]


def files_below(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    """The regular files in a folder and below, by name; links and everything else are left out. Does I/O."""
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            one = Path(path, name)
            if stat.S_ISREG(one.lstat().st_mode):
                yield f"{prefix}/{one.relative_to(folder).as_posix()}", one


async def take_backup(source: Source, target: Path, passphrase: str | None, on_progress: Seen) -> Manifest:
    """Write a backup to a new file (0600) that appears when it is whole.

    `passphrase`: None = not encrypted. Raises `AppError` where the role may not read everything, a program is missing
    or the file is there already.
    """
    if await asyncio.to_thread(os.path.lexists, target):
        raise refused(f"{target} is there already: name a new file.")
    held: list[tuple[str, IO[bytes]]] = []
    try:
        held += await asyncio.to_thread(lambda: [(name, _opened(path)) for name, path in source.files])
        with tempfile.TemporaryFile(dir=source.data_dir) as dump:  # it has no name, so nothing of it can stay
            async with _snapshot(source.url) as (driver, snapshot):
                if await driver.fetchval("select to_regclass('public.alembic_version')") is None:
                    raise refused("The database was never migrated: there is nothing to back up.")
                server = driver.get_server_version().major
                revision = await driver.fetchval("select version_num from alembic_version")
                companies = [row["name"] for row in await driver.fetch("select name from tenants order by name")]
                rows = await counts(driver)
                await asyncio.to_thread(source.programs.dump, source.url, snapshot, server, dump)
            bodies = [(DUMP, dump), *held]
            manifest = Manifest(
                version=__version__, revision=revision, server=server, made_at=datetime.now(UTC), counts=rows,
                companies=tuple(companies), models=source.models,
                members=tuple(await asyncio.to_thread(lambda: [member_of(*one) for one in bodies])),
            )  # fmt: skip
            await asyncio.to_thread(
                write_backup, manifest, [body for _, body in bodies], target, passphrase, on_progress
            )
    finally:
        for _, file in held:
            file.close()
    return manifest


async def counts(driver: Any) -> dict[str, int]:
    """Rows of every table, by schema and name."""
    tables = await driver.fetch(_TABLES)
    return {one["name"]: await driver.fetchval(f"select count(*) from {one['quoted']}") for one in tables}


@asynccontextmanager
async def _snapshot(url: str) -> AsyncIterator[tuple[Any, str]]:
    """A connection that reads one moment of all companies, and the name by which others may read the same one."""
    driver = await open_driver(url)
    try:
        is_free = "select rolsuper or rolbypassrls from pg_roles where rolname = current_user"
        if not await driver.fetchval(is_free):
            detail = (
                "This database role sees the rows of no company. Set CONCLAVE_BACKUP_DATABASE_URL to a superuser's."
            )
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        await driver.execute("set idle_in_transaction_session_timeout = 0; set row_security = off")
        await driver.execute("begin isolation level repeatable read read only")
        yield driver, await driver.fetchval("select pg_export_snapshot()")
    finally:
        await driver.close()


def _opened(path: Path) -> IO[bytes]:
    """A file as it is now; no link is followed. Small ones and databases are read at once."""
    if path.suffix == ".sqlite":
        with (
            closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as rows,
            closing(sqlite3.connect(":memory:")) as to,
        ):
            rows.backup(to)
            return BytesIO(to.serialize())
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")
    if os.fstat(file.fileno()).st_size > CHUNK:
        return file
    with file:
        return BytesIO(file.read())
