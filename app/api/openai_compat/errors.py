"""Refusals below ``/v1/`` in the shape OpenAI's clients read: ``{"error": {message, type, param, code}}``.

One place for all of them: whatever refuses, the door, the gate, a route or the framework, says it as problem+json; on
the way out it is written anew.
"""

import json

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.openai_compat.projection import refusal
from app.api.problem import MEDIA_TYPE

PREFIX = "/v1/"
_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "invalid_request_error",
    405: "invalid_request_error", 408: "invalid_request_error", 409: "conflict_error", 413: "invalid_request_error",
    422: "invalid_request_error", 429: "rate_limit_error",
}  # fmt: skip


class OpenAIErrors:
    """Rewrites problems of `PREFIX`; everything else passes as it is."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self.app(scope, receive, send)
            return
        held: list[Message] = []

        async def written(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_problem(message):
                held.append(message)
            elif held and message["type"] == "http.response.body":
                start = held.pop()
                body = _written_anew(message.get("body", b""), start["status"])
                MutableHeaders(scope=start).update(
                    {"content-type": "application/json", "content-length": str(len(body))}
                )
                await send(start)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await self.app(scope, receive, written)


def _is_problem(message: Message) -> bool:
    return MutableHeaders(scope=message).get("content-type", "").startswith(MEDIA_TYPE)


def _written_anew(body: bytes, status: int) -> bytes:
    told = json.loads(body)
    return json.dumps(refusal(told["detail"], told["code"], _KINDS.get(status, "server_error"))).encode()
