"""The bus of many processes: readers of this process are told directly, the others through a channel of texts.

A text is a JSON batch of messages, never with a payload.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol
from uuid import uuid4

from pydantic import TypeAdapter

from app.bus import PATIENCE_SECONDS
from app.bus.memory import MemoryBus, MemorySubscription
from app.domain.messages import Message, Wanted

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
