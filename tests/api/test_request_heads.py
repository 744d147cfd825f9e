"""What `conclave serve` does with heads that are late, endless or enormous, over raw sockets."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.cli.serving import _UVICORN
from app.main import heads
from app.main.heads import HEAD_BYTES
from tests.limits import limit

HEAD_SECONDS, IDLE_SECONDS = 1.0, 4
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_LOAD = 300
"""Lines that are held half open at a time."""


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer at once; below ``/slow`` a piece a second, for longer than a head may take."""

    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(int(HEAD_SECONDS) + 3):
            yield b"x"
            await asyncio.sleep(1)

    response = StreamingResponse(slowly()) if scope["path"] == "/slow" else PlainTextResponse("hello")
    await response(scope, receive, send)


@pytest.fixture(scope="module")
async def port() -> AsyncIterator[int]:
    """Of a server with the settings of `conclave serve`, but for less patience with heads and idle lines."""
    assert 5 <= heads.HEAD_SECONDS <= 15 and _UVICORN["timeout_keep_alive"] > IDLE_SECONDS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "HEAD_SECONDS", HEAD_SECONDS)
        options = _UVICORN | {"timeout_keep_alive": IDLE_SECONDS}
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", **options))
        running = asyncio.ensure_future(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn sets a flag and tells nobody
            await asyncio.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True
        await running


@asynccontextmanager
async def line(port: int) -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def told(reader: asyncio.StreamReader) -> tuple[int, dict[str, object]]:
    """Status and problem of what comes until the line is closed by the server."""
    answer = await asyncio.wait_for(reader.read(), limit(HEAD_SECONDS + 2))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    return int(head.split()[1]), json.loads(body)


class TestTime:
    async def test_a_half_sent_head_is_refused(self, port: int) -> None:
        async with line(port) as (reader, writer):
            began = time.monotonic()
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
            status, refusal = await told(reader)
            assert (status, refusal["code"]) == (408, "PAYLOAD_INVALID")
            # A timer counts in whole milliseconds from the last turn of the loop, so it may fire a little early.
            assert time.monotonic() - began >= HEAD_SECONDS * 0.9

    async def test_one_that_drips_gains_nothing_by_it(self, port: int) -> None:
        async with line(port) as (reader, writer):
            began = time.monotonic()
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
            answer = asyncio.ensure_future(told(reader))
            while not answer.done() and time.monotonic() - began < limit(HEAD_SECONDS + 2):
                writer.write(b"a")
                await asyncio.sleep(0.1)
            assert (await answer)[0] == 408

    @pytest.mark.parametrize("sent", [b"", b"\r\n"])
    async def test_a_line_on_which_nothing_is_asked_is_closed(self, port: int, sent: bytes) -> None:
        async with line(port) as (reader, writer):
            writer.write(sent)
            assert await asyncio.wait_for(reader.read(), limit(HEAD_SECONDS + 2)) == b""

    async def test_the_second_request_of_a_line_has_no_more_time(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await reader.readuntil(b"hello")
            writer.write(b"GET / HTT")
            assert (await told(reader))[0] == 408

    async def test_many_of_them_are_all_let_go_and_others_are_served_meanwhile(self, port: int) -> None:
        lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(_LOAD)]
        try:
            for _, writer in lines:
                writer.write(b"POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nContent-")
            async with line(port) as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert await asyncio.wait_for(reader.readuntil(b"hello"), limit(2))
            async with asyncio.timeout(limit(HEAD_SECONDS + 3)):
                answers = await asyncio.gather(*(reader.read() for reader, _ in lines))
            assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in answers)
        finally:
            for _, writer in lines:
                writer.close()

    async def test_a_body_that_drips_after_its_refusal_holds_no_line(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
            assert await reader.readuntil(b"hello")
            end = asyncio.ensure_future(reader.read())
            async with asyncio.timeout(limit(IDLE_SECONDS + 2)):
                while not end.done():
                    writer.write(b"a")
                    await asyncio.sleep(0.2)

    async def test_an_answer_may_take_longer_than_a_head(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            await asyncio.sleep(0.3)
            writer.write(b"\r\n")  # as some clients do behind a body
            answer = await asyncio.wait_for(reader.readuntil(b"\r\n0\r\n\r\n"), limit(HEAD_SECONDS + 5))
            assert answer.count(b"\r\nx") == int(HEAD_SECONDS) + 3

    async def test_a_line_that_had_its_answer_is_kept(self, port: int) -> None:
        async with line(port) as (reader, writer):
            for _ in range(2):
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert await reader.readuntil(b"hello")
                await asyncio.sleep(HEAD_SECONDS + 1)


class TestSize:
    @pytest.mark.parametrize(
        "head",
        [
            b"X-A: " + b"a" * 200_000,
            b"".join(b"X-%d: %s\r\n" % (number, b"a" * 100) for number in range(2_000)) + b"X-Z: z",
            b"X-" + b"n" * 200_000 + b": a",
        ],
        ids=["one value", "many headers", "one name"],
    )
    @pytest.mark.parametrize("ending", [b"\r\n\r\n", b""])
    async def test_a_head_that_is_too_large_is_refused(self, port: int, head: bytes, ending: bytes) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + head + ending)
            status, refusal = await told(reader)
            assert (status, refusal["code"]) == (431, "PAYLOAD_TOO_LARGE")

    async def test_so_is_an_address(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await told(reader))[0] == 431

    async def test_one_sent_in_small_pieces_is_refused_as_soon_as_it_is_too_large(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
            for number in range(HEAD_BYTES // 500 + 2):
                writer.write(b"X-%d: %s\r\n" % (number, b"a" * 500))
                await asyncio.sleep(0)
            assert (await told(reader))[0] == 431

    async def test_so_are_trailers_behind_a_body(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"POST /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
            with suppress(ConnectionError):
                writer.write(b"X-A: " + b"a" * 2_000_000)
                answer = await asyncio.wait_for(reader.read(), limit(1))
                assert not answer.endswith(b"0\r\n\r\n")

    async def test_one_of_an_ordinary_size_is_read(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + b"a" * 8_192 + b"\r\n\r\n")
            assert await reader.readuntil(b"hello")

    async def test_large_bodies_are_no_heads(self, port: int) -> None:
        async with line(port) as (reader, writer):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n" + b"a" * 500_000)
            assert await reader.readuntil(b"hello")
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await reader.readuntil(b"hello")


async def test_what_is_no_request_is_told_so_by_its_code(port: int) -> None:
    async with line(port) as (reader, writer):
        writer.write(b"\x16\x03\x01\x02\x00nonsense\r\n\r\n")
        status, refusal = await told(reader)
        assert (status, refusal["code"]) == (400, "PAYLOAD_INVALID")
