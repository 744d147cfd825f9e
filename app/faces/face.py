"""Load the faces, which are protocols and further routes, and mount them on the application."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.middleware import lies_below
from app.api.problem import MEDIA_TYPE
from app.plugins import FACES, PluginError, Plugins, load_plugins

BUILT_IN = {"openai": "app.faces.openai_responses:FACE", "mcp": "app.faces.mcp:FACE"}


@dataclass(frozen=True)
class Face:
    """Routes beside those of the native API: a protocol other programs speak, or more of the API itself."""

    router: APIRouter
    """Its routes take `Caller` and `Services` as those of `app.api` do; its lifespan is part of the application's."""
    roots: tuple[str, ...]
    """Addresses below which all its routes lie, ``/api/v1/weather`` too; nobody gets in there without a token."""
    open_paths: frozenset[str] = frozenset()
    """Addresses outside `roots` that anybody may read."""
    write_refusal: Callable[[str, str, int], dict[str, Any]] | None = None
    """Detail, code and status to the body its clients read; None = problem+json, as in the native API."""
    uploads: Mapping[str, str] = field(default_factory=dict)
    """Addresses to which administrators may bring bodies as large as files, with the media type that is read as a
    stream."""


def load_faces() -> Plugins[Face]:
    """Every face that can be mounted, built in or plugged in. Raises `PluginError` for one that may not be."""
    faces = load_plugins(FACES, BUILT_IN, Face)
    roots: dict[str, str] = {}
    for name, face in faces.found.items():
        for root in face.roots:
            if not root.startswith("/") or root.endswith("/"):
                raise PluginError(f"The face {name} has a root that is no address: {root!r}.")
            if owner := next((who for taken, who in roots.items() if _overlap(root, taken)), None):
                raise PluginError(f"The face {name} wants {root}, which belongs to {owner}.")
            roots[root] = f"the face {name}"
        _check_routes(name, face)
    return faces


def _overlap(one: str, other: str) -> bool:
    return lies_below(one, (other,)) or lies_below(other, (one,))


def _check_routes(name: str, face: Face) -> None:
    """Refuse a route that would be open by mistake. Raises `PluginError`."""
    for path in (*(getattr(route, "path", "") for route in face.router.routes), *face.uploads):
        if path not in face.open_paths and not lies_below(path, face.roots):
            raise PluginError(f"The face {name} has a route outside its roots: {path}.")


class RefusalMiddleware:
    """Writes problems below a face's roots as its clients read them, whatever refused: middleware, route or framework.

    Everything else passes as it is.
    """

    def __init__(self, app: ASGIApp, *, faces: Iterable[Face]):
        self.app = app
        self._writers = [(face.roots, face.write_refusal) for face in faces if face.write_refusal is not None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        writers = self._writers if scope["type"] == "http" else ()
        write = next((writer for roots, writer in writers if lies_below(scope["path"], roots)), None)
        if write is None:
            await self.app(scope, receive, send)
            return
        starts: list[Message] = []

        async def rewrite(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_problem(message):
                starts.append(message)
            elif starts and message["type"] == "http.response.body":
                start = starts.pop()
                found: Mapping[str, Any] = json.loads(message.get("body", b""))
                body = json.dumps(write(found["detail"], found["code"], start["status"])).encode()
                headers = {"content-type": "application/json", "content-length": str(len(body))}
                MutableHeaders(scope=start).update(headers)
                await send(start)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await self.app(scope, receive, rewrite)


def _is_problem(message: Message) -> bool:
    return MutableHeaders(scope=message).get("content-type", "").startswith(MEDIA_TYPE)
