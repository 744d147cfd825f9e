"""Picks what carries messages between processes (the database itself, or Redis where one is configured) and what keeps
writes while the database is away."""

import asyncio
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from app.agents.monitor import Monitor
from app.bus import Bus
from app.bus.redis import RedisChannel
from app.bus.relay import RelayingBus
from app.errors import AppError, ErrorCode
from app.journal.outage import Outage
from app.settings import Settings
from app.storage.database import Database
from app.storage.notifications import NotificationChannel, identity_of
from app.storage.spool import Spool
from app.storage.spool_file import SpoolLimits
from app.tasks.outage import SpooledWrites

_SCHEMES = ("redis", "rediss", "unix")


async def open_bus(bus_url: str, database_url: str) -> RelayingBus:
    """A bus that already listens; with a Redis the database is not asked to notify.

    An embedded database has several processes too (the service, the command line), so there is no bus of one process
    here. Services of different databases hear nothing of one another on a shared Redis.

    Raises `AppError` for an address that is none of ``redis://``, ``rediss://``, ``unix://``. A Redis that does not
    answer is no error: it is waited for.
    """
    if not bus_url:
        return await RelayingBus.open(NotificationChannel(database_url))
    check_bus_url(bus_url)
    return await RelayingBus.open(RedisChannel(bus_url, await identity_of(database_url)))


async def open_messages(settings: Settings, database_url: str, stack: AsyncExitStack) -> tuple[Bus, Monitor]:
    """The bus, and the process's monitor on it; both end with `stack`."""
    bus, monitor = await open_bus(settings.bus_url.get_secret_value(), database_url), Monitor()
    stack.push_async_callback(bus.aclose)
    hearing = asyncio.create_task(monitor.listen(bus))

    async def stop() -> None:
        hearing.cancel()
        await asyncio.wait([hearing])

    stack.push_async_callback(stop)
    return bus, monitor


def check_bus_url(bus_url: str) -> None:
    """Refuse what no Redis client can use; the address is not repeated, it may hold a password. Empty is fine."""
    if not bus_url:
        return
    try:
        address = urlsplit(bus_url)
        usable = address.scheme in _SCHEMES and bool(address.path if address.scheme == "unix" else address.hostname)
        if usable:
            RedisChannel(bus_url, "")
    except (ValueError, TypeError):
        usable = False
    if not usable:
        detail = (
            "CONCLAVE_BUS_URL cannot be used: write redis://host:6379/0, rediss://host:6379/0 or unix:///path/to/socket,"
            " or leave it empty to use PostgreSQL."
        )
        raise AppError(ErrorCode.VALIDATION_FAILED, detail)


async def open_outage(settings: Settings, database: Database, wake: Bus, stack: AsyncExitStack) -> Outage:
    """What keeps the writes of running tasks while the database is away; what killed processes of this data directory
    left is brought in before this returns."""
    limits = SpoolLimits(
        max_bytes=settings.spool_max_bytes,
        max_entries=settings.spool_max_entries,
        tenant_max_bytes=settings.spool_tenant_max_bytes,
        tenant_max_entries=settings.spool_tenant_max_entries,
    )
    outage = Outage(database, wake, Spool(settings.spool_dir, limits))
    stack.push_async_callback(outage.aclose)
    await outage.start(SpooledWrites(database, settings.task_lease_seconds).bring_in)
    return outage
