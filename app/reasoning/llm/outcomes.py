"""How a call to a model may end. Only `DONE` is success, and only a finish reason of the provider makes it so."""

from enum import StrEnum


class CallOutcome(StrEnum):
    """The closed set; stored with each call and named in ``execution_metadata.degraded``."""

    DONE = "done"
    LENGTH = "length"
    """Stopped at the token limit: the text is cut."""
    CONTENT_FILTER = "content_filter"
    """Stopped by the provider."""
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
    """More text than was allowed."""
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

OUTAGES = frozenset({
    CallOutcome.CUT, CallOutcome.BROKEN, CallOutcome.PROVIDER_ERROR, CallOutcome.RATE_LIMITED, CallOutcome.REJECTED,
    CallOutcome.UNREACHABLE, CallOutcome.SLOW,
})  # fmt: skip
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
    def is_worth_another_try(self) -> bool:
        """Whether the same endpoint may do better at once or soon."""
        return self.learnt or self.outcome in TRANSIENT
