"""How runs went, seen together: the figures their monitors left, over all of them."""

from datetime import datetime

from app.domain.answer import PerformanceMetrics
from app.domain.principal import Principal
from app.domain.record import Record
from app.storage import performance
from app.storage.database import Database


class Picture(Record):
    """The figures of the runs that ended since a time."""

    since: datetime
    runs: int
    performance_metrics: PerformanceMetrics
    """Times are means over the runs, calls are sums, qualities the most frequent ones."""


class PerformanceBook:
    """Figures over many runs."""

    def __init__(self, database: Database):
        self._database = database

    async def picture(self, principal: Principal, since: datetime) -> Picture:
        """Of the caller's own runs; of all the tenant's for an administrator."""
        async with self._database.principal_scope(principal) as tx:
            found = await performance.picture(tx, since, of_tenant=principal.is_admin)
        runs = found.pop("runs")
        return Picture(since=since, runs=runs, performance_metrics=PerformanceMetrics.model_validate(found))
