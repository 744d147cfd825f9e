"""The bus of one process: messages go straight to the subscribers' queues."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.bus import Payload

_KEPT = 100
"""Unread messages per subscriber; hints beyond that tell nothing new."""


class MemorySubscription:
    """One reader of one topic."""

    def __init__(self) -> None:
        self._unread: deque[Payload] = deque(maxlen=_KEPT)
        self._arrived = asyncio.Event()
        self._closed = False

    def __aiter__(self) -> "MemorySubscription":
        return self

    async def __anext__(self) -> Payload:
        while not self._unread:
            if self._closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._unread.popleft()

    async def next_within(self, seconds: float) -> Payload | None:
        """The next message, or None when none came in time; a closed bus is as quiet as an idle one."""
        try:
            async with asyncio.timeout(seconds):
                while not self._unread:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return None
        return self._unread.popleft()

    def deliver(self, payload: Payload) -> None:
        """Hand over a message without waiting."""
        self._unread.append(payload)
        self._arrived.set()

    def close(self) -> None:
        """No more messages: readers end after the unread ones."""
        self._closed = True
        self._arrived.set()


class MemoryBus:
    """Subscribers by topic, inside one event loop."""

    def __init__(self) -> None:
        self._subscribers: dict[str, set[MemorySubscription]] = {}
        self._closed = False

    async def publish(self, topic: str, payload: Payload) -> None:
        """Deliver to the subscribers of this process."""
        self.deliver(topic, payload)

    def deliver(self, topic: str, payload: Payload) -> None:
        """`publish` without waiting, for callers outside a coroutine of the same event loop."""
        for subscriber in self._subscribers.get(topic, ()):
            subscriber.deliver(payload)

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncIterator[MemorySubscription]:
        """Receive what is published to `topic` from now on."""
        subscription = MemorySubscription()
        if self._closed:
            subscription.close()
        self._subscribers.setdefault(topic, set()).add(subscription)
        try:
            yield subscription
        finally:
            readers = self._subscribers[topic]
            readers.discard(subscription)
            if not readers:
                del self._subscribers[topic]

    async def aclose(self) -> None:
        """End every subscription."""
        self._closed = True
        for readers in self._subscribers.values():
            for subscription in readers:
                subscription.close()
