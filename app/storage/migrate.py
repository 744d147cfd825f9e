"""Bringing a database to the schema this version needs.

Alembic takes half a second and 30 MB to load, so it is loaded only where migrations really run.
"""

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from app.storage.database import open_driver

MIGRATIONS = Path(__file__).parents[2] / "migrations"
_alembic = Lock()


def upgrade(owner_url: str, revision: str = "head") -> None:
    """Run the migrations as the owner; blocks, a second on an empty database. Safe where an event loop runs."""
    _in_own_thread("upgrade", owner_url, revision)


def downgrade(owner_url: str, revision: str) -> None:
    """Undo migrations down to `revision` (``base`` = all, with every row). Blocks."""
    _in_own_thread("downgrade", owner_url, revision)


async def current(url: str) -> str | None:
    """The revision the database is at; None for one that was never migrated. Any of the three roles may ask."""
    driver = await open_driver(url)
    try:
        if await driver.fetchval("select to_regclass('alembic_version')") is None:
            return None
        revision: str | None = await driver.fetchval("select version_num from alembic_version")
        return revision
    finally:
        await driver.close()


async def is_current(url: str) -> bool:
    """Whether the database is at this version's newest revision, or at a later one's: machines are replaced in turn."""
    return (await current(url) or "") >= max(revisions())


def revisions() -> dict[str, Path]:
    """The revisions this version knows and their files, oldest first: the names of the files begin with them."""
    return {path.name.partition("_")[0]: path for path in sorted((MIGRATIONS / "versions").glob("[0-9]*_*.py"))}


def _configuration(url: str) -> Any:
    config = import_module("alembic.config").Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = url
    return config


def _in_own_thread(command: Literal["upgrade", "downgrade"], url: str, revision: str) -> None:
    """The migrations start an event loop of their own, which cannot be done where one runs already.

    One at a time: what Alembic is working on is global to the process.
    """
    run = getattr(import_module("alembic.command"), command)
    with _alembic, ThreadPoolExecutor(1) as thread:
        thread.submit(run, _configuration(url), revision).result()


_PROVISION = """\
select format('create role %I login', name) from unnest(array[
  'conclave_owner', 'conclave_app', 'conclave_maintenance']) name
where not exists (select from pg_roles where rolname = name) \\gexec
select format('create database %I owner conclave_owner template %I', :'database', :'template')
where not exists (select from pg_database where datname = :'database') \\gexec
\\connect :"database"
create extension if not exists vector;
select coalesce(not proleakproof, true) as untrusted
from (select to_regprocedure('word_lookup.of_tenant(uuid, tsvector)') as oid) f left join pg_proc using (oid) \\gset
\\if :untrusted
{trust}
\\endif
"""
_SQL = Path(__file__).parents[2] / "migrations" / "sql"
_TRUST = ("0004_word_lookup.sql", "superuser.sql")
"""What lets row policies and word indexes work together; only a superuser can say so."""


def provisioning_script() -> str:
    """A psql script that may be run again; wants the variables ``database`` and ``template``."""
    trust = "\n".join((_SQL / name).read_text("utf-8") for name in _TRUST)
    return _PROVISION.replace("{trust}", trust)
