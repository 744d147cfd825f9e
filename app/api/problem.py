"""Errors as problem+json (RFC 9457): a stable code, a sentence for a person, and never what the caller sent.

Every HTTP refusal goes through `problem`, those of the framework (unknown route, wrong method, malformed
body) included, so a client has one shape to read.
"""

import json
import math
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.errors import AppError, ErrorCode, describe_validation

MEDIA_TYPE = "application/problem+json"
_TITLES = {
    ErrorCode.AGENT_EXECUTION_FAILED: "An agent could not finish",
    ErrorCode.TOOL_TIMEOUT: "A tool took too long",
    ErrorCode.TOOL_FAILED: "A tool failed",
    ErrorCode.PLAN_INVALID: "The plan cannot be carried out",
    ErrorCode.VALIDATION_FAILED: "The request cannot be carried out as asked",
    ErrorCode.RUN_DEADLINE_EXCEEDED: "The run took too long",
    ErrorCode.BUDGET_EXHAUSTED: "The run's budget is used up",
    ErrorCode.LLM_UNAVAILABLE: "The language model cannot be reached",
    ErrorCode.DATABASE_UNAVAILABLE: "The database cannot be reached",
    ErrorCode.DATABASE_UNSAFE: "The database would not keep companies apart",
    ErrorCode.PERMISSION_DENIED: "Not allowed",
    ErrorCode.UNAUTHENTICATED: "Not signed in",
    ErrorCode.NOT_FOUND: "Not found",
    ErrorCode.CONFLICT_IN_FLIGHT: "The same request is still running",
    ErrorCode.IDEMPOTENCY_MISMATCH: "The key was used for another request",
    ErrorCode.PAYLOAD_INVALID: "The request is not well formed",
    ErrorCode.PAYLOAD_TOO_LARGE: "The request is too large",
    ErrorCode.RATE_LIMITED: "Too many requests",
    ErrorCode.OVERLOADED: "Too busy",
    ErrorCode.DOCUMENT_REJECTED: "The document was refused",
    ErrorCode.TASK_CANCELLED: "The task was stopped",
    ErrorCode.INTERNAL: "Something went wrong on our side",
}
_CODES_BY_STATUS = {
    400: ErrorCode.PAYLOAD_INVALID,
    401: ErrorCode.UNAUTHENTICATED,
    403: ErrorCode.PERMISSION_DENIED,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.NOT_FOUND,
    413: ErrorCode.PAYLOAD_TOO_LARGE,
}
_log = structlog.get_logger(__name__)


def problem(
    code: ErrorCode,
    detail: str,
    status: int,
    *,
    task_id: UUID | str | None = None,
    retry_after_seconds: float | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The response of a refusal. `detail` is one sentence for a person; 429 and 503 always say when to try again."""
    content: dict[str, Any] = {
        "type": f"urn:conclave:problem:{code.value.lower().replace('_', '-')}",
        "title": _TITLES[code],
        "status": status,
        "code": code.value,
        "detail": detail,
    }
    if task_id is not None:
        content["task_id"] = str(task_id)
    sent = dict(headers or {})
    if status in (429, 503) or retry_after_seconds is not None:
        sent["Retry-After"] = str(max(1, math.ceil(retry_after_seconds or 1)))
    if status == 401:
        sent["WWW-Authenticate"] = 'Bearer realm="conclave"'
    return Response(json.dumps(content), status_code=status, headers=sent, media_type=MEDIA_TYPE)


def problem_of(error: AppError) -> Response:
    """The response of an `AppError`."""
    return problem(
        error.code, error.detail, error.status, task_id=error.task_id, retry_after_seconds=error.retry_after_seconds
    )


def install_problem_handlers(app: FastAPI) -> None:
    """Answer every error of the application with a problem; `RequestMiddleware` catches unknown errors."""
    app.add_exception_handler(AppError, _on_app_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, answer_http_exception)


async def _on_app_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)
    if error.status >= 500:
        _log.warning("request_failed", code=error.code.value, status=error.status)
    return problem_of(error)


async def _on_invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem(ErrorCode.PAYLOAD_INVALID, describe_validation(error.errors()), 422)


async def answer_http_exception(_request: Request, error: Exception) -> Response:
    """The problem of what the framework refuses."""
    assert isinstance(error, HTTPException)
    code = _CODES_BY_STATUS.get(error.status_code, ErrorCode.INTERNAL)
    if code is ErrorCode.PAYLOAD_INVALID:
        return problem(code, "The body could not be read as JSON.", 422)
    details = {404: "There is nothing at this address.", 405: "This address does not answer this method."}
    detail = details.get(error.status_code, _TITLES[code] + ".")
    return problem(code, detail, error.status_code, headers=error.headers)
