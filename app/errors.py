"""Errors by audience: the caller reads `AppError`, the reasoner reads `ToolRetry` and `ToolFailed`.

Anything else that is raised is a bug: logged once, answered as ``INTERNAL`` or ``task_failed``.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID


class ErrorCode(StrEnum):
    """The closed set of codes a caller may see; the strings are stable."""

    AGENT_EXECUTION_FAILED = "AGENT_EXECUTION_FAILED"
    """An agent could not do its part, after its tries and its alternative tool. What the others found is in
    ``partial_results``; ask again, and look at the agent's errors when it stays so."""
    TOOL_TIMEOUT = "TOOL_TIMEOUT"
    """A tool did not answer within the step's time. Ask again; give the agent more time when it stays so."""
    TOOL_FAILED = "TOOL_FAILED"
    """A tool could not do what it was asked for. Its message says what is missing or wrong."""
    PLAN_INVALID = "PLAN_INVALID"
    """No plan for this question can be carried out with the agents and tools on offer."""
    VALIDATION_FAILED = "VALIDATION_FAILED"
    """What was asked is well formed and cannot be done as asked: a state, a day or a name does not fit."""
    RUN_DEADLINE_EXCEEDED = "RUN_DEADLINE_EXCEEDED"
    """The run took longer than its deadline. Narrow the question, or allow more time."""
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    """The run has used the tokens or calls of models it may use."""
    LLM_UNAVAILABLE = "LLM_UNAVAILABLE"
    """The language model cannot be reached or does not answer. Try again later."""
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    """PostgreSQL is away. Nothing was begun; try again after ``Retry-After``."""
    DATABASE_UNSAFE = "DATABASE_UNSAFE"
    """Row-level security would not bind the service's database role. It does not start; give it the app role."""
    PERMISSION_DENIED = "PERMISSION_DENIED"
    """You may not do this. Ask an administrator for the right that the message names."""
    UNAUTHENTICATED = "UNAUTHENTICATED"
    """The token is missing, expired, or not for this service. Sign in again."""
    NOT_FOUND = "NOT_FOUND"
    """There is nothing here that you may see; whether there is something for others is not told."""
    CONFLICT_IN_FLIGHT = "CONFLICT_IN_FLIGHT"
    """The same request, or one that excludes it, is still going on. Wait, or follow the run that is named."""
    IDEMPOTENCY_MISMATCH = "IDEMPOTENCY_MISMATCH"
    """This Idempotency-Key was used for another request. Take a new key for a new request."""
    PAYLOAD_INVALID = "PAYLOAD_INVALID"
    """The request cannot be read: a field is missing, unknown or of another form. The message names it."""
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    """The body, file or question is larger than the service takes. Make it smaller, or split it."""
    RATE_LIMITED = "RATE_LIMITED"
    """Too many requests at a time. Come back after ``Retry-After``."""
    OVERLOADED = "OVERLOADED"
    """The service has no room at the moment. Come back after ``Retry-After``."""
    DOCUMENT_REJECTED = "DOCUMENT_REJECTED"
    """The document was refused before it was read: its format, its fields, or what it is made of."""
    TASK_CANCELLED = "TASK_CANCELLED"
    """The task was stopped, by its asker or because nobody decided in time."""
    INTERNAL = "INTERNAL"
    """A mistake of ours; the log has it. Nothing else is affected."""


class AppError(Exception):
    """A refusal or failure the caller can act on; becomes problem+json with this code and HTTP status."""

    def __init__(
        self,
        code: ErrorCode,
        detail: str,
        *,
        status: int = 400,
        retry_after_seconds: int | None = None,
        task_id: UUID | None = None,
    ):
        super().__init__(detail)
        self.code = code
        self.detail = detail
        """One sentence for a person: what is wrong and what to do next; never document text."""
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.task_id = task_id
        """The run to follow, where one was begun all the same."""


class ToolRetry(Exception):
    """The tool may succeed if called again, with the same or mended arguments (a timeout, a lost connection)."""


class ToolFailed(Exception):
    """The tool cannot do this; trying again is useless, an alternative tool may help."""


class StaleAttempt(Exception):
    """A write came from an attempt that no longer holds the task's lease; it was refused and nothing changed."""


_SILENT_KINDS = ("uuid_parsing", "json_invalid", "date_", "datetime_", "timezone_", "int_parsing")
"""Validation messages that repeat a piece of what was sent; they are replaced."""


def describe_validation(errors: Sequence[Any]) -> str:
    """One sentence out of the framework's validation errors: which fields and what is wrong, never their values."""
    told = [f"{_path(error.get('loc', ()))}: {_message(error)}" for error in list(errors)[:5]]
    more = f" (and {len(errors) - 5} more)" if len(errors) > 5 else ""
    return "; ".join(told) + more


def _path(loc: Sequence[Any]) -> str:
    return ".".join(_printable(part) for part in loc[:6]) or "body"


def _printable(part: Any) -> str:
    """A part of a field's path: names are the caller's own words, so only short plain ones are repeated."""
    text = str(part)
    return text if len(text) <= 40 and text.isascii() and text.isprintable() else "…"


def _message(error: Mapping[str, Any]) -> str:
    kind = str(error.get("type", ""))
    return "is not valid" if kind.startswith(_SILENT_KINDS) else str(error.get("msg", "is not valid"))[:200]
