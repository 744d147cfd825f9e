"""`bench.rolling` over machines of this version: behind the nginx of `docker/`, machine after machine is replaced."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from app.storage import migrate
from bench.rolling import Checkout, Crowd, phases, proxied
from tests.chaos.house import House
from tests.nginx import nginx
from tests.nursery import Nursery


class Forks(Checkout):
    """Machines whose code is at hand, which makes them quick to start."""

    def __init__(self, nursery: Nursery):
        super().__init__(Path.cwd())
        self._nursery = nursery

    async def bear(self, *given: Any) -> Any:
        return await self._nursery.bear(*given)

    def run(self, environment: dict[str, str], *arguments: str) -> None:
        assert arguments == ("db", "upgrade")
        migrate.upgrade(environment["CONCLAVE_DATABASE_OWNER_URL"])


@pytest.mark.skipif(nginx() is None, reason="no nginx on this machine, and none could be fetched: make nginx")
async def test_nobody_loses_anything_while_machines_are_replaced(
    house: House, nursery: Nursery, tmp_path: Path
) -> None:
    forks, owner = Forks(nursery), {"CONCLAVE_DATABASE_OWNER_URL": house.postgres.server.owner_url}
    headers = {"Authorization": f"Bearer {house.tokens['acme/lan']}"}
    async with (
        proxied([api.port for api in house.apis], tmp_path) as address,
        httpx.AsyncClient(headers=headers, timeout=30, limits=httpx.Limits(max_connections=None)) as http,
    ):
        crowd = Crowd(http, address)
        async with crowd.asking("before"):
            await phases(crowd, [house.apis[0], house.workers[0]], forks, forks, owner, 0.3)
    assert [problem for one in crowd.phases for problem in one.problems] == []
    assert sum(len(one.seconds) for one in crowd.phases) > 2 * len(crowd.phases)
