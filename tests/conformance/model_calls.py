"""Calls that tests make of the model servers, and what comes back of them."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

PASSAGES = "[1] Nhân viên có 12 ngày phép. Phép không cộng dồn.\n[2] Thử việc hưởng 85% lương. Xem phụ lục."
QUESTION = "Được nghỉ bao nhiêu ngày?"
ANSWER = "Nhân viên có 12 ngày phép. [1] Thử việc hưởng 85% lương. [2]"
MESSAGES: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Answer from the passages."},
    {"role": "user", "content": f"{PASSAGES}\n\n{QUESTION}"},
]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["chitchat", "task"]},
        "agents": {"type": "array", "items": {"enum": ["hr", "it", "finance"]}, "maxItems": 3},
        "query": {"type": "string", "maxLength": 80},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["kind", "agents", "query", "confidence"],
    "additionalProperties": False,
}
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "plan", "strict": True, "schema": SCHEMA}}
TEXT = {"model": "m", "messages": MESSAGES}
PATIENCE_SECONDS = 2.0


@dataclass
class Seen:
    """What the SDK gave back of one stream."""

    text: str = ""
    finish: str | None = None
    refusal: str = ""
    tools: list[str] = field(default_factory=list)
    usage: Any = None
    chunks: int = 0
    error: BaseException | None = None


async def stream(client: AsyncOpenAI, **body: Any) -> Seen:
    """One streamed call to its end, whatever the end is; text is read to 100,000 characters."""
    seen = Seen()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer: Any = await client.chat.completions.create(
                model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}, **body
            )
            async for chunk in answer:
                take(seen, chunk)
                if len(seen.text) > 100_000:
                    await answer.close()
                    break
    except (openai.OpenAIError, ValueError, TimeoutError) as error:
        seen.error = error
    return seen


def take(seen: Seen, chunk: Any) -> None:
    """Add one chunk to what was seen."""
    seen.chunks += 1
    seen.usage = chunk.usage or seen.usage
    for choice in chunk.choices:
        seen.text += choice.delta.content or ""
        seen.refusal += choice.delta.refusal or ""
        seen.finish = choice.finish_reason or seen.finish
        seen.tools += [call.function.name for call in choice.delta.tool_calls or ()]


def is_whole(seen: Seen, text: str) -> bool:
    """Whether the stream ended as it should, having said `text`."""
    return seen.error is None and seen.finish == "stop" and seen.text == text
