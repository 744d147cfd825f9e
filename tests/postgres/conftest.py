"""Connections of roles the service itself never uses."""

from collections.abc import AsyncIterator

import asyncpg
import pytest


@pytest.fixture(scope="module")
async def superuser(superuser_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Sees every row of the module's database."""
    connection = await asyncpg.connect(superuser_url)
    yield connection
    await connection.close()
