"""The HTTP application: routes, the middleware before them, the services behind them for as long as it runs; and the
private socket over which the command line of this machine speaks to it."""

import asyncio
import fcntl
import hashlib
import json
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from app import __version__, telemetry
from app.api import (
    administration,
    agents,
    audit,
    chat,
    conflicts,
    connectors,
    desk,
    documents,
    files,
    history,
    keys,
    metrics,
    oidc,
    operations,
    search,
    sessions,
    signin,
    tasks,
    users,
)
from app.api.auth import Claims
from app.api.middleware import API_ROOT, AuthenticationMiddleware, BodyLimitMiddleware, RequestMiddleware, lies_below
from app.api.missing import install_error_handlers
from app.api.problem import problem_of
from app.api.refusals import RepeatedRefusals
from app.client.local import ADDRESS_FILE, AS_HEADER, WHO_PATH
from app.errors import AppError
from app.faces.face import Face, RefusalMiddleware, load_faces
from app.main.services import Services, Stage, silent
from app.plugins import PluginError
from app.settings import Settings
from app.trust.refusals import Refusals

_DESCRIPTION = (
    "Department agents that answer from the documents the asker may read, with evidence, plan and reasons. "
    "Errors are problem+json with a stable `code`; foreign and unknown ids give the same 404."
)
_VERSION_1 = "/api/v1"
_NATIVE = (
    *(one.router for one in (chat, tasks, conflicts, history, sessions, search, documents, files)),
    *(one.router for one in (administration, audit, agents, connectors, signin, oidc, keys, users, desk)),
    *(tasks.performance_router, documents.findings),
)
_GRACEFUL_SECONDS = 2
"""For requests on the private socket that still run at shutdown."""
_POLL_SECONDS = 0.005
_MAX_SOCKET_PATH = 100
"""Bytes; the kernels' limits are 107 and 103."""


def serve_app() -> FastAPI:
    """The application of a server process, with logs set up; settings come from the environment."""
    settings = Settings()
    telemetry.configure(settings.log_level)
    return create_app(settings)


def create_app(
    settings: Settings | None = None,
    *,
    services: Services | None = None,
    faces: Sequence[Face] | None = None,
    on_stage: Stage = silent,
) -> FastAPI:
    """The application. It opens its own services for its lifetime, and leaves a private socket where the settings say
    where it listens, unless it is given services that are open already. `faces`: those to mount; None = every one.
    `on_stage`: see `Services.open`."""
    settings = settings or (services.settings if services is not None else Settings())
    faces = tuple(load_faces().found.values()) if faces is None else faces
    roots = (API_ROOT, *_roots_beside_native(faces))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            opened = services
            if opened is None:
                opened = await Services.open(settings, work=settings.worker_in_process, on_stage=on_stage)
                stack.push_async_callback(opened.aclose)
            app.state.services = opened.rooms
            if services is None and settings.serve_address:
                await stack.enter_async_context(_reachable_here(app, opened))
            yield

    refusals = Refusals(lambda: app.state.services.database)
    authenticate = refusals.noting(lambda: app.state.services.authenticator.authenticate)

    def observe(*seen: Any) -> None:
        if (opened := getattr(app.state, "services", None)) is not None:
            opened.metrics.observe_request(*seen)

    app = FastAPI(
        title="Conclave", version=__version__, description=_DESCRIPTION, lifespan=lifespan, docs_url=None,
        redoc_url=None, redirect_slashes=False,
        telemetry={"operation_spans": False, "exclude": lambda scope: scope["path"] in ("/live", "/ready", "/metrics")},
        middleware=[
            Middleware(RefusalMiddleware, faces=faces),
            Middleware(RequestMiddleware, observe=observe),
            Middleware(RepeatedRefusals, open_runs=settings.max_open_runs_per_user),
            Middleware(AuthenticationMiddleware, authenticate=authenticate, roots=roots),
            _body_limits(settings, faces),
        ],
    )  # fmt: skip
    app.state.refusals = refusals
    if services is not None:
        app.state.services = services.rooms
    install_error_handlers(app)
    app.include_router(operations.router)
    app.include_router(metrics.router)
    app.router.routes.extend(operations.PAGES)
    app.include_router(_version_1())
    for face in faces:
        app.include_router(face.router)
    return app


def _body_limits(settings: Settings, faces: Sequence[Face]) -> Middleware:
    return Middleware(
        BodyLimitMiddleware,
        max_body_bytes=settings.max_body_bytes,
        max_upload_bytes=settings.max_upload_bytes,
        max_attachment_bytes=settings.attachment_max_bytes,
        uploads={path: kind for face in faces for path, kind in face.uploads.items()},
    )


def _version_1() -> APIRouter:
    router = APIRouter(prefix=_VERSION_1)
    for one in _NATIVE:
        router.include_router(one)
    return router


def _roots_beside_native(faces: Sequence[Face]) -> list[str]:
    """The roots of all faces. Raises `PluginError` for a face in whose roots native routes lie."""
    roots = [root for face in faces for root in face.roots]
    for path in (f"{_VERSION_1}{getattr(route, 'path', '')}" for one in _NATIVE for route in one.routes):
        if lies_below(path, roots):
            raise PluginError(f"A face wants {path}, which belongs to the native API.")
    return roots


@dataclass(frozen=True)
class PrivateDoor:
    """Lets whoever can open the private socket act as a user, or as an administrator of a tenant."""

    app: FastAPI
    services: Services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; one that brings a token keeps it."""
        headers = Headers(scope=scope)
        if AS_HEADER not in headers or "authorization" in headers:
            await self.app(scope, receive, send)
            return
        try:
            claims = await self._claims_of(unquote(headers[AS_HEADER]))
        except AppError as error:
            await problem_of(error)(scope, receive, send)
            return
        if scope["path"] == WHO_PATH:
            await JSONResponse({"tenant": claims.tenant_id, "user": claims.sub})(scope, receive, send)
            return
        state = {**scope.get("state", {}), "principal": claims.principal()}
        await self.app({**scope, "state": state}, receive, send)

    async def _claims_of(self, acting: str) -> Claims:
        storage, agents = self.services.storage, self.services.rooms.agents
        tenant, slash, user = acting.partition("/")
        if user or not slash:
            return await storage.claims_of(await storage.user_named(acting))
        departments = frozenset(one for name in agents.names for one in agents.spec(name).departments)
        return await storage.operator_of(await storage.tenant_named(tenant), departments)


@asynccontextmanager
async def private_socket(app: FastAPI, services: Services, path: Path) -> AsyncIterator[None]:
    """Serve `app` on a unix socket that only this user can open."""
    listening = _listen(path)
    config = uvicorn.Config(
        PrivateDoor(app, services), lifespan="off", log_config=None, access_log=False, server_header=False, ws="none",
        timeout_graceful_shutdown=_GRACEFUL_SECONDS,
    )  # fmt: skip
    server = _InnerServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn sets a flag and tells nobody
            await asyncio.sleep(_POLL_SECONDS)
        yield
    finally:
        server.should_exit = True
        await serving
        await asyncio.to_thread(path.unlink, missing_ok=True)


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    finally:
        os.umask(before)
    return listening


class _InnerServer(uvicorn.Server):
    """A server inside a process that has its own way to be stopped."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process."""
        yield


@asynccontextmanager
async def _reachable_here(app: FastAPI, services: Services) -> AsyncIterator[None]:
    """Leave the address and a private socket in the data directory; of several processes the first one does."""
    folder = services.settings.data_dir
    with (folder / ".server.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield
            return
        path, address_file = _socket_path(folder), folder / ADDRESS_FILE
        async with private_socket(app, services, path):
            address_file.unlink(missing_ok=True)
            with os.fdopen(os.open(address_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"address": services.settings.serve_address, "socket": str(path)}, file)
            try:
                yield
            finally:
                address_file.unlink(missing_ok=True)


def _socket_path(folder: Path) -> Path:
    """In the data directory, or under the temporary one when that path would be too long for the kernel."""
    path = folder.resolve() / "server.sock"
    if len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"conclave-{os.geteuid()}-{name}.sock"
