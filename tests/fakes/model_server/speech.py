"""A reply in the wire format: one body, or the events of a stream."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tests.fakes.model_server.asked import Asked, Json
from tests.fakes.model_server.reply import Reply, ToolCall

CREATED = 1_700_000_000
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Speech:
    """The events of one stream, in the groups that faults tell apart."""

    opening: Sequence[bytes]
    deltas: Sequence[bytes]
    finish: Sequence[bytes]
    usage: Sequence[bytes]
    done: Sequence[bytes] = (DONE,)

    @property
    def ending(self) -> list[bytes]:
        return [*self.finish, *self.usage, *self.done]

    @property
    def half(self) -> list[bytes]:
        """Half of the deltas, at least one where there is one."""
        return list(self.deltas[: (len(self.deltas) + 1) // 2])

    @property
    def events(self) -> list[bytes]:
        return list(chain(self.opening, self.deltas, self.ending))


def written(value: Any) -> bytes:
    """`value` as JSON bytes; half characters are escaped, all others written out."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def event(value: Any) -> bytes:
    """One event of a stream."""
    return b"data: " + written(value) + b"\n\n"


def delta_event(asked: Asked, delta: Json, finish_reason: str | None = None, index: int = 0) -> bytes:
    """One chunk of a completion."""
    return event(_chunk(asked, [{"index": index, "delta": delta, "finish_reason": finish_reason}]))


def speech(asked: Asked, reply: Reply) -> Speech:
    """`reply` as a stream."""
    deltas: list[Json] = [{"reasoning_content": thought} for thought in reply.thinking]
    deltas += [{"content": piece} for piece in reply.deltas()]
    if reply.refusal is not None:
        deltas.append({"refusal": reply.refusal})
    deltas += [{"tool_calls": [_tool_call(index, call)]} for index, call in enumerate(reply.tool_calls)]
    usage = [event({**_chunk(asked, []), "usage": reply.counted(asked)})] if asked.include_usage else []
    finish = [] if reply.finish_reason is None else [delta_event(asked, {}, reply.finish_reason)]
    opening = {"role": "assistant", "content": None if reply.content is None else ""}
    return Speech([delta_event(asked, opening)], [delta_event(asked, delta) for delta in deltas], finish, usage)


def body(asked: Asked, reply: Reply) -> Json:
    """`reply` as one completion."""
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": CREATED,
        "model": asked.body.get("model"),
        "choices": [choice(reply)],
        "usage": reply.counted(asked),
    }


def choice(reply: Reply, index: int = 0) -> Json:
    """One choice of a completion."""
    message: Json = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    if reply.tool_calls:
        message["tool_calls"] = [
            {key: value for key, value in _tool_call(number, call).items() if key != "index"}
            for number, call in enumerate(reply.tool_calls)
        ]
    return {"index": index, "message": message, "logprobs": None, "finish_reason": reply.finish_reason}


def _chunk(asked: Asked, choices: list[Json]) -> Json:
    chunk: Json = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": asked.body.get("model"),
        "choices": choices,
    }
    return {**chunk, "usage": None} if asked.include_usage else chunk


def _tool_call(index: int, call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"index": index, "id": f"call_{index}", "type": "function", "function": function}
