"""LISTEN and NOTIFY on one channel, over a connection of its own that is replaced when it breaks.

Every role of the database can listen: send ids only.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

import asyncpg

from app.storage.database import open_driver

_CHANNEL = "conclave"
_RETRY_SECONDS = 1.0
_NOTIFY_SECONDS = 0.5
"""A database that takes longer is taken for away: nobody waits for a wake-up."""
_log = logging.getLogger(__name__)


class NotificationChannel:
    """The database's notification channel of this service."""

    def __init__(self, url: str):
        self._url = url
        self._driver: asyncpg.Connection[asyncpg.Record] | None = None
        self._callback: Callable[[str], None] | None = None
        self._lock = asyncio.Lock()
        self._lost = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._is_away = False

    async def listen(self, callback: Callable[[str], None]) -> None:
        """Call back with every text notified from now on; texts sent while the connection is down are lost."""
        self._callback = callback
        await self._connected()
        self._keeper = asyncio.create_task(self._keep_connected())

    async def notify(self, texts: Sequence[str]) -> None:
        """Send texts (under 8,000 bytes each), in order, in one statement, within half a second. Raises what asyncpg
        raises, or `TimeoutError`, when the database is away."""
        try:
            async with asyncio.timeout(_NOTIFY_SECONDS):
                driver = await self._connected()
                async with self._lock:
                    await driver.execute("select pg_notify($1, t) from unnest($2::text[]) t", _CHANNEL, list(texts))
        except Exception as error:
            self._note_loss(error)
            if self._driver is not None and isinstance(error, TimeoutError):
                self._driver.terminate()
            raise
        self._is_away = False

    async def aclose(self) -> None:
        """Stop listening and close the connection."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        if self._driver is not None and not self._driver.is_closed():
            await self._driver.close()

    async def _connected(self) -> "asyncpg.Connection[asyncpg.Record]":
        async with self._lock:
            if self._driver is None or self._driver.is_closed():
                driver = await open_driver(self._url)
                try:
                    await driver.add_listener(_CHANNEL, self._received)
                except BaseException:
                    driver.terminate()
                    raise
                driver.add_termination_listener(self._on_loss)
                self._driver = driver
            return self._driver

    def _received(self, _driver: object, _pid: int, _channel: str, text: object) -> None:
        if self._callback is not None:
            self._callback(str(text))

    def _on_loss(self, _driver: object) -> None:
        self._lost.set()

    async def _keep_connected(self) -> None:
        while True:
            await self._lost.wait()
            self._lost.clear()
            try:
                await self._connected()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                self._note_loss(error)
                self._lost.set()
                await asyncio.sleep(_RETRY_SECONDS)

    def _note_loss(self, error: Exception) -> None:
        """One line for an outage, however long it lasts."""
        if not self._is_away:
            _log.warning("notifications_away", extra={"error_class": type(error).__name__})
        self._is_away = True


async def identity_of(url: str) -> str:
    """16 hex digits that tell this database from every other, however it is addressed; shared by its processes."""
    driver = await open_driver(url)
    try:
        identity = await driver.fetchval(
            "select system_identifier || '/' || current_database() from pg_control_system()"
        )
    finally:
        await driver.close()
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
