"""Server-sent events: a task's journal as a stream that can be resumed, and readers that cannot hold it up.

``id:`` is the journal's seq, ``event:`` the event's type, ``data:`` its JSON. The journal is the truth; a stream only
reads it, so a dropped connection loses nothing: the client comes back with ``Last-Event-ID``.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping

import anyio
import structlog
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.errors import AppError
from app.events import JournalEntry, Progress

PING_SECONDS = 8
SEND_TIMEOUT_SECONDS = 8
_GRACE_SECONDS = 1
_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
_log = structlog.get_logger(__name__)


class EventStream(Response):
    """Stands for a stream in the API's description."""

    media_type = "text/event-stream"


class TimedStream(EventSourceResponse):
    """Server-sent events, pinged in silence. Ends with its frames, at shutdown, or when the reader stops reading."""

    def __init__(
        self,
        frames: AsyncGenerator[ServerSentEvent, None],
        *,
        headers: Mapping[str, str] | None = None,
        closing: anyio.Event | None = None,
    ):
        """`closing` is set at shutdown, a moment before the stream is cut off."""
        super().__init__(
            frames,
            headers={**_HEADERS, **(headers or {})},
            ping=PING_SECONDS,
            ping_message_factory=lambda: ServerSentEvent(comment="ping", sep="\n"),
            send_timeout=SEND_TIMEOUT_SECONDS,
            sep="\n",
            shutdown_event=closing,
            shutdown_grace_period=_GRACE_SECONDS if closing is not None else 0,
            cleanup_timeout=5,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; a reader that took nothing for `SEND_TIMEOUT_SECONDS` is left behind with one line in the log."""
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            _log.info("stream_reader_dropped", seconds=SEND_TIMEOUT_SECONDS)


class JournalStream(TimedStream):
    """The stream of one journal; ends after the terminal event."""

    def __init__(self, entries: AsyncIterator[JournalEntry]):
        closing = anyio.Event()
        super().__init__(_frames(entries, closing), closing=closing)


def frame(entry: JournalEntry) -> ServerSentEvent:
    """One journal entry on the wire. ``progress`` carries the seed's object and nothing else (§9.2)."""
    match entry.event:
        case Progress() as progress:
            text = progress.model_dump_json(include={"node", "output"})
        case event:
            text = event.model_dump_json()
    return ServerSentEvent(text, event=entry.event.type, id=str(entry.seq), sep="\n")


async def _frames(entries: AsyncIterator[JournalEntry], closing: anyio.Event) -> AsyncGenerator[ServerSentEvent, None]:
    is_closing = asyncio.ensure_future(closing.wait())
    try:
        while (entry := await _next_before(entries, is_closing)) is not None:
            yield frame(entry)
    except AppError as error:
        # The task was erased or the database went away: the client comes back and is told by the status then.
        _log.info("stream_interrupted", code=error.code.value)
    finally:
        is_closing.cancel()
        if isinstance(entries, AsyncGenerator):
            await entries.aclose()


async def _next_before(entries: AsyncIterator[JournalEntry], stop: Awaitable[None]) -> JournalEntry | None:
    """The next entry, or None when there is none any more or `stop` came first."""
    coming = asyncio.ensure_future(anext(entries, None))
    try:
        await asyncio.wait({coming, asyncio.ensure_future(stop)}, return_when=asyncio.FIRST_COMPLETED)
        return coming.result() if coming.done() else None
    finally:
        if not coming.done():
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
