"""A sandbox for the programs of a whole session."""

from collections.abc import AsyncIterator

import pytest

from app.tools.sandbox import Sandbox


@pytest.fixture(scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    made = Sandbox()
    yield made
    await made.aclose()
