"""One request to one OpenAI-compatible endpoint, always streamed: first word, pauses and length are all bounded,
redirects are not followed, and ``Retry-After`` is read in both its forms (RFC 9110 §10.2.3)."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2
from openai import APIConnectionError, APIError, APIStatusError, AsyncOpenAI, AsyncStream, OpenAIError
from openai.types.chat import ChatCompletionChunk

from app.reasoning.llm.request import (
    Abilities,
    CallOutcome,
    ModelFailed,
    Prices,
    Request,
    Thinking,
    TimeLimits,
    Usage,
)
from app.text.language import BYTES_PER_TOKEN, clean


def seconds_of(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait, never negative; None for a missing header and for one that says nothing."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text) if len(text) < 10 else float("inf")
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0)


_MAX_BYTES = 4_000_000
"""Of one response; a reply of a thousand tokens takes some 300 kB of events."""


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


_COUNTS_WAIT_SECONDS = 0.5
_Result = TypeVar("_Result")


class CallClock:
    """Which limit holds for the next wait."""

    def __init__(self, limits: TimeLimits, deadline: float):
        """`deadline` is event-loop time."""
        self._limits, self._deadline = limits, deadline
        now = asyncio.get_running_loop().time()
        self._call_ends = now + limits.call
        self._next_due = now + limits.first_token

    def heard(self) -> None:
        """Text came."""
        self._next_due = asyncio.get_running_loop().time() + self._limits.between_tokens

    async def within(self, waiting: Awaitable[_Result]) -> _Result:
        """Await something under all limits. Raises `ModelFailed`."""
        until = min(self._next_due, self._call_ends, self._deadline)
        try:
            async with asyncio.timeout_at(until) as limit:
                return await waiting
        except TimeoutError as late:
            is_over = limit.expired() and until == self._deadline
            raise ModelFailed(CallOutcome.DEADLINE if is_over else CallOutcome.SLOW) from late

    async def next(self, chunks: AsyncIterator[_Result], *, ended: bool) -> _Result | None:
        """The next chunk; None at the end. After the finish reason only the token counts are waited for, shortly."""
        if not ended:
            return await self.within(anext(chunks, None))
        try:
            async with asyncio.timeout(_COUNTS_WAIT_SECONDS):
                return await anext(chunks, None)
        except TimeoutError:
            return None


_CHARS_PER_TOKEN = 12
"""Text longer than this for every allowed token did not come from a tokenizer."""
_REFUSED_FORM = (400, 415, 422, 501)
_HOPELESS = ("insufficient_quota", "context_length")
"""In the error of a request that no wait and no other form will help."""


@dataclass
class Endpoint:
    """A model behind an address."""

    client: AsyncOpenAI
    model: str
    limits: TimeLimits = field(default_factory=TimeLimits)
    prices: Prices = field(default_factory=Prices)
    thinking: Thinking = field(default_factory=Thinking)
    abilities: Abilities = field(default_factory=Abilities)

    @classmethod
    def at(
        cls, base_url: str, model: str, *, api_key: str = "", limits: TimeLimits | None = None,
        prices: Prices | None = None, thinking: Thinking | None = None,
    ) -> "Endpoint":  # fmt: skip
        """An endpoint by its address; empty = OpenAI's own. Nothing is sent yet. Its client neither retries nor follows
        redirects, which would carry the key elsewhere."""
        limits = limits or TimeLimits()
        http_client = httpx2.AsyncClient(
            timeout=limits.call, follow_redirects=False, event_hooks={"response": [_bound]}
        )
        # Local servers want no key, but the client insists on one.
        client = AsyncOpenAI(
            base_url=base_url or None, api_key=api_key or "none", timeout=limits.call, max_retries=0,
            http_client=http_client,
        )  # fmt: skip
        return cls(client, model, limits, prices or Prices(), thinking or Thinking())

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.close()

    async def stream(self, request: Request, usage: Usage, deadline: float) -> AsyncGenerator[str, None]:
        """The reply's text without its thoughts, piece by piece, until `deadline` (event-loop time); fills `usage`.
        Raises `ModelFailed` unless it ends well; close the iterator to stop the model."""
        clock, spoken, finish, thoughts = CallClock(self.limits, deadline), 0, None, Thoughts()
        most = (request.max_tokens + self.thinking.tokens) * _CHARS_PER_TOKEN
        blank: str | None = ""
        usage.prompt_tokens = request.estimated_prompt_tokens
        async with self._opened(request, clock) as chunks:
            while (chunk := await clock.next(chunks, ended=finish is not None)) is not None:
                _count(chunk, usage)
                text, thought, reason = ("", 0, None) if finish else _read(chunk)
                finish = finish or reason
                if not text and not thought:
                    continue
                clock.heard()  # who thinks aloud is alive
                spoken += len(text) + thought
                if not usage.is_reported:
                    usage.completion_tokens = math.ceil(spoken / BYTES_PER_TOKEN)
                if spoken > most:
                    raise ModelFailed(CallOutcome.FLOOD)
                text = thoughts.without(text)
                if blank is not None:
                    # Nothing was said yet: white space alone is no beginning of an answer.
                    text, blank = (blank + text, None) if clean(text).strip() else ("", blank + text)
                if text:
                    yield text
        _demand_success(finish, is_blank=blank is not None)

    @asynccontextmanager
    async def _opened(self, request: Request, clock: CallClock) -> AsyncIterator[AsyncIterator[ChatCompletionChunk]]:
        """The chunks of a reply; every way the client fails becomes a `ModelFailed`."""
        options = self.abilities.options(request, self.thinking)
        stream: AsyncStream[ChatCompletionChunk] | None = None
        try:
            messages: Any = list(request.messages)
            asked = self.client.chat.completions.create(model=self.model, messages=messages, stream=True, **options)
            stream = opened = await clock.within(asked)
            yield opened.__aiter__()
        except APIStatusError as error:
            raise self._rejected(error, options) from error
        except APIConnectionError as error:
            raise ModelFailed(CallOutcome.UNREACHABLE if stream is None else CallOutcome.CUT) from error
        except APIError as error:
            raise ModelFailed(CallOutcome.PROVIDER_ERROR) from error
        except (OpenAIError, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            # The client reads events loosely and stumbles over what is none: bad JSON, bytes that are no text.
            raise ModelFailed(CallOutcome.BROKEN) from error
        finally:
            if stream is not None:
                await stream.close()

    def _rejected(self, error: APIStatusError, sent: Mapping[str, Any]) -> ModelFailed:
        complaint = f"{error.code} {error.message} {error.body}"
        if any(word in complaint for word in _HOPELESS):
            return ModelFailed(CallOutcome.REJECTED)
        if error.status_code in _REFUSED_FORM and self.abilities.learn(complaint, sent):
            return ModelFailed(CallOutcome.REJECTED, learnt=True)
        wait = seconds_of(error.response.headers.get("retry-after"))
        if error.status_code == 429:
            return ModelFailed(CallOutcome.RATE_LIMITED, retry_after_seconds=wait)
        if error.status_code in (408, 425) or error.status_code >= 500:
            return ModelFailed(CallOutcome.PROVIDER_ERROR, retry_after_seconds=wait)
        return ModelFailed(CallOutcome.REJECTED)


def _count(chunk: ChatCompletionChunk, usage: Usage) -> None:
    told = getattr(chunk, "usage", None)
    prompt, completion = getattr(told, "prompt_tokens", None), getattr(told, "completion_tokens", None)
    if isinstance(prompt, int) and isinstance(completion, int) and prompt >= 0 and completion >= 0:
        usage.prompt_tokens, usage.completion_tokens, usage.is_reported = prompt, completion, True


class Thoughts:
    """Takes what a model thinks between ``<think>`` and ``</think>`` before its reply out of a stream."""

    def __init__(self) -> None:
        self._held: str | None = ""
        """What came while it may still be thinking; None once it speaks."""

    def without(self, text: str) -> str:
        """What of a piece belongs to the reply; a beginning that may become a tag is held."""
        if self._held is None:
            return text
        self._held += text
        start = self._held.lstrip()
        if not start.startswith(_OPENED) and not _OPENED.startswith(start):
            said, self._held = self._held, None
            return said
        _, closed, said = start.partition(_CLOSED)
        self._held = None if closed else self._held
        return said


_OPENED, _CLOSED = "<think>", "</think>"
_THOUGHTS = ("reasoning_content", "reasoning")
"""Names that endpoints give to what a model thinks."""


def _read(chunk: ChatCompletionChunk) -> tuple[str, int, str | None]:
    """Text, length of what was thought, and finish reason of a chunk. Only the first choice counts: one was asked
    for."""
    choice = next((one for one in chunk.choices or () if not one.index), None)
    if choice is None:
        return "", 0, None
    delta: Any = choice.delta
    if getattr(delta, "refusal", None):
        raise ModelFailed(CallOutcome.REFUSAL)
    if getattr(delta, "tool_calls", None) or getattr(delta, "function_call", None):
        raise ModelFailed(CallOutcome.TOOL_CALLS)
    text = getattr(delta, "content", None)
    if text is not None and not isinstance(text, str):
        raise ModelFailed(CallOutcome.BROKEN)
    thought = next((one for name in _THOUGHTS if isinstance(one := getattr(delta, name, None), str)), "")
    return text or "", len(thought), choice.finish_reason


_ENDS = {
    "length": CallOutcome.LENGTH, "content_filter": CallOutcome.CONTENT_FILTER, "tool_calls": CallOutcome.TOOL_CALLS,
    "function_call": CallOutcome.TOOL_CALLS, None: CallOutcome.CUT,
}  # fmt: skip
"""What a finish reason other than ``stop`` means; any other is no protocol."""


def _demand_success(finish: str | None, *, is_blank: bool) -> None:
    if finish != "stop":
        raise ModelFailed(_ENDS.get(finish, CallOutcome.BROKEN))
    if is_blank:
        raise ModelFailed(CallOutcome.EMPTY)
