"""Handle every HTTP request before any route does: give it an id, check its token, limit its body.

Plain ASGI, so that streams are not buffered. Everything below the closed roots (`API_ROOT` and those of the protocol
faces) needs a token unless it is one of `OPEN_PATHS`: a new route cannot be left open by forgetting something.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problem import problem, problem_of
from app.domain.principal import Principal, Visit
from app.errors import AppError, ErrorCode
from app.telemetry import log_context

API_ROOT = "/api"
OPEN_PATHS = re.compile(r"/api/v1/auth/(dev|providers|local|link|[a-z0-9-]{1,32}/(start|callback))")
"""Paths below the closed roots that need no token."""
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
DOCUMENTS_PATH = "/api/v1/documents"
FILES_PATH = "/api/v1/files"
_STREAMED = {DOCUMENTS_PATH: "multipart/form-data", FILES_PATH: "multipart/form-data"}
"""Where large bodies go, and which kind of them is read as a stream."""
MAX_JSON_DEPTH = 32
_MAX_DOCUMENT_JSON_BYTES = 4 * 2**20
_FORM_BYTES = 65_536
"""What a form may weigh besides its file."""
_BODY_SECONDS = 30
_DRAINED_BYTES = 16 * 2**20
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_JSON_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_MISTAKE = "The service made a mistake; its log names this request's id."
_NUL = "The address must not contain NUL characters."
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class RequestMiddleware:
    """Gives the request an id and the security headers, logs and observes it, and turns unknown errors into a 500."""

    app: ASGIApp
    observe: Callable[[str, str, int | None, float], object] = lambda *_: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; other scopes (lifespan) pass."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-request-id", "")
        request_id = asked if _REQUEST_ID.fullmatch(asked) else uuid4().hex
        answer, started = _Answer(send, request_id), time.perf_counter()
        with log_context(request_id=request_id):
            try:
                if "\x00" in scope["path"] or b"\x00" in unquote_to_bytes(scope["query_string"]):
                    await _refuse(problem(ErrorCode.PAYLOAD_INVALID, _NUL, 422), scope, receive, answer.send)
                else:
                    await self.app(scope, receive, answer.send)
            except Exception:
                _log.exception("request_crashed", method=scope["method"], route=_route_of(scope))
                if answer.status is None:
                    await problem(ErrorCode.INTERNAL, _MISTAKE, 500)(scope, receive, answer.send)
            finally:
                self._tell(scope, answer.status, time.perf_counter() - started)

    def _tell(self, scope: Scope, status: int | None, seconds: float) -> None:
        method, route, elapsed_ms = scope["method"], _route_of(scope), round(seconds * 1000)
        self.observe(method, route, status, seconds)
        log = _log.debug if route in ("/live", "/ready", "/metrics") else _log.info
        log("request", method=method, route=route, status=status, duration_ms=elapsed_ms)


@dataclass
class _Answer:
    """The sending side of one request: adds headers and remembers the status."""

    receiver: Send
    request_id: str
    status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self.request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await self.receiver(message)


@dataclass(frozen=True, kw_only=True)
class AuthenticationMiddleware:
    """Lets nobody below `roots` without a good token; leaves the `Principal` in the request's state.

    `authenticate` gets header, address, visit, once the service is up. Whom the private socket let in is in the state.
    """

    app: ASGIApp = field(kw_only=False)
    authenticate: Callable[[str | None, str, Visit], Awaitable[Principal]]
    roots: tuple[str, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or OPEN_PATHS.fullmatch(path := scope["path"]) or not lies_below(path, self.roots):
            await self.app(scope, receive, send)
            return
        principal = scope.setdefault("state", {}).get("principal")
        if not isinstance(principal, Principal):
            visit, peer = Visit(scope["method"], Headers(scope=scope)), (scope.get("client") or ("",))[0]
            try:
                principal = await self.authenticate(visit.headers.get("authorization"), peer, visit)
            except AppError as error:
                await _refuse(problem_of(error), scope, receive, send)
                return
            scope["state"]["principal"] = principal
        with log_context(tenant_id=principal.tenant_id, user_id=principal.user_id):
            await self.app(scope, receive, send)


def lies_below(path: str, roots: Iterable[str]) -> bool:
    """Whether an address is one of these or below one."""
    return any(path == root or path.startswith(f"{root}/") for root in roots)


class BodyLimitMiddleware:
    """Reads a request's body up to a limit (413 beyond it, while it still streams in) and refuses deep JSON.

    An administrator may bring larger bodies to `DOCUMENTS_PATH` and to the `uploads` of faces, each with the media type
    its route reads as a stream; forms and such streams are counted while the route reads them.
    """

    def __init__(
        self, app: ASGIApp, *, max_body_bytes: int, max_upload_bytes: int = 0, max_attachment_bytes: int = 0,
        uploads: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self.app, self._streamed = app, {**_STREAMED, **(uploads or {})}
        self._max_body_bytes, self._max_upload_bytes = max_body_bytes, max(max_upload_bytes, max_body_bytes)
        self._max_attachment_bytes = max(max_attachment_bytes, max_body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        limit = self._limit_of(scope)
        if limit > self._max_body_bytes and self._is_streamed(scope):
            await self._pass_counted(scope, receive, send, limit)
            return
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                body = await _read_body(scope, receive, limit)
        except TimeoutError:
            refusal = problem(ErrorCode.PAYLOAD_INVALID, "The body did not arrive in time.", 408)
        except AppError as error:
            refusal = problem_of(error)
        else:
            if body is not None:
                await self.app(scope, _replay(body, receive), send)
            return
        await _refuse(refusal, scope, receive, send)

    def _limit_of(self, scope: Scope) -> int:
        principal = scope.get("state", {}).get("principal")
        if scope["path"] == FILES_PATH and isinstance(principal, Principal) and self._is_streamed(scope):
            return self._max_attachment_bytes
        if scope["path"] not in self._streamed or not isinstance(principal, Principal) or not principal.is_admin:
            return self._max_body_bytes
        most = self._max_upload_bytes
        return most if self._is_streamed(scope) else min(most, _MAX_DOCUMENT_JSON_BYTES)

    def _is_streamed(self, scope: Scope) -> bool:
        """Whether the route reads the body piece by piece."""
        kind = self._streamed.get(scope["path"])
        return kind is not None and Headers(scope=scope).get("content-type", "").lower().startswith(kind)

    async def _pass_counted(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        """Let the route read the body itself, as a stream, up to the limit."""
        read, is_read = 0, False
        if (_declared_bytes(scope) or 0) > limit + _FORM_BYTES:
            await _refuse(problem_of(_too_large(limit)), scope, receive, send)
            return

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start" and not is_read:
                cut_off_endless(scope, MutableHeaders(scope=message))
            await send(message)

        async def counted() -> Message:
            nonlocal read, is_read
            try:
                async with asyncio.timeout(_BODY_SECONDS):
                    message = await receive()
            except TimeoutError as error:
                detail = "The body did not arrive in time."
                raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=408) from error
            read += len(message.get("body", b""))
            if read > limit + _FORM_BYTES:
                raise _too_large(limit)
            is_read = not message.get("more_body", False)
            return message

        await self.app(scope, counted, answered)


async def _read_body(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    if (_declared_bytes(scope) or 0) > limit:
        raise _too_large(limit)
    body, goes_on = bytearray(), True
    while goes_on:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        goes_on = message.get("more_body", False)
    if is_nested_deeper(bytes(body), MAX_JSON_DEPTH):
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The JSON is nested too deeply.", status=422)
    return bytes(body)


def _too_large(limit: int) -> AppError:
    return AppError(ErrorCode.PAYLOAD_TOO_LARGE, f"The body has more than {limit} bytes.", status=413)


def is_nested_deeper(body: bytes, limit: int) -> bool:
    """Whether brackets outside strings nest deeper than `limit`; linear in the length, for any bytes."""
    depth = 0
    for token in _JSON_STRUCTURE.finditer(body):
        first = token.group()[:1]
        if first in b"[{":
            depth += 1
            if depth > limit:
                return True
        elif first in b"]}":
            depth -= 1
    return False


def _declared_bytes(scope: Scope) -> int | None:
    """Length of the body as its sender states it; None for a body of unknown length."""
    headers = Headers(scope=scope)
    declared = headers.get("content-length", "")
    if declared.isdecimal():
        return int(declared[:20])
    return None if "transfer-encoding" in headers else 0


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without having read the body."""
    cut_off_endless(scope, response.headers)
    await response(scope, receive, send)


def cut_off_endless(scope: Scope, headers: MutableHeaders) -> None:
    """Close the line behind an answer to a body that may never end: the server reads on behind our back until a body
    ends, so that an honest client gets to see the answer."""
    declared = _declared_bytes(scope)
    if declared is None or declared > _DRAINED_BYTES:
        headers["Connection"] = "close"


def _replay(body: bytes, receive: Receive) -> Receive:
    is_sent = False

    async def replayed() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _route_of(scope: Scope) -> str:
    """The route's template, with the prefix of the version it was included under."""
    if (path := getattr(scope.get("route"), "path", None)) is None:
        return "unknown"
    is_native = scope["path"].startswith("/api/v1/") and not path.startswith("/api/v1/")
    return f"/api/v1{path}" if is_native else str(path)
