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

_SECONDS = 0.5
"""For so long a refusal is repeated; less than anybody is told to wait."""
_CALLERS = 10_000


class RepeatedRefusals:
    """Answers 429 again to a POST of JSON to the address that gave the same credentials a 429 within half a second.

    Requests with an ``Idempotency-Key`` pass: they may have been taken in before. Nobody without credentials is known.
    """

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic):
        self.app = app
        self._refused: TTLCache[tuple[bytes, str], tuple[Message, bytes]] = TTLCache(_CALLERS, _SECONDS, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers: Mapping[bytes, bytes] = dict(scope["headers"]) if scope["type"] == "http" else {}
        credentials = headers.get(b"authorization") or headers.get(b"cookie")
        is_json = headers.get(b"content-type", b"").startswith(b"application/json")
        if not (is_json and credentials and scope["method"] == "POST") or b"idempotency-key" in headers:
            await self.app(scope, receive, send)
            return
        if (known := self._refused.get(key := (sha256(credentials).digest(), scope["path"]))) is not None:
            start = {**known[0], "headers": [*known[0]["headers"]]}
            cut_off_endless(scope, MutableHeaders(scope=start))
            await send(start)
            await send({"type": "http.response.body", "body": known[1]})
            return
        refusals: list[Message] = []

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 429:
                refusals.append({**message, "headers": [*message["headers"]]})
            elif refusals and not message.get("more_body"):
                self._refused[key] = refusals.pop(), message.get("body", b"")
            await send(message)

        await self.app(scope, receive, noted)
