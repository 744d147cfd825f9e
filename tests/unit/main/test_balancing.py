"""Looking at grown tenants in the background: once for a crowd of documents, and never in anybody's way."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest

from app.main.working import Balancing
from app.storage import large_tenants
from tests.factories import stable_id

ACME, GLOBEX = stable_id("acme"), stable_id("globex")


class Owner:
    """Stands in for the owner's database and notes what it was asked to look at."""

    def __init__(self) -> None:
        self.rounds: list[set[UUID]] = []
        self.failures = 0

    async def balance(self, _url: str, tenants: Sequence[UUID]) -> list[large_tenants.Change]:
        self.rounds.append(set(tenants))
        if self.failures:
            self.failures -= 1
            raise OSError("away")
        return []


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Owner:
    owner = Owner()
    monkeypatch.setattr(large_tenants, "balance", owner.balance)
    return owner


async def settle(balancing: Balancing) -> None:
    assert balancing._round is not None
    await asyncio.wait_for(balancing._round, 5)


async def test_a_crowd_of_documents_is_one_look(owner: Owner) -> None:
    balancing = Balancing("postgresql://owner", settle_seconds=0.01)
    for _ in range(50):
        balancing.nudge(ACME)
    balancing.nudge(GLOBEX)
    await settle(balancing)
    assert owner.rounds == [{ACME, GLOBEX}]


async def test_a_failure_does_not_end_it(owner: Owner) -> None:
    balancing = Balancing("postgresql://owner", settle_seconds=0)
    owner.failures = 1
    balancing.nudge(ACME)
    await settle(balancing)
    balancing.nudge(GLOBEX)
    await settle(balancing)
    assert owner.rounds == [{ACME}, {GLOBEX}]


async def test_nothing_without_the_owners_address(owner: Owner) -> None:
    balancing = Balancing("", settle_seconds=0)
    balancing.nudge(ACME)
    await balancing.aclose()
    assert owner.rounds == []


async def test_closing_stops_what_waits(owner: Owner) -> None:
    balancing = Balancing("postgresql://owner", settle_seconds=60)
    balancing.nudge(ACME)
    await balancing.aclose()
    assert owner.rounds == []
