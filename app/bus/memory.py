"""The bus of one process: messages go straight to the queues of those who want them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager
from itertools import chain

from app.domain.messages import Message, Wanted

_KEPT = 100
"""Unread messages per subscriber; hints beyond that tell nothing new."""
_Shelf = tuple[str, Hashable]
_EVERYTHING: _Shelf = ("everything", None)


class MemorySubscription:
    """One reader."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._unread: deque[Message] = deque(maxlen=_KEPT)
        self._arrived = asyncio.Event()

    async def next_within(self, seconds: float) -> Message | None:
        """The next message, or None when none came in time; a closed bus is as quiet as an idle one."""
        if self._unread:
            return self._unread.popleft()
        try:
            async with asyncio.timeout(seconds):
                while not self._unread:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return None
        return self._unread.popleft()

    def deliver(self, message: Message) -> None:
        """Hand over a message without waiting."""
        self._unread.append(message)
        self._arrived.set()


class MemoryBus:
    """Subscribers inside one event loop, on shelves by what they want, so that a message asks only those concerned."""

    def __init__(self) -> None:
        self._shelves: dict[_Shelf, dict[MemorySubscription, None]] = {}
        self.is_closed = False

    async def publish(self, *messages: Message) -> None:
        """Deliver to the subscribers of this process."""
        self.deliver(*messages)

    def deliver(self, *messages: Message) -> None:
        """`publish` without waiting, for callers outside a coroutine of the same event loop."""
        if self.is_closed:
            return
        for message in messages:
            for subscriber in self._concerned(message):
                if subscriber.wanted.takes(message):
                    subscriber.deliver(message)

    @asynccontextmanager
    async def subscribe(self, wanted: Wanted) -> AsyncIterator[MemorySubscription]:
        """Receive what is wanted from now on."""
        subscription, shelves = MemorySubscription(wanted), _shelves_of(wanted)
        for shelf in shelves:
            self._shelves.setdefault(shelf, {})[subscription] = None
        try:
            yield subscription
        finally:
            for shelf in shelves:
                del self._shelves[shelf][subscription]
                if not self._shelves[shelf]:
                    del self._shelves[shelf]

    async def aclose(self) -> None:
        """Deliver nothing any more."""
        self.is_closed = True

    def _concerned(self, message: Message) -> Iterator[MemorySubscription]:
        shelves = (("root", message.root_task_id), ("topic", message.topic), _EVERYTHING)
        return chain.from_iterable(self._shelves.get(shelf, ()) for shelf in shelves)


def _shelves_of(wanted: Wanted) -> list[_Shelf]:
    """Where a message looks for this subscriber: one kind of shelf, the narrowest, so that it is found once."""
    if wanted.root_task_id is not None:
        return [("root", wanted.root_task_id)]
    if wanted.topics is not None:
        return [("topic", topic) for topic in wanted.topics]
    return [_EVERYTHING]
