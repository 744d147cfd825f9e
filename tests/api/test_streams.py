"""The stream itself, through a real server: framing, pings, slow readers, hang-ups, shutdown."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app.api import sse
from app.api.sse import JournalStream
from app.events import JournalEntry, TaskCancelled, TextDelta
from tests.api.serving import serve
from tests.api.sse_reader import events_of

Source = Callable[[], AsyncIterator[JournalEntry]]


def streaming(source: Source) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await JournalStream(source())(scope, receive, send)

    return app


class Counted:
    """Entries without end (or up to `last`), which knows whether it was closed."""

    def __init__(self, text: str, last: int = 2**31, pause: float = 0.0):
        self.text, self.last, self.pause = text, last, pause
        self.given, self.closed = 0, asyncio.Event()

    async def entries(self) -> AsyncIterator[JournalEntry]:
        try:
            while self.given < self.last:
                self.given += 1
                await asyncio.sleep(self.pause)
                yield JournalEntry(seq=self.given, event=TextDelta(text=self.text))
            yield JournalEntry(seq=self.given + 1, event=TaskCancelled(reason="end"))
        finally:
            self.closed.set()


class TestJournalStream:
    async def test_sends_every_entry_and_ends(self) -> None:
        counted = Counted("một\ndòng", last=200)
        async with (
            serve(streaming(counted.entries), lifespan="off") as url,
            httpx.AsyncClient() as http,
            http.stream("GET", url) as response,
        ):
            seen = [event async for event in events_of(response)]
        assert [event.seq for event in seen] == list(range(1, 202))
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-cache, no-transform"
        assert response.headers["x-accel-buffering"] == "no"

    async def test_pings_with_comments_while_nothing_happens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert sse.PING_SECONDS <= 10
        monkeypatch.setattr(sse, "PING_SECONDS", 0.05)
        counted = Counted("", pause=30)
        async with (
            serve(streaming(counted.entries), lifespan="off") as url,
            httpx.AsyncClient() as http,
            http.stream("GET", url) as response,
        ):
            lines = response.aiter_lines()
            assert (await asyncio.wait_for(anext(lines), 2)).startswith(": ping")

    async def test_leaves_a_frozen_reader_behind(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert sse.SEND_TIMEOUT_SECONDS <= 10
        monkeypatch.setattr(sse, "SEND_TIMEOUT_SECONDS", 0.3)
        counted = Counted("x" * 20_000)
        with caplog.at_level(logging.INFO):
            async with serve(streaming(counted.entries), lifespan="off") as url:
                frozen = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])))
                frozen.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await asyncio.wait_for(counted.closed.wait(), 10)
                sent = counted.given
                await asyncio.sleep(0.2)
                frozen.close()
        assert counted.given == sent, "nothing is read from the journal for a reader that is gone"
        assert not [record for record in caplog.records if record.exc_info]

    async def test_stops_reading_the_journal_when_the_reader_hangs_up(self) -> None:
        counted = Counted("x", pause=0.01)
        async with serve(streaming(counted.entries), lifespan="off") as url:
            async with httpx.AsyncClient() as http, http.stream("GET", url) as response:
                async for _ in events_of(response):
                    break
            await asyncio.wait_for(counted.closed.wait(), 2)

    async def test_ends_properly_when_the_server_shuts_down(self) -> None:
        counted = Counted("x", pause=0.05)
        async with httpx.AsyncClient() as http:
            async with serve(streaming(counted.entries), lifespan="off") as url:
                request = http.build_request("GET", url)
                response = await http.send(request, stream=True)
                reading = asyncio.ensure_future(response.aread())
                await asyncio.sleep(0.2)
            assert b"text_delta" in await asyncio.wait_for(reading, 5)
        assert counted.closed.is_set()
