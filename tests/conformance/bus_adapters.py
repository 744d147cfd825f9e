"""Every adapter of the bus port, opened so that several processes' worth of buses share what carries them."""

from collections.abc import Awaitable, Callable
from typing import Any

from app.bus import Bus, Message, Method, Wanted
from app.bus.redis import RedisChannel
from app.bus.relay import MemoryBus, RelayingBus
from app.storage.notifications import NotificationChannel
from tests.factories import stable_id

PATIENCE = 5.0
"""Seconds a message may take before a test gives up."""
QUIET = 0.2
ADAPTERS = ("memory", "postgres", "redis")
RELAYED = ("postgres", "redis")
Opener = Callable[[], Awaitable[Bus]]


def opener(adapter: str, app_url: str, redis_url: str) -> Opener:
    """Opens one more bus; those of one opener, but for memory, hear one another."""

    async def opened() -> Bus:
        if adapter == "memory":
            return MemoryBus()
        channel = NotificationChannel(app_url) if adapter == "postgres" else RedisChannel(redis_url, "test")
        return await RelayingBus.open(channel)

    return opened


def message(topic: str = "a", seq: int | None = 1, **changes: Any) -> Message:
    values: dict[str, Any] = {
        "method": Method.PROGRESS, "topic": topic, "from_agent": "orchestrator", "seq": seq,
        "tenant_id": stable_id("tenant"), "user_id": stable_id("user"), "session_id": stable_id("session"),
        "root_task_id": stable_id("root"), "task_id": stable_id("root"),
    }  # fmt: skip
    return Message.model_validate(values | changes)


def on(*topics: str, **more: Any) -> Wanted:
    return Wanted(topics=frozenset(topics), **more)
