"""Faults that answer with an error status instead of a completion."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate

from tests.fakes.model_server.asked import Asked
from tests.fakes.model_server.faults import Fault
from tests.fakes.model_server.reply import Reply

DAY_SECONDS = 86_400
ELSEWHERE = "/elsewhere/v1/chat/completions"


@dataclass(frozen=True)
class Refusal:
    """A whole answer with an error status."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def error_body(message: str, kind: str = "server_error", code: str | None = None, param: str | None = None) -> bytes:
    """An error as the wire format writes it."""
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}}).encode()


def refused(asked: Asked, reply: Reply) -> Refusal | None:
    """The error that `reply` stands for, if it stands for one."""
    if reply.status != 200:
        kind = "server_error" if reply.status >= 500 else "invalid_request_error"
        return Refusal(reply.status, error_body(reply.content or "no", kind), reply.headers)
    if reply.fault in _REFUSALS:
        return _REFUSALS[reply.fault](reply.fault_seconds)
    if reply.fault in REJECTED and REJECTED[reply.fault](asked):
        return _bad_request(f"{reply.fault.removeprefix('rejects_')} is not supported", "unsupported_parameter")
    return None


def _limited(retry_after: str | None, code: str = "rate_limit_exceeded") -> Refusal:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Refusal(429, error_body("too many requests", "requests", code), headers)


def _bad_request(message: str, code: str) -> Refusal:
    return Refusal(400, error_body(message, "invalid_request_error", code))


def _seconds(given: float | None, usual: float) -> str:
    return f"{usual if given is None else given:g}"


def _overloaded(seconds: float | None) -> Refusal:
    headers = {} if seconds is None else {"retry-after": f"{seconds:g}"}
    return Refusal(503, error_body("overloaded"), headers)


def _until(seconds: float | None) -> Refusal:
    return _limited(formatdate(time.time() + (2.0 if seconds is None else seconds), usegmt=True))


_REFUSALS: dict[Fault, Callable[[float | None], Refusal]] = {
    Fault.RATE_LIMITED: lambda seconds: _limited(_seconds(seconds, 1.0)),
    Fault.RATE_LIMITED_UNTIL_DATE: _until,
    Fault.RATE_LIMITED_FOR_A_DAY: lambda seconds: _limited(_seconds(seconds, DAY_SECONDS)),
    Fault.RATE_LIMITED_GARBAGE: lambda _: _limited("soon; -1e400"),
    Fault.RATE_LIMITED_UNSAID: lambda _: _limited(None),
    Fault.QUOTA_EXHAUSTED: lambda _: _limited(None, "insufficient_quota"),
    Fault.SERVER_ERROR: lambda _: Refusal(500, error_body("the model fell over")),
    Fault.BAD_GATEWAY: lambda _: Refusal(
        502, b"<html><body><h1>502 Bad Gateway</h1></body></html>", {"content-type": "text/html"}
    ),
    Fault.OVERLOADED: _overloaded,
    Fault.UNAUTHORIZED: lambda _: Refusal(401, error_body("no such key", "invalid_request_error", "invalid_api_key")),
    Fault.MODEL_UNKNOWN: lambda _: Refusal(
        404, error_body("no such model", "invalid_request_error", "model_not_found", "model")
    ),
    Fault.CONTEXT_TOO_LONG: lambda _: _bad_request("the prompt is too long", "context_length_exceeded"),
    Fault.REDIRECTED: lambda _: Refusal(307, b"", {"location": ELSEWHERE}),
}

REJECTED: dict[Fault, Callable[[Asked], bool]] = {
    Fault.REJECTS_JSON_SCHEMA: lambda asked: asked.response_format == "json_schema",
    Fault.REJECTS_JSON_OBJECT: lambda asked: asked.response_format == "json_object",
    Fault.REJECTS_STREAM_OPTIONS: lambda asked: bool(asked.body.get("stream_options")),
}
