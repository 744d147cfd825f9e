"""One request to one OpenAI-compatible endpoint, always streamed: first word, pauses and length are all bounded.

What an endpoint cannot do (JSON schema, JSON mode, usage in streams, `max_completion_tokens`, a temperature) is learnt
from the request it rejects and remembered for the process.
"""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    AsyncOpenAI,
    AsyncStream,
    OpenAIError,
    RateLimitError,
)
from openai.types.chat import ChatCompletionChunk

from app.domain.tokens import BYTES_PER_TOKEN
from app.reasoning.llm.outcomes import CallOutcome, ModelFailed
from app.reasoning.llm.retry_after import seconds_of

SchemaMode = Literal["json_schema", "json_object", "text"]
_CHARS_PER_TOKEN = 12
"""Text longer than this for every allowed token did not come from a tokenizer."""


_COUNTS_WAIT_SECONDS = 0.5


@dataclass(frozen=True)
class TimeLimits:
    """Seconds."""

    first_token: float = 20.0
    between_tokens: float = 10.0
    call: float = 60.0


@dataclass(frozen=True)
class Prices:
    """Per million tokens, in the operator's currency."""

    prompt: float = 0.0
    completion: float = 0.0

    def micros(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Millionths of the currency."""
        return round(prompt_tokens * self.prompt + completion_tokens * self.completion)


@dataclass(frozen=True)
class Request:
    """What is asked, without how."""

    messages: Sequence[Mapping[str, str]]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    """JSON schema of the reply; None = free text."""
    schema_name: str = "reply"

    @property
    def estimated_prompt_tokens(self) -> int:
        """From the bytes; tokens are told only after the work."""
        said = sum(len(message["content"].encode()) + 16 for message in self.messages)
        return math.ceil((said + len(json.dumps(self.schema)) if self.schema else said) / BYTES_PER_TOKEN)


@dataclass
class Usage:
    """Tokens as the provider counted them; estimated where it does not."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_reported: bool = False


@dataclass
class Abilities:
    """What the endpoint was found to take."""

    schema: SchemaMode = "json_schema"
    stream_usage: bool = True
    temperature: bool = True
    length_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    def learn(self, complaint: str, had_schema: bool) -> bool:
        """Do without what a rejected request complained about; False when there is nothing to do without."""
        if "stream_options" in complaint and self.stream_usage:
            self.stream_usage = False
        elif "max_completion_tokens" in complaint and self.length_name == "max_tokens":
            self.length_name = "max_completion_tokens"
        elif "temperature" in complaint and self.temperature:
            self.temperature = False
        elif had_schema and self.schema != "text":
            self.schema = "json_object" if self.schema == "json_schema" else "text"
        else:
            return False
        return True


@dataclass
class Endpoint:
    """A model behind an address. Every method does I/O."""

    client: AsyncOpenAI
    model: str
    limits: TimeLimits = field(default_factory=TimeLimits)
    prices: Prices = field(default_factory=Prices)
    abilities: Abilities = field(default_factory=Abilities)

    @classmethod
    def at(
        cls, base_url: str, model: str, *, api_key: str = "", limits: TimeLimits | None = None,
        prices: Prices | None = None,
    ) -> "Endpoint":  # fmt: skip
        """An endpoint by its address; empty = OpenAI's own. Nothing is sent yet."""
        limits = limits or TimeLimits()
        # One layer retries, and it is not the client. Local servers want no key, but the client insists on one.
        client = AsyncOpenAI(base_url=base_url or None, api_key=api_key or "none", timeout=limits.call, max_retries=0)
        return cls(client, model, limits, prices or Prices())

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.close()

    async def stream(self, request: Request, usage: Usage, deadline: float) -> AsyncGenerator[str, None]:
        """The reply's text, piece by piece; ends only after a finish reason of success.

        `usage` is filled on the way. `deadline` is event-loop time. Raises `ModelFailed`; close the iterator to stop
        the model (its connection is closed at once).
        """
        clock = _Clock(self.limits, deadline)
        spoken = 0
        finish: str | None = None
        usage.prompt_tokens = request.estimated_prompt_tokens
        async with self._opened(request, clock) as chunks:
            while (chunk := await clock.next(chunks, ended=finish is not None)) is not None:
                _count(chunk, usage)
                text, reason = _read(chunk)
                finish = reason or finish
                if not text:
                    continue
                clock.heard()
                spoken += len(text)
                if not usage.is_reported:
                    usage.completion_tokens = math.ceil(spoken / BYTES_PER_TOKEN)
                if spoken > request.max_tokens * _CHARS_PER_TOKEN:
                    raise ModelFailed(CallOutcome.FLOOD)
                yield text
        _demand_success(finish, spoken)

    @asynccontextmanager
    async def _opened(self, request: Request, clock: "_Clock") -> AsyncIterator[AsyncIterator[ChatCompletionChunk]]:
        stream: AsyncStream[ChatCompletionChunk] | None = None
        try:
            stream = await clock.within(self.client.chat.completions.create(**self._wire(request)))
            yield stream.__aiter__()
        except ModelFailed:
            raise
        except APIStatusError as error:
            raise self._rejected(error, request) from error
        except APIConnectionError as error:
            outcome = CallOutcome.UNREACHABLE if stream is None else CallOutcome.CUT
            raise ModelFailed(outcome) from error
        except APIError as error:
            raise ModelFailed(CallOutcome.PROVIDER_ERROR) from error
        except (OpenAIError, ValueError, TypeError, AttributeError, LookupError) as error:
            # The client reads events loosely and stumbles over what is none: bad JSON, bytes that are no text.
            raise ModelFailed(CallOutcome.BROKEN) from error
        finally:
            if stream is not None:
                await stream.close()

    def _wire(self, request: Request) -> dict[str, Any]:
        can = self.abilities
        wire: dict[str, Any] = {
            "model": self.model, "messages": list(request.messages), "stream": True,
            can.length_name: request.max_tokens,
        }  # fmt: skip
        if can.stream_usage:
            wire["stream_options"] = {"include_usage": True}
        if can.temperature:
            wire["temperature"] = 0
        if request.schema is not None and can.schema == "json_schema":
            named = {"name": request.schema_name, "schema": request.schema, "strict": True}
            wire["response_format"] = {"type": "json_schema", "json_schema": named}
        elif request.schema is not None and can.schema == "json_object":
            wire["response_format"] = {"type": "json_object"}
        return wire

    def _rejected(self, error: APIStatusError, request: Request) -> ModelFailed:
        if isinstance(error, RateLimitError) or error.status_code == 503:
            wait = seconds_of(error.response.headers.get("retry-after"))
            limited = isinstance(error, RateLimitError)
            return ModelFailed(
                CallOutcome.RATE_LIMITED if limited else CallOutcome.PROVIDER_ERROR, retry_after_seconds=wait
            )
        if error.status_code in (400, 415, 422, 501) and self.abilities.learn(
            str(error.body or error.message), request.schema is not None
        ):
            return ModelFailed(CallOutcome.REJECTED, learnt=True)
        if error.status_code in (408, 425) or error.status_code >= 500:
            return ModelFailed(CallOutcome.PROVIDER_ERROR)
        return ModelFailed(CallOutcome.REJECTED)


class _Clock:
    """Which limit holds for the next wait."""

    def __init__(self, limits: TimeLimits, deadline: float):
        self._limits, self._deadline = limits, deadline
        now = asyncio.get_running_loop().time()
        self._call_ends = now + limits.call
        self._next_due = now + limits.first_token

    def heard(self) -> None:
        """Text came."""
        self._next_due = asyncio.get_running_loop().time() + self._limits.between_tokens

    async def within(self, waiting: Any) -> Any:
        """Await something under all limits."""
        until = min(self._next_due, self._call_ends, self._deadline)
        try:
            async with asyncio.timeout_at(until) as limit:
                return await waiting
        except TimeoutError as late:
            if not limit.expired():
                raise ModelFailed(CallOutcome.SLOW) from late
            outcome = CallOutcome.DEADLINE if until == self._deadline else CallOutcome.SLOW
            raise ModelFailed(outcome) from late

    async def next(self, chunks: AsyncIterator[ChatCompletionChunk], *, ended: bool) -> ChatCompletionChunk | None:
        """The next chunk; None at the end. After the finish reason only the token counts are waited for, shortly."""
        if not ended:
            chunk: ChatCompletionChunk | None = await self.within(anext(chunks, None))
            return chunk
        try:
            async with asyncio.timeout(_COUNTS_WAIT_SECONDS):
                return await anext(chunks, None)
        except (TimeoutError, OpenAIError, ValueError):
            return None


def _count(chunk: ChatCompletionChunk, usage: Usage) -> None:
    told = getattr(chunk, "usage", None)
    prompt, completion = getattr(told, "prompt_tokens", None), getattr(told, "completion_tokens", None)
    if isinstance(prompt, int) and isinstance(completion, int) and prompt >= 0 and completion >= 0:
        usage.prompt_tokens, usage.completion_tokens, usage.is_reported = prompt, completion, True


def _read(chunk: ChatCompletionChunk) -> tuple[str, str | None]:
    """Text and finish reason of a chunk. Only the first choice counts: one was asked for."""
    choice = next((one for one in chunk.choices or () if not one.index), None)
    if choice is None:
        return "", None
    delta = choice.delta
    if delta is not None and getattr(delta, "refusal", None):
        raise ModelFailed(CallOutcome.REFUSAL)
    if delta is not None and (getattr(delta, "tool_calls", None) or getattr(delta, "function_call", None)):
        raise ModelFailed(CallOutcome.TOOL_CALLS)
    text = delta.content if delta is not None else None
    if text is not None and not isinstance(text, str):
        raise ModelFailed(CallOutcome.BROKEN)
    return text or "", choice.finish_reason


def _demand_success(finish: str | None, spoken: int) -> None:
    match finish:
        case "stop":
            if not spoken:
                raise ModelFailed(CallOutcome.EMPTY)
        case "length":
            raise ModelFailed(CallOutcome.LENGTH)
        case "content_filter":
            raise ModelFailed(CallOutcome.CONTENT_FILTER)
        case "tool_calls" | "function_call":
            raise ModelFailed(CallOutcome.TOOL_CALLS)
        case None:
            raise ModelFailed(CallOutcome.CUT)
        case _:
            raise ModelFailed(CallOutcome.BROKEN)
