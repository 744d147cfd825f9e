"""How a command reaches the service: through the server of this data directory, through another one, or in process."""

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from app import main
from app.cli.output import StageLines
from app.client.local import demo_key, local_server
from app.errors import AppError, ErrorCode
from app.settings import Settings

if TYPE_CHECKING:
    from app.client.connection import Connection
    from app.main import Services
    from app.main.storage import Storage

Server = Annotated[str, typer.Option(envvar="CONCLAVE_SERVER", help="Use this server; default: the one running here.")]
Token = Annotated[str, typer.Option(envvar="CONCLAVE_TOKEN", help="Bearer token, in place of --as or --tenant.")]
AsUser = Annotated[str, typer.Option("--as", metavar="TENANT/USER", help="Who asks; default: CONCLAVE_DEFAULT_USER.")]
Tenant = Annotated[str, typer.Option(help="Whose; default: CONCLAVE_DEFAULT_TENANT, or the only tenant there is.")]
_HERE = "http://conclave"


@dataclass(frozen=True)
class Target:
    """Which server, and as whom: ``tenant/user``, or ``tenant/`` for the tenant's administrator."""

    acting: str
    server: str = ""
    token: str = ""


@asynccontextmanager
async def connected(
    target: Target, console: Console, *, as_json: bool = False, work: bool = True
) -> AsyncIterator["Connection"]:
    """A connection to the target. Where no server answers, everything is opened in this process, with its worker if it
    is to `work`. `console` is told which server it is, unless for `as_json`."""
    settings = Settings()
    async with AsyncExitStack() as stack:
        if target.server:
            connection = await stack.enter_async_context(_connection(target.server, target.token))
            if not target.token:
                await _sign_in(connection, target.acting, demo_key(settings.data_dir))
        elif local := local_server(settings.data_dir):
            if not as_json:
                console.print(f"through the server at {local.address}", style="dim", highlight=False)
            connection = await stack.enter_async_context(_privately(target, local.socket))
        else:
            socket = await stack.enter_async_context(_in_process(settings, console, work))
            connection = await stack.enter_async_context(_privately(target, socket))
        yield connection


@asynccontextmanager
async def opened(
    settings: Settings, console: Console, *, work: bool = False, queues: Collection[str] | None = None
) -> AsyncIterator["Services"]:
    """The services of this process; shows the first loading of the demo data. `queues` = those its worker serves;
    None = those of a server."""
    main.load_model_ahead(settings)
    served = {} if queues is None else {"queues": queues}
    services = await main.Services.open(settings, work=work, on_stage=StageLines(console, only="documents"), **served)
    try:
        yield services
    finally:
        await services.aclose()


@asynccontextmanager
async def opened_storage() -> AsyncIterator["Storage"]:
    """The database alone: neither model nor agents are loaded."""
    storage = import_module("app.main.storage").Storage
    async with AsyncExitStack() as stack:
        yield await storage.open(Settings(), stack)


@asynccontextmanager
async def _in_process(settings: Settings, console: Console, work: bool) -> AsyncIterator[Path]:
    """The application of this process behind a private socket of its own."""
    async with opened(settings, console, work=work) as services:
        with TemporaryDirectory(prefix="conclave-") as folder:
            path = Path(folder) / "server.sock"
            async with main.private_socket(main.create_app(services=services, faces=()), services, path):
                yield path


def _privately(target: Target, socket: Path) -> "Connection":
    return _connection(_HERE, target.token, private_socket=socket, acting=target.acting)


def _connection(*args: Any, **options: Any) -> "Connection":
    """As `Connection`, whose library takes half a second to import: who opens only the database does without."""
    made: Connection = import_module("app.client.connection").Connection(*args, **options)
    return made


async def _sign_in(connection: "Connection", acting: str, key: str) -> None:
    """Become a demo user of a server on this machine; nobody named is its default asker, or its first administrator."""
    tenant, slash, user = acting.partition("/")
    if not user and (slash or not tenant):
        people = [one for one in await connection.demo_users(key) if tenant in ("", one["tenant"])]
        found = [one["user"] for one in people if not slash or "admin" in one["roles"]]
        if not found:
            raise AppError(ErrorCode.NOT_FOUND, f"There is no demo user of {tenant or 'any tenant'}.", status=404)
        acting = found[0]
    await connection.sign_in(acting, key)
