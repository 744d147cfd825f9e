"""The client of one endpoint: no retries, no redirects, and an end to every response."""

from collections.abc import AsyncIterator

import httpx2
from openai import AsyncOpenAI

from app.reasoning.llm.outcomes import CallOutcome, ModelFailed

_MAX_BYTES = 4_000_000
"""Of one response; a reply of a thousand tokens takes some 300 kB of events."""


def open_client(base_url: str, api_key: str, timeout_seconds: float) -> AsyncOpenAI:
    """A client; empty address = OpenAI's own. Sends nothing yet.

    One layer retries, and it is not the client. A redirect would carry the key and the question elsewhere.
    """
    http_client = httpx2.AsyncClient(
        timeout=timeout_seconds, follow_redirects=False, event_hooks={"response": [_bound]}
    )
    # Local servers want no key, but the client insists on one.
    return AsyncOpenAI(
        base_url=base_url or None, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0,
        http_client=http_client,
    )  # fmt: skip


async def _bound(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with `ModelFailed` where it does not end by itself, also inside one endless line."""

    def __init__(self, body: httpx2.AsyncByteStream):
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for part in self._body:
            seen += len(part)
            if seen > _MAX_BYTES:
                raise ModelFailed(CallOutcome.FLOOD)
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()
