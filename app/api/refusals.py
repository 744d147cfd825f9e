"""Repeat the refusal a caller got a moment ago, before anything is asked or read again.

A crowd of one person's questions would otherwise cost the event loop two milliseconds each only to be turned away.
"""

import time
from collections.abc import Callable, Mapping
from hashlib import sha256

from cachetools import TTLCache
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.middleware import cut_off_endless
from app.trust.admission import Turns

_SECONDS = 0.5
"""For so long a refusal is repeated; less than anybody is told to wait."""
_CALLERS = 10_000
_FURTHER = 8
"""Requests of one caller to one address that go further at a time, beside the questions that may be open: a crowd that
comes at once waits for the first refusal instead of holding up the event loop."""


class RepeatedRefusals:
    """Answers 429 again to a POST of JSON to the address that gave the same credentials a 429 within half a second.

    Of a crowd that comes at once so many go further as may be open, and some more; the others wait for the first
    refusal. Requests with an ``Idempotency-Key`` pass: they may have been taken in before. So do those without
    credentials.
    """

    def __init__(self, app: ASGIApp, *, open_runs: int, clock: Callable[[], float] = time.monotonic):
        """`open_runs`: questions of one person that may be open at a time, whose requests wait for their answers."""
        self.app = app
        self._refused: TTLCache[tuple[bytes, str], tuple[Message, bytes]] = TTLCache(_CALLERS, _SECONDS, clock)
        self._turns = Turns(open_runs + _FURTHER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers: Mapping[bytes, bytes] = dict(scope["headers"]) if scope["type"] == "http" else {}
        credentials = headers.get(b"authorization") or headers.get(b"cookie")
        is_json = headers.get(b"content-type", b"").startswith(b"application/json")
        if not (is_json and credentials and scope["method"] == "POST") or b"idempotency-key" in headers:
            await self.app(scope, receive, send)
            return
        key = sha256(credentials).digest(), scope["path"]
        async with self._turns.of(*key):
            if (known := self._refused.get(key)) is None:
                await self._forward(key, scope, receive, send)
                return
        start = {**known[0], "headers": [*known[0]["headers"]]}
        cut_off_endless(scope, MutableHeaders(scope=start))
        await send(start)
        await send({"type": "http.response.body", "body": known[1]})

    async def _forward(self, key: tuple[bytes, str], scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and keep the answer where it is a refusal that comes as a whole."""
        refusals: list[Message] = []

        async def send_and_keep(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 429:
                refusals.append({**message, "headers": [*message["headers"]]})
            elif refusals:
                start = refusals.pop()
                if not message.get("more_body"):
                    self._refused[key] = start, message.get("body", b"")
            await send(message)

        await self.app(scope, receive, send_and_keep)
