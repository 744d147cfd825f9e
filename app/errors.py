"""Errors by audience: the caller reads `AppError`, the reasoner reads `ToolRetry` and `ToolFailed`.

Anything else that is raised is a bug: logged once, answered as ``INTERNAL`` or ``task_failed``.
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    """The closed set of codes a caller may see; the strings are stable."""

    AGENT_EXECUTION_FAILED = "AGENT_EXECUTION_FAILED"
    TOOL_TIMEOUT = "TOOL_TIMEOUT"
    TOOL_FAILED = "TOOL_FAILED"
    PLAN_INVALID = "PLAN_INVALID"
    VALIDATION_FAILED = "VALIDATION_FAILED"
    RUN_DEADLINE_EXCEEDED = "RUN_DEADLINE_EXCEEDED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    LLM_UNAVAILABLE = "LLM_UNAVAILABLE"
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT_IN_FLIGHT = "CONFLICT_IN_FLIGHT"
    IDEMPOTENCY_MISMATCH = "IDEMPOTENCY_MISMATCH"
    PAYLOAD_INVALID = "PAYLOAD_INVALID"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    RATE_LIMITED = "RATE_LIMITED"
    OVERLOADED = "OVERLOADED"
    DOCUMENT_REJECTED = "DOCUMENT_REJECTED"
    TASK_CANCELLED = "TASK_CANCELLED"
    INTERNAL = "INTERNAL"


class AppError(Exception):
    """A refusal or failure the caller can act on; becomes problem+json with this code and HTTP status."""

    def __init__(self, code: ErrorCode, detail: str, *, status: int = 400, retry_after_seconds: int | None = None):
        super().__init__(detail)
        self.code = code
        self.detail = detail
        """One sentence for a person: what is wrong and what to do next; never document text."""
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class ToolRetry(Exception):
    """The tool may succeed if called again, with the same or mended arguments (a timeout, a lost connection)."""


class ToolFailed(Exception):
    """The tool cannot do this; trying again is useless, an alternative tool may help."""


class StaleAttempt(Exception):
    """A write came from an attempt that no longer holds the task's lease; it was refused and nothing changed."""
