"""Bounds on the head of a request, before there is one: uvicorn waits for ever and keeps everything."""

import asyncio

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.api.problem import problem
from app.errors import ErrorCode

HEAD_SECONDS, HEAD_BYTES = 10.0, 32_768
"""For the address and the headers of a request; a bearer token may have a quarter of it."""
_FAREWELL_SECONDS = 1.0


class BoundedHeads(HttpToolsProtocol):
    """Refuses, for a server, heads of requests that are late or large, and what is no request.

    Of a request that was answered before its body came, no line is held by what still drips.
    """

    _late: asyncio.TimerHandle | None = None
    _unread = _head_bytes = 0
    """Bytes since the parser last brought something; of the head's parts that it brought."""
    _in_body = False
    _refusal: Response | None = None
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a head."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, as far as it is worth it."""
        if self._is_refused:
            return
        if not self._in_body and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        self._unread += len(data)
        super().data_received(data)
        if self._unread > HEAD_BYTES and not self._is_refused:
            self._refuse(_too_large())

    def on_message_begin(self) -> None:
        """Begin to count."""
        self._head_bytes = 0
        self._await_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, also one behind the body."""
        self._count(name, value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the clock."""
        self._in_body, self._unread = True, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take note that the bytes were a body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take note that the body has ended."""
        self._in_body, self._unread = False, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Say why, in the shape of every refusal."""
        self._refuse(self._refusal or problem(ErrorCode.PAYLOAD_INVALID, "This is no HTTP request.", 400))

    def _unset_keepalive_if_required(self) -> None:
        if not (self._in_body and self.cycle.response_complete):
            super()._unset_keepalive_if_required()

    def _await_head(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self._end_late)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end_late(self) -> None:
        if self.scope is None or self._unread == 0:
            self.transport.close()
        else:
            self._refuse(problem(ErrorCode.PAYLOAD_INVALID, "The head of the request did not arrive in time.", 408))

    def _count(self, *parts: bytes) -> None:
        self._head_bytes += sum(map(len, parts))
        if self._head_bytes > HEAD_BYTES:
            self._refusal = _too_large()
            raise ValueError("too large a head")

    def _refuse(self, refusal: Response) -> None:
        """Answer, unless another answer is under way, and close the line; what still comes in is thrown away for a
        moment, because a line that is closed before it was read is reset, and the answer with it."""
        self._is_refused = True
        self._stop_waiting()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        lines = [b"HTTP/1.1 %d \r\n" % refusal.status_code, b"connection: close\r\n"]
        lines += [b"%s: %s\r\n" % header for header in refusal.raw_headers]
        self.transport.write(b"".join((*lines, b"\r\n", refusal.body)))
        self.transport.write_eof()
        self.loop.call_later(_FAREWELL_SECONDS, self.transport.close)


def _too_large() -> Response:
    return problem(ErrorCode.PAYLOAD_TOO_LARGE, f"The request's head has more than {HEAD_BYTES} bytes.", 431)
