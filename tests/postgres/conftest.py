"""Connections of roles the service itself never uses, and a desk where documents are brought in."""

from collections.abc import AsyncIterator
from itertools import count

import asyncpg
import pytest

from app.domain.principal import Principal
from app.ingestion.parsing import Parser
from app.storage.database import Database
from tests.factories import principal
from tests.postgres.arriving import Desk
from tests.postgres.library import add_tenants, admin

_desks = count(1)


@pytest.fixture(scope="module")
async def superuser(superuser_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Sees every row of the module's database."""
    connection = await asyncpg.connect(superuser_url)
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
async def parser() -> AsyncIterator[Parser]:
    """The processes that read files."""
    opened = Parser()
    yield opened
    await opened.aclose()


@pytest.fixture
async def desk(database: Database, maintenance_url: str, parser: Parser) -> Desk:
    """With a tenant nobody used before."""
    name = f"desk-{next(_desks)}"
    await add_tenants(maintenance_url, name)
    return Desk.of(database, admin(name), parser)


@pytest.fixture
def clerk(desk: Desk) -> Principal:
    """An administrator who may read public documents only."""
    return principal(str(desk.owner.tenant_id), "clerk", "general", ("public",), ("admin",))
