"""Port of the message bus: carries wake-ups between tasks and processes; the journal is the truth.

A message is a hint: it may come twice, late, or not at all, and holds ids only, because every process on the bus can
read it. Adapters: `memory` (one process), `postgres` (NOTIFY, every process of one database).
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

Payload = Mapping[str, str]
"""Ids by name."""


class Subscription(Protocol):
    """Messages of one topic since the subscription began, in order of arrival; a slow reader loses the oldest."""

    def __aiter__(self) -> AsyncIterator[Payload]:
        """Every message until the bus is closed."""

    async def next_within(self, seconds: float) -> Payload | None:
        """The next message, or None when none came in time. Cancelling it loses no message."""


class Bus(Protocol):
    """Publish and subscribe by topic. A topic is any short text."""

    async def publish(self, topic: str, payload: Payload) -> None:
        """Tell every subscriber of `topic`. Never waits for a subscriber and never fails: a lost hint is made up for
        by polling."""

    def subscribe(self, topic: str) -> AbstractAsyncContextManager[Subscription]:
        """Receive what is published to `topic` from now until the context ends."""

    async def aclose(self) -> None:
        """End every subscription; later messages go nowhere."""
