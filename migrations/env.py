"""Alembic's entry: runs the migrations over asyncpg as the owner of the tables.

The address comes from the caller (`app.storage.migrate`), else from the service's settings:
``CONCLAVE_DATABASE_OWNER_URL``, ``CONCLAVE_DATABASE_URL``, or the embedded server of ``CONCLAVE_DATA_DIR``.
"""

import asyncio

from alembic import context
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from app.settings import Settings
from app.storage.database import open_driver
from app.storage.embedded import start_embedded

_ADVISORY_KEY = 7_202_611_21
"""Two migrations of one database never run at the same time."""
_LOCK_MS, _TURNS = 800, 60
"""A migration that cannot have a table for so long steps back, and tries again so often: whoever asks questions
meanwhile waits no longer than that, and PostgreSQL, which looks for deadlocks after a second, finds none."""
_BUSY = {"55P03", "40P01"}
"""What PostgreSQL says of a lock that could not be had, and of a deadlock."""


def _migrate(connection: Connection) -> None:
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


async def _migrated(connection: AsyncConnection, *, is_last: bool) -> bool:
    """Run what is missing, each migration in a transaction of its own; False where a table was in use, unless
    `is_last`: then that is raised."""
    try:
        await connection.run_sync(_migrate)
        await connection.commit()
    except Exception as error:
        await connection.rollback()
        if is_last or getattr(getattr(error, "orig", error), "sqlstate", None) not in _BUSY:
            raise
        return False
    return True


async def _run(url: str) -> None:
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: open_driver(url), poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            await connection.exec_driver_sql(f"select pg_advisory_lock({_ADVISORY_KEY})")
            await connection.exec_driver_sql(f"set lock_timeout = {_LOCK_MS}")
            await connection.commit()
            for turn in range(_TURNS):
                if await _migrated(connection, is_last=turn == _TURNS - 1):
                    break
                await asyncio.sleep(_LOCK_MS / 1000)
    finally:
        await engine.dispose()


def _main() -> None:
    given = context.config.attributes.get("url")
    if given is not None:
        asyncio.run(_run(str(given)))
        return
    settings = Settings()
    configured = settings.database_owner_url.get_secret_value() or settings.database_url.get_secret_value()
    if configured:
        asyncio.run(_run(configured))
        return
    server = start_embedded(settings.data_dir)
    try:
        asyncio.run(_run(server.owner_url))
    finally:
        server.stop()


_main()
