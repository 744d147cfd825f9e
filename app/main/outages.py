"""What happens while the database is away: the spool of this process, in the data directory."""

from contextlib import AsyncExitStack

from app.api.offline import OfflineDoor
from app.bus import Bus
from app.flow.graph import DepartmentFlow
from app.flow.offline import OfflineFlow
from app.journal import Journal
from app.journal.outage import Outage
from app.settings import Settings
from app.storage.database import Database
from app.storage.spool import Spool
from app.storage.spool_file import SpoolLimits
from app.tasks.offline import OfflineRuns
from app.tasks.outage import SpooledWrites
from app.tasks.queue import JobQueue

SPOOL_FOLDER = "spool"
"""Below the data directory."""


def open_door(flow: DepartmentFlow, journal: Journal, stack: AsyncExitStack) -> OfflineDoor:
    """The door for questions that come meanwhile."""
    offline = OfflineFlow(flow)
    runs = OfflineRuns(journal, flow.ports.registry, offline.run, flow.ports.now)
    stack.push_async_callback(runs.aclose)
    return OfflineDoor(journal.outage, offline, runs)


async def open_outage(settings: Settings, database: Database, wake: Bus, stack: AsyncExitStack) -> Outage:
    """The outage's keeper; what killed processes of this data directory left is brought in before this returns."""
    limits = SpoolLimits(
        max_bytes=settings.spool_max_bytes,
        max_entries=settings.spool_max_entries,
        tenant_max_bytes=settings.spool_tenant_max_bytes,
        tenant_max_entries=settings.spool_tenant_max_entries,
    )
    outage = Outage(database, wake, Spool(settings.data_dir / SPOOL_FOLDER, limits))
    stack.push_async_callback(outage.aclose)
    await outage.start(SpooledWrites(database, JobQueue(), settings.task_lease_seconds).bring_in)
    return outage
