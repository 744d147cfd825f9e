"""The channel between processes that a Redis server carries: one name, PUBLISH and SUBSCRIBE, nothing kept there.

A server that is away costs wake-ups and nothing else: every call ends within half a second.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from app.bus import PATIENCE_SECONDS

_SOCKET_SECONDS = 0.4
_QUIET_SECONDS = 5.0
"""After that long without a message the server is asked whether it is still there."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 2.0
_log = logging.getLogger(__name__)


class RedisChannel:
    """One channel of a Redis server; its name keeps services that share the server apart."""

    def __init__(self, url: str, namespace: str):
        """`url`: ``redis://``, ``rediss://`` or ``unix://``. Raises `ValueError` for an address that is none."""
        self.name = f"conclave:{namespace}"
        self._speaker, self._listener = _client(url), _client(url)
        self._callback: Callable[[str], None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()
        self._lost: set[str] = set()

    async def listen(self, callback: Callable[[str], None]) -> None:
        """Call back with every text from now on; a server that does not answer at once is waited for in the
        background. Texts sent while it is away are lost."""
        self._callback = callback
        self._keeper = asyncio.create_task(self._keep_listening())
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._listening.wait()

    async def notify(self, texts: Sequence[str]) -> None:
        """Send texts, in order, within half a second. Raises when the server is away or refuses."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._speaker.pipeline(transaction=False) as sending:
                for text in texts:
                    sending.publish(self.name, text)
                await sending.execute()
        except Exception as error:
            self._note_loss("sending", error)
            with suppress(Exception):  # an answer that is still under way must not meet the next question
                await self._speaker.connection_pool.disconnect()
            raise
        self._lost.discard("sending")

    async def aclose(self) -> None:
        """Stop listening; a server that does not answer is left alone."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        for client in (self._speaker, self._listener):
            with suppress(Exception):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await client.aclose()

    async def _keep_listening(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen()
            except Exception as error:
                if self._listening.is_set():
                    pause = _FIRST_PAUSE_SECONDS
                self._listening.clear()
                self._note_loss("listening", error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _listen(self) -> None:
        """Hand over texts until the connection breaks or the server falls silent."""
        async with self._listener.pubsub() as inbox:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await inbox.subscribe(self.name)
                await inbox.get_message(timeout=None)
            self._listening.set()
            self._lost.discard("listening")
            while True:
                received = await inbox.get_message(timeout=_QUIET_SECONDS)
                if received is None:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await inbox.ping()
                        received = await inbox.get_message(timeout=None)
                if received and received["type"] == "message" and self._callback is not None:
                    self._callback(received["data"].decode("utf-8", "replace"))

    def _note_loss(self, half: str, error: Exception) -> None:
        """One line for an outage, whichever half notices it first and however long it lasts."""
        if not self._lost:
            _log.warning("redis_away", extra={"half": half, "error_class": type(error).__name__})
        self._lost.add(half)


def _client(url: str) -> Redis:
    """No retries inside the client: whoever publishes has no time for them, and the listener has its own."""
    client: Redis = Redis.from_url(
        url,
        socket_timeout=_SOCKET_SECONDS,
        socket_connect_timeout=_SOCKET_SECONDS,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )
    return client
