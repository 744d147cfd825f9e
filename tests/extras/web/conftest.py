from collections.abc import AsyncIterator

import pytest

from tests.extras.web.web_tools import end_lasting


@pytest.fixture(scope="session", autouse=True)
async def lasting_processes() -> AsyncIterator[None]:
    """Ends the processes in which pages and captions are read when the last test of the folder is over."""
    yield
    await end_lasting()
