"""One house with many machines for all tests of this folder; a test that ends a machine starts it again."""

from collections.abc import AsyncIterator

import pytest

from tests.chaos.house import STORMY, House, Shape, open_house
from tests.nursery import Nursery


@pytest.fixture(scope="package")
async def house(nursery: Nursery) -> AsyncIterator[House]:
    """Two API processes without workers, three workers, one Redis server, one PostgreSQL."""
    async with open_house(nursery, Shape(environment=STORMY)) as opened:
        yield opened
