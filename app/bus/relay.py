"""The buses of one process and of many: its own readers are told directly, others through a channel of texts.

A text is a JSON batch of messages, never with a payload.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import chain
from typing import Final, Protocol
from uuid import uuid4

from pydantic import TypeAdapter

from app.bus import PATIENCE_SECONDS, Message, Wanted

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


TEXT_BYTES: Final = 7_900
"""A text may have; NOTIFY takes no 8,000."""
_BATCH: TypeAdapter[tuple[str, list[Message]]] = TypeAdapter(tuple[str, list[Message]])


def pack(origin: str, messages: Sequence[Message]) -> Iterator[str]:
    """Texts under `TEXT_BYTES` that carry the messages in order, without payloads; a message that fits in no text is
    left out."""
    if not messages:
        return
    text = _BATCH.dump_json((origin, list(messages)), exclude={1: {"__all__": {"payload"}}}, exclude_defaults=True)
    if len(text) <= TEXT_BYTES:
        yield text.decode()
    elif len(messages) > 1:
        half = len(messages) // 2
        yield from pack(origin, messages[:half])
        yield from pack(origin, messages[half:])


def unpack(text: str) -> tuple[str, list[Message]]:
    """The origin and the messages of a text. Raises ``ValueError`` for one of another version of the service."""
    return _BATCH.validate_json(text)


_GATHER_SECONDS = 0.01
"""Messages are sent to the other processes together, at most this late."""
_PENDING = 1_000
_FIRST_PAUSE_SECONDS = 0.05


class Channel(Protocol):
    """What carries texts (under 8,000 bytes) between processes: `app.storage.notifications`, `app.bus.redis`."""

    async def listen(self, callback: Callable[[str], None]) -> None:
        """Call back with every text sent from now on, by whichever process; reconnects by itself."""

    async def notify(self, texts: Sequence[str]) -> None:
        """Send texts to every listening process, in order, within half a second. Raises when the channel is away, and
        says so in the log, once an outage."""

    async def aclose(self) -> None:
        """Stop listening."""


class RelayingBus:
    """Fans messages out inside the process and, without their payloads, through a channel to the others."""

    def __init__(self, channel: Channel):
        self._channel = channel
        self._local = MemoryBus()
        self._origin = uuid4().hex
        self._outbox: deque[Message] = deque(maxlen=_PENDING)
        self._sender: asyncio.Task[None] | None = None
        self._pause = _GATHER_SECONDS

    @classmethod
    async def open(cls, channel: Channel) -> "RelayingBus":
        """A bus that already listens."""
        bus = cls(channel)
        await channel.listen(bus._received)
        return bus

    async def publish(self, *messages: Message) -> None:
        """Deliver here at once and to the other processes within about 10 ms."""
        if self._local.is_closed:
            return
        self._local.deliver(*messages)
        self._outbox.extend(messages)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    def subscribe(self, wanted: Wanted) -> AbstractAsyncContextManager[MemorySubscription]:
        """Receive what is wanted, whichever process publishes it, from now on."""
        return self._local.subscribe(wanted)

    async def aclose(self) -> None:
        """Send what is waiting, stop listening, deliver nothing any more."""
        await self._local.aclose()
        if self._sender is not None:
            await asyncio.wait([self._sender], timeout=PATIENCE_SECONDS)
            self._sender.cancel()
        await self._channel.aclose()

    async def _send(self) -> None:
        while self._outbox:
            await asyncio.sleep(self._pause)
            messages = list(self._outbox)
            self._outbox.clear()
            try:
                await self._channel.notify(list(pack(self._origin, messages)))
                self._pause = _GATHER_SECONDS
            except Exception:  # these are lost, readers poll; what comes during the pause goes out after it
                self._pause = min(max(self._pause * 2, _FIRST_PAUSE_SECONDS), PATIENCE_SECONDS)

    def _received(self, text: str) -> None:
        try:
            origin, messages = unpack(text)
        except ValueError:  # another version of the service, or somebody else's: readers poll
            return
        if origin != self._origin:
            self._local.deliver(*messages)
