"""What is asked of a model, what it takes, and how a call may end, apart from any endpoint. Only `DONE` is success."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from app.text.language import estimated_tokens

SchemaMode = Literal["json_schema", "json_object", "text"]
_MESSAGE_TOKENS = 6
_ABOUT_SCHEMAS = ("response_format", "schema", "json", "grammar", "guided", "structured")


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
        """Before the provider tells."""
        said = sum(estimated_tokens(message["content"]) + _MESSAGE_TOKENS for message in self.messages)
        return said + (estimated_tokens(json.dumps(self.schema)) if self.schema else 0)


@dataclass
class Usage:
    """Tokens as the provider counted them; estimated where it does not."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_reported: bool = False


@dataclass(frozen=True)
class Prices:
    """Per million tokens, in the operator's currency."""

    prompt: float = 0.0
    completion: float = 0.0

    def micros(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Millionths of the currency."""
        return round(prompt_tokens * self.prompt + completion_tokens * self.completion)


@dataclass(frozen=True)
class Thinking:
    """How a model that thinks before it answers is asked."""

    tokens: int = 0
    """Room for thoughts beside that of the reply; 0 = it does not think."""
    effort: str = ""
    """``reasoning_effort``, where it is not the model's own."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the body, by the operator."""


@dataclass
class Abilities:
    """What an endpoint was found to take; learnt from the requests it rejects, for as long as the process lives."""

    schema: SchemaMode = "json_schema"
    stream_usage: bool = True
    temperature: bool = True
    length_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    effort: bool = True

    def options(self, request: Request, thinking: Thinking = Thinking()) -> dict[str, Any]:
        """The fields of a request beside model and messages."""
        options: dict[str, Any] = {self.length_name: request.max_tokens + thinking.tokens}
        if thinking.effort and self.effort:
            options["reasoning_effort"] = thinking.effort
        if thinking.extra:
            options["extra_body"] = dict(thinking.extra)
        if self.stream_usage:
            options["stream_options"] = {"include_usage": True}
        if self.temperature:
            options["temperature"] = 0
        if request.schema is not None and self.schema == "json_schema":
            named = {"name": request.schema_name, "schema": request.schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        elif request.schema is not None and self.schema == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options

    def learn(self, complaint: str, sent: Mapping[str, Any]) -> bool:
        """Do without what a rejected request (its `options`) complained about; False when it was something else."""
        complaint = complaint.lower()
        if "stream_options" in complaint and "stream_options" in sent:
            self.stream_usage = False
        elif "max_completion_tokens" in complaint and "max_tokens" in sent:
            self.length_name = "max_completion_tokens"
        elif "temperature" in complaint and "temperature" in sent:
            self.temperature = False
        elif "reasoning_effort" in complaint and "reasoning_effort" in sent:
            self.effort = False
        elif "response_format" in sent and any(word in complaint for word in _ABOUT_SCHEMAS):
            if (refused := sent["response_format"]["type"]) == self.schema:  # nobody else has learnt it meanwhile
                self.schema = "json_object" if refused == "json_schema" else "text"
        else:
            return False
        return True


class CallOutcome(StrEnum):
    """The closed set; stored with each call and named in ``execution_metadata.degraded``."""

    DONE = "done"
    LENGTH = "length"
    """Stopped at the token limit: the text is cut."""
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    """The model declined. Nobody else is asked to get around it."""
    EMPTY = "empty"
    CUT = "cut"
    """The stream ended without a finish reason."""
    BROKEN = "broken"
    """What came is not the protocol: no events, no JSON, no text."""
    PROVIDER_ERROR = "provider_error"
    """An error inside a stream that began well, or a 5xx status."""
    RATE_LIMITED = "rate_limited"
    REJECTED = "rejected"
    """A 4xx status: key, model name or request."""
    UNREACHABLE = "unreachable"
    SLOW = "slow"
    """No first token, or a pause between two, for too long; or the call as a whole."""
    DEADLINE = "deadline"
    """The run's own time is over."""
    FLOOD = "flood"
    TOOL_CALLS = "tool_calls"
    """It called tools; none are ever offered."""
    MALFORMED = "malformed"
    """The reply is not what was asked for, also after its errors were shown to it."""
    BUDGET = "budget"
    CIRCUIT_OPEN = "circuit_open"
    """The endpoint failed so often that it is left alone for a while."""
    CANCELLED = "cancelled"


TRANSIENT = frozenset({
    CallOutcome.EMPTY, CallOutcome.CUT, CallOutcome.BROKEN, CallOutcome.PROVIDER_ERROR, CallOutcome.RATE_LIMITED,
    CallOutcome.UNREACHABLE, CallOutcome.SLOW,
})  # fmt: skip
"""Another try of the same call may go better."""

OUTAGES = TRANSIENT - {CallOutcome.EMPTY} | {CallOutcome.REJECTED}
"""Speak against the endpoint rather than against the request."""

FINAL = frozenset({CallOutcome.REFUSAL, CallOutcome.DEADLINE, CallOutcome.BUDGET, CallOutcome.CANCELLED})
"""No other model is asked after these."""


class ModelFailed(Exception):
    """A call did not succeed. Carries no text of model, question or document."""

    def __init__(self, outcome: CallOutcome, *, retry_after_seconds: float | None = None, learnt: bool = False):
        """`learnt`: the endpoint is now known to want the request in another form."""
        super().__init__(outcome.value)
        self.outcome = outcome
        self.retry_after_seconds = retry_after_seconds
        self.learnt = learnt

    @property
    def is_refusal(self) -> bool:
        """Whether the model declined: nobody else is asked to get around it."""
        return self.outcome is CallOutcome.REFUSAL


@dataclass(frozen=True)
class TimeLimits:
    """Seconds a call may wait: for its first token, for the next one, and in all."""

    first_token: float = 20.0
    between_tokens: float = 10.0
    call: float = 60.0
