"""The HTTP application: routes, the middleware before them, and the services behind them for as long as it runs."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

from app import __version__, telemetry
from app.api import (
    admin_tasks,
    administration,
    agents,
    chat,
    conflicts,
    documents,
    files,
    logs,
    operations,
    search,
    sessions,
    signin,
    tasks,
)
from app.api.middleware import API_ROOT, AuthenticationMiddleware, BodyLimitMiddleware, RequestMiddleware
from app.api.problem import install_problem_handlers
from app.domain.principal import Principal
from app.faces.face import RefusalMiddleware, load_faces
from app.main.services import Services
from app.settings import Settings

_DESCRIPTION = (
    "Department agents that answer from the documents the asker may read, with evidence, plan and reasons. "
    "Errors are problem+json with a stable `code`; foreign and unknown ids give the same 404."
)


def serve_app() -> FastAPI:
    """The application of a server process, with logs set up; settings come from the environment."""
    settings = Settings()
    telemetry.configure(settings.log_level)
    return create_app(settings)


def create_app(settings: Settings | None = None, *, services: Services | None = None) -> FastAPI:
    """The application. It opens its own services for its lifetime unless it is given some that are open already."""
    settings = settings or (services.settings if services is not None else Settings())
    faces = tuple(load_faces().found.values())
    roots = (API_ROOT, *(root for face in faces for root in face.roots))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            opened = services
            if opened is None:
                opened = await Services.open(settings, work=settings.worker_in_process)
                stack.push_async_callback(opened.aclose)
            app.state.services = opened.rooms
            yield

    async def authenticate(authorization: str | None) -> Principal:
        found: Principal = await app.state.services.authenticator.authenticate(authorization)
        return found

    app = FastAPI(
        title="Conclave",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(RefusalMiddleware, faces=faces),
            Middleware(RequestMiddleware),
            Middleware(AuthenticationMiddleware, authenticate=authenticate, roots=roots),
            Middleware(
                BodyLimitMiddleware,
                max_body_bytes=settings.max_body_bytes,
                max_upload_bytes=settings.max_upload_bytes,
                max_attachment_bytes=settings.attachment_max_bytes,
            ),
        ],
    )
    install_problem_handlers(app)
    app.include_router(operations.router)
    app.include_router(_version_1())
    for face in faces:
        app.include_router(face.router)
    return app


def _version_1() -> APIRouter:
    router = APIRouter(prefix="/api/v1")
    modules = (
        chat, tasks, conflicts, sessions, search, documents, files, logs, administration, admin_tasks, agents, signin,
    )  # fmt: skip
    for module in modules:
        router.include_router(module.router)
    router.include_router(tasks.performance_router)
    return router
