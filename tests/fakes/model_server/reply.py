"""What a mind answers, before the wire and its faults get hold of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.model_server.asked import Asked, Json, count_tokens
from tests.fakes.model_server.faults import Fault


@dataclass(frozen=True)
class ToolCall:
    """One function the model wants called."""

    name: str
    arguments: str = "{}"
    """JSON, as the wire carries it."""


@dataclass(frozen=True)
class Reply:
    """One answer of the model."""

    content: str | None = ""
    finish_reason: str | None = "stop"
    """None is never sent."""
    refusal: str | None = None
    thinking: Sequence[str] = ()
    """Thoughts that are streamed before the text, in ``reasoning_content``."""
    tool_calls: tuple[ToolCall, ...] = ()
    pieces: Sequence[str] | None = None
    """How the text is cut into deltas; None cuts every `piece_chars` characters."""
    piece_chars: int = 12
    wire_bytes: int | None = None
    """Cut a stream's bytes anew every so many, through characters and lines; None leaves one event a write."""
    wait_seconds: float = 0.0
    """Before the first byte of the answer."""
    first_token_seconds: float = 0.0
    """Between the opening of a stream and its first delta."""
    between_seconds: float = 0.0
    """Between two deltas."""
    usage: Json | None = None
    """None counts: see `count_tokens`."""
    keeps_limit: bool = True
    """Stop at the `max_tokens` of the call, with finish reason ``length``."""
    status: int = 200
    """Anything else is answered as an error with `content` as its message."""
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None
    fault_seconds: float | None = None
    """The fault's own time: its ``Retry-After`` or the pause between two drops; None takes the fault's usual one."""

    @classmethod
    def json(cls, value: Any, **rest: Any) -> "Reply":
        """Answer with `value` written as JSON."""
        return cls(content=json.dumps(value, ensure_ascii=False), **rest)

    @property
    def pause(self) -> float:
        """Seconds between two drops of a slow answer."""
        return 0.05 if self.fault_seconds is None else self.fault_seconds

    def deltas(self) -> list[str]:
        """The text in the pieces it is streamed in."""
        if self.pieces is not None:
            return list(self.pieces)
        text = self.content or ""
        return [text[start : start + self.piece_chars] for start in range(0, len(text), self.piece_chars)]

    def within(self, limit: int | None) -> "Reply":
        """The reply as far as `limit` completion tokens reach."""
        if not (self.keeps_limit and limit and self.content and count_tokens(self.content) > limit):
            return self
        kept = self.content.encode("utf-8", "replace")[: 3 * limit - 1].decode("utf-8", "ignore")
        return replace(self, content=kept, pieces=None, finish_reason="length")

    def counted(self, asked: Asked) -> Json:
        """The usage sent with the reply."""
        if self.usage is not None:
            return self.usage
        spoken = (self.content or "") + (self.refusal or "") + "".join(call.arguments for call in self.tool_calls)
        prompt, completion = asked.prompt_tokens, count_tokens(spoken)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
