"""The bus of every process on one database: NOTIFY carries ids, readers of this process are told directly."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol
from uuid import uuid4

from app.bus import Payload
from app.bus.memory import MemoryBus, MemorySubscription

_GATHER_SECONDS = 0.01
"""Hints are sent to the other processes together, at most this late."""
_PENDING = 1_000
_log = logging.getLogger(__name__)


class Notifications(Protocol):
    """What the bus needs of the database (`app.storage.notifications`)."""

    async def listen(self, callback: Callable[[str], None]) -> None:
        """Call back with every text notified from now on, by whichever process."""

    async def notify(self, texts: Sequence[str]) -> None:
        """Send texts to every listening process. Raises when the database is away."""

    async def aclose(self) -> None:
        """Stop listening."""


class PostgresBus:
    """Fans messages out inside the process and through the database to the others."""

    def __init__(self, notifications: Notifications):
        self._notifications = notifications
        self._local = MemoryBus()
        self._origin = uuid4().hex
        self._outbox: dict[str, None] = {}
        self._sender: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, notifications: Notifications) -> "PostgresBus":
        """A bus that already listens."""
        bus = cls(notifications)
        await notifications.listen(bus._received)
        return bus

    async def publish(self, topic: str, payload: Payload) -> None:
        """Deliver here at once and to the other processes within about 10 ms."""
        self._local.deliver(topic, payload)
        if len(self._outbox) < _PENDING:
            self._outbox[json.dumps([self._origin, topic, dict(payload)])] = None
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    def subscribe(self, topic: str) -> AbstractAsyncContextManager[MemorySubscription]:
        """Receive what any process publishes to `topic` from now on."""
        return self._local.subscribe(topic)

    async def aclose(self) -> None:
        """Send what is waiting, stop listening, end every subscription."""
        if self._sender is not None:
            with suppress(asyncio.CancelledError):
                await self._sender
        await self._local.aclose()
        await self._notifications.aclose()

    async def _send(self) -> None:
        while self._outbox:
            await asyncio.sleep(_GATHER_SECONDS)
            texts, self._outbox = list(self._outbox), {}
            try:
                await self._notifications.notify(texts)
            except Exception:  # a hint may be lost: readers poll
                _log.warning("hints_lost", extra={"count": len(texts)})

    def _received(self, text: str) -> None:
        origin, topic, payload = json.loads(text)
        if origin != self._origin:
            self._local.deliver(topic, payload)
