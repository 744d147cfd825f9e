"""A run's journal as other protocols stream it: JSON objects as server-sent events without names and ids."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import structlog
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from app.api.sse import PING_SECONDS, SEND_TIMEOUT_SECONDS
from app.errors import AppError
from app.events import JournalEntry

Chunk = dict[str, Any]
_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
_log = structlog.get_logger(__name__)


class ProjectedStream(EventSourceResponse):
    """A stream of chunks. Ends with them, at shutdown, or when the reader stops reading."""

    def __init__(
        self, chunks: AsyncGenerator[Chunk, None], *, done: str | None = None, headers: Mapping[str, str] | None = None
    ):
        """`done`: a last line that is no JSON."""
        super().__init__(
            _frames(chunks, done),
            headers={**_HEADERS, **(headers or {})},
            ping=PING_SECONDS,
            ping_message_factory=lambda: ServerSentEvent(comment="ping", sep="\n"),
            send_timeout=SEND_TIMEOUT_SECONDS,
            sep="\n",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; a reader that took nothing for `SEND_TIMEOUT_SECONDS` is left behind with one line in the log."""
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            _log.info("stream_reader_dropped", seconds=SEND_TIMEOUT_SECONDS)


async def until_lost(
    chunks: AsyncGenerator[Chunk, None],
    entries: AsyncIterator[JournalEntry],
    refusal: Callable[[AppError], Iterable[Chunk]],
) -> AsyncGenerator[Chunk, None]:
    """The chunks made of `entries`; when the run is erased or the database goes away, what `refusal` says of it."""
    try:
        async for chunk in chunks:
            yield chunk
    except AppError as error:
        for chunk in refusal(error):
            yield chunk
    finally:
        await chunks.aclose()
        if isinstance(entries, AsyncGenerator):
            await entries.aclose()


async def _frames(chunks: AsyncGenerator[Chunk, None], done: str | None) -> AsyncGenerator[ServerSentEvent, None]:
    try:
        async for chunk in chunks:
            yield ServerSentEvent(json.dumps(chunk, ensure_ascii=False), sep="\n")
        if done is not None:
            yield ServerSentEvent(done, sep="\n")
    finally:
        await chunks.aclose()
