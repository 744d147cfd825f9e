"""The line to a server over streamable HTTP: no redirects, no proxy, no compression, bounded bytes.

A session with the server belongs to one owner (`ServerSpec.shared_by`): to the whole service, for servers that remember
nothing, or to one tenant or user. The server is not told which; its session id is used for nobody else.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from app.tools.mcp.allowance import Allowance, TooMuch
from app.tools.mcp.faults import Fault, Faults
from app.tools.mcp.spec import ServerSpec

_CONNECT_SECONDS = 5.0
_MAX_LISTENING = 2
"""Times the server may keep a line open to speak unasked; then it is heard only when it is asked."""


class _Counted(httpx2.AsyncByteStream):
    """A body that is counted while it is read."""

    def __init__(self, body: httpx2.AsyncByteStream, allowance: Allowance, faults: Faults):
        self._body, self._allowance, self._faults = body, allowance, faults

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            try:
                self._allowance.take(len(chunk))
            except TooMuch as overrun:
                self._faults.note(Fault.TOO_MUCH)
                raise httpx2.ReadError("the server sent too much") from overrun
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _Bounded(httpx2.AsyncBaseTransport):
    """Sends requests to the one address that was configured, and counts what comes back."""

    def __init__(self, url: str, allowance: Allowance, faults: Faults):
        self._url = httpx2.URL(url)
        self._line = httpx2.AsyncHTTPTransport(trust_env=False)
        self._allowance, self._faults = allowance, faults
        self._listening = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises `httpx2.TransportError` for another address and for a body in an encoding that could unfold."""
        if request.url != self._url:
            raise httpx2.UnsupportedProtocol("only the configured address is spoken to", request=request)
        if request.method == "GET":
            self._listening += 1
            if self._listening > _MAX_LISTENING:
                return httpx2.Response(405, request=request)
        response = await self._line.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            self._faults.note(Fault.NOT_MCP)
            raise httpx2.ReadError("the server compresses though it was asked not to", request=request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        body = _Counted(response.stream, self._allowance, self._faults)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=body, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._line.aclose()


@asynccontextmanager
async def http_streams(spec: ServerSpec, allowance: Allowance, faults: Faults) -> AsyncIterator[TransportStreams]:
    """Speak to the server's endpoint until the block is left. Raises `ServerRefused` for a variable that is not set."""
    async with (
        httpx2.AsyncClient(
            transport=_Bounded(spec.url, allowance, faults),
            headers={"accept-encoding": "identity", "user-agent": "conclave"} | spec.sent_headers(),
            timeout=httpx2.Timeout(spec.limits.call_seconds, connect=_CONNECT_SECONDS),
            follow_redirects=False,
            max_redirects=0,
            trust_env=False,
        ) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=spec.limits.max_list_bytes) as streams,
    ):
        yield streams
