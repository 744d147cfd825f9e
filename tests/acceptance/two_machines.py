"""A company whose agents are elsewhere: one process leads its runs, another does the steps, over one database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
from pydantic import SecretStr

from app.main import Services
from app.settings import Settings
from app.storage.embedded import EmbeddedServer
from app.tasks.worker import Worker
from tests.warm import warm

AGENTS = ("hr", "general", "it", "math")
LEASE_SECONDS = 2


async def settings_of(server: EmbeddedServer, name: str, folder: Path, seed: Path, **changes: Any) -> Settings:
    """An installation over a new database of that name."""
    superuser = await asyncpg.connect(server.url("postgres", "postgres"))
    await superuser.execute(f"create database {name} template conclave_template owner conclave_owner")
    await superuser.close()
    values: dict[str, Any] = {
        "data_dir": warm(folder), "seed_dir": seed, "enable_caching": False, "task_lease_seconds": LEASE_SECONDS,
        "database_url": SecretStr(server.url("conclave_app", name)),
        "database_owner_url": SecretStr(server.url("conclave_owner", name)),
        "database_operator_url": SecretStr(server.url("conclave_maintenance", name)),
        "auth_jwt_secret": SecretStr("a-secret-of-these-tests-that-is-longer-than-64-bytes-and-of-no-use-elsewhere"),
    }  # fmt: skip
    return Settings(_env_file=None, **(values | changes))


@asynccontextmanager
async def leading(services: Services) -> AsyncIterator[Worker]:
    """A worker for whole runs in this process."""
    worker = Worker(
        services.database, services.rooms.registry, services.rooms.journal, {"chat": services.rooms.flow.run}
    )
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop(2)
