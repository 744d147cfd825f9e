"""What holds for a whole tenant, its time zone and how a model may answer: set by the operator, read by its people."""

import pytest

from app.sessions.session import TenantClock
from app.storage import tenants
from app.storage.database import Database
from app.text.dates import HOME
from tests.factories import principal


class TestTenantClock:
    async def test_tells_the_zone_the_operator_set(self, maintenance_url: str, database: Database) -> None:
        operator = await Database.connect(maintenance_url, pool_size=2)
        async with operator.operator_scope() as tx:
            await tenants.add_tenant(tx, "acme")
            await tenants.add_tenant(tx, "globex", language="en", time_zone="Europe/London")
            with pytest.raises(ValueError, match="no time zone"):
                await tenants.add_tenant(tx, "globex", time_zone="Mars/Olympus")
        await operator.dispose()
        clock = TenantClock(database)
        assert (await clock.own(principal(tenant="globex"))).time_zone == "Europe/London"
        assert (await clock.own(principal(tenant="acme"))).time_zone == HOME

    async def test_tells_who_wants_quotes_only(self, maintenance_url: str, database: Database) -> None:
        operator = await Database.connect(maintenance_url, pool_size=2)
        async with operator.operator_scope() as tx:
            await tenants.add_tenant(tx, "acme", answer_mode="strict")
            await tenants.add_tenant(tx, "globex")
        await operator.dispose()
        clock = TenantClock(database)
        assert (await clock.own(principal(tenant="acme"))).is_strict
        assert not (await clock.own(principal(tenant="globex"))).is_strict

    async def test_a_tenant_nobody_knows_is_at_home(self, database: Database) -> None:
        assert (await TenantClock(database).own(principal(tenant="nobody"))).time_zone == HOME
