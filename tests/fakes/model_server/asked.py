"""What a client asked for: the parsed body of one call, and the questions a mind puts to it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


def count_tokens(text: str) -> int:
    """Tokens of `text` as this server counts them: about three bytes each, never none."""
    return len(text.encode("utf-8", "replace")) // 3 + 1


@dataclass(frozen=True)
class Asked:
    """One call as it arrived."""

    body: Json
    headers: dict[str, str]
    """Names in lower case."""
    arrived_at: float
    """`time.monotonic()` when the body had been read."""
    path: str = "/v1/chat/completions"

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def include_usage(self) -> bool:
        return bool((self.body.get("stream_options") or {}).get("include_usage"))

    @property
    def response_format(self) -> str:
        """``text``, ``json_object`` or ``json_schema``."""
        return str((self.body.get("response_format") or {}).get("type", "text"))

    @property
    def max_tokens(self) -> int | None:
        limit = self.body.get("max_completion_tokens") or self.body.get("max_tokens")
        return int(limit) if limit else None

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of every message, in order."""
        return [(str(message.get("role")), _text_of(message.get("content"))) for message in self.body["messages"]]

    @property
    def text(self) -> str:
        """All the model was given to read."""
        return "\n".join(text for _, text in self.messages)

    @property
    def system(self) -> str:
        """What the service told the model before anyone else spoke."""
        return "\n".join(text for role, text in self.messages if role in ("system", "developer"))

    @property
    def prompt_tokens(self) -> int:
        return sum(count_tokens(text) for _, text in self.messages)

    @property
    def schema(self) -> Json | None:
        """The JSON schema to keep: from `response_format`, or else the last one written out in a message."""
        given = (self.body.get("response_format") or {}).get("json_schema")
        if given:
            return dict(given.get("schema") or {})
        return next(_schemas_in(self.text), None)

    @property
    def wants_json(self) -> bool:
        return self.response_format != "text" or self.schema is not None


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""


def _schemas_in(text: str) -> Iterator[Json]:
    decoder = json.JSONDecoder()
    start = 0
    while (start := text.find("{", start)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            start += 1
            continue
        if isinstance(value, dict) and ("properties" in value or "$ref" in value):
            yield value
        start = end
