"""Port of the message bus: carries messages and wake-ups between agents and processes; the journal is the truth.

A message is a hint: it may come twice, late, or not at all, and between processes it holds ids and names only. Nobody
waits for a bus longer than `PATIENCE_SECONDS`; then the database is asked.
"""

from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from app.domain.messages import Message, Wanted

PATIENCE_SECONDS: Final = 0.5


class Subscription(Protocol):
    """What one listener wanted since its subscription began, in order of arrival; a slow reader loses the oldest."""

    async def next_within(self, seconds: float) -> Message | None:
        """The next message, or None when none came in time or the bus was closed. Cancelling it loses no message."""


class Bus(Protocol):
    """Publish and subscribe."""

    async def publish(self, *messages: Message) -> None:
        """Tell everybody who wants them, in this order. Never waits for a reader and never fails: a lost hint is made
        up for by polling."""

    def subscribe(self, wanted: Wanted) -> AbstractAsyncContextManager[Subscription]:
        """Receive what is wanted, from now until the context ends. What is not wanted is never queued."""

    async def aclose(self) -> None:
        """Deliver nothing any more; what was delivered can still be read."""
