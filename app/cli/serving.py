"""`conclave serve` and `conclave worker`: processes that run until they are told to stop."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
import uvicorn
from rich.console import Console

from app import main, telemetry
from app.agents.spec import ALL_QUEUES
from app.cli.connecting import opened
from app.cli.output import FAILED, OK, UNAVAILABLE, StageLines, names, run_async
from app.client.local import DEMO_KEY_FILE, FIRST_FILE, FIRST_SECONDS, demo_key, kept_key
from app.ingestion.seed import read_demo
from app.settings import Settings
from app.tasks.queue import IN_PROCESS

_GRACEFUL_SECONDS = 8
"""For requests still running at shutdown; the worker gets its own time after that (15 s in all)."""
_IDLE_SECONDS = 75
"""Of an idle connection. Clients and proxies drop it earlier (5 to 60 s), so none sends on one that is closing."""
_UVICORN: dict[str, Any] = {
    "http": "app.main.heads:BoundedHeads", "log_config": None, "access_log": False, "server_header": False,
    "ws": "none", "timeout_graceful_shutdown": _GRACEFUL_SECONDS, "timeout_keep_alive": _IDLE_SECONDS,
}  # fmt: skip
_LAST_SECONDS = 10.0
"""For a worker that hangs to put everything away."""


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
) -> None:
    """Serve the API and the page."""
    raise typer.Exit(_serve(Settings(), host, port, workers))


@run_async
async def worker(
    queues: Annotated[
        str,
        typer.Option(help="Comma separated: chat, ingest, and agents whose steps are done here; all = every one."),
    ] = ALL_QUEUES,
) -> int:
    """Run questions, documents and steps of remote agents from their queues, on this or any other machine."""
    return await _work(Settings(), names(queues))


def _serve(settings: Settings, host: str, port: int, workers: int) -> int:
    """Serve until told to stop; returns the exit code. 3 when the port is taken."""
    console = Console(stderr=True)
    if not _is_free(host, port):
        console.print(f"[red]Port {port} on {host} is taken.[/] Choose another with --port.")
        return UNAVAILABLE
    # SIGTERM ends the process through the usual exits, so that the embedded database is let go of properly.
    signal.signal(signal.SIGTERM, _exit)
    for name in (DEMO_KEY_FILE, FIRST_FILE):  # the links of an earlier start end with it
        (settings.data_dir / name).unlink(missing_ok=True)
    address = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
    os.environ["CONCLAVE_SERVE_ADDRESS"] = address  # the processes of several workers read their own settings
    settings = settings.model_copy(update={"serve_address": address})
    announce = partial(_announce, settings, console, address)
    telemetry.configure(settings.log_level)
    if workers > 1:
        asyncio.run(_prepare(settings, console))
        announce()
        uvicorn.run("app.main:serve_app", factory=True, host=host, port=port, workers=workers, **_UVICORN)
        return OK
    main.load_model_ahead(settings)
    app = partial(main.create_app, settings, on_stage=StageLines(console))
    single = _Announcing(uvicorn.Config(app, factory=True, host=host, port=port, **_UVICORN), announce)
    single.run()
    return OK if single.started else FAILED


async def _work(settings: Settings, queues: Sequence[str]) -> int:
    """Take tasks from `queues` until told to stop; the service may run as many such processes as it likes. 1 when part
    of the worker hangs and starting it anew does not help: whoever supervises the process starts another."""
    stopping = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    telemetry.configure(settings.log_level)
    console = Console(stderr=True)
    async with opened(settings, console, work=True, queues=queues) as services:
        worker = services.worker
        console.print(f"worker [bold]{worker.worker_id}[/] serves {', '.join(worker.queues)}", highlight=False)
        agents = services.rooms.agents
        for queue in worker.queues:
            if queue not in (*IN_PROCESS, *agents.remote):
                console.print(f"[yellow]{queue} is not remote here:[/] its steps come only from servers where it is")
        is_beyond_help = await _first_of(stopping, worker.beyond_help) is worker.beyond_help
        if is_beyond_help:
            console.print("[red]The worker hangs[/] and starting its loops anew did not help; it ends.")
            _leave_within(_LAST_SECONDS)
    return FAILED if is_beyond_help else OK


async def _first_of(*events: asyncio.Event) -> asyncio.Event:
    """The first of `events` that is set."""
    waiting = {asyncio.create_task(event.wait()): event for event in events}
    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    return waiting[done.pop()]


def _leave_within(seconds: float) -> None:
    """End the process with exit code 1 even when what hangs does not let go of it."""
    leaving = threading.Timer(seconds, os._exit, [FAILED])
    leaving.daemon = True
    leaving.start()


class _Announcing(uvicorn.Server):
    """Prints where it is as soon as it answers."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]):
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if not self.should_exit:
            self._announce()


async def _prepare(settings: Settings, console: Console) -> None:
    """Migrate, seed and load the model once, before several processes do."""
    async with opened(settings, console):
        pass


def _announce(settings: Settings, console: Console, address: str) -> None:
    """Print the address, and sign-in links where whoever has one may be a demo user."""
    console.print(f"[bold]Conclave[/] {address} · API documentation {address}/docs", highlight=False)
    if first := kept_key(settings.data_dir / FIRST_FILE, FIRST_SECONDS):
        link = f"{settings.auth_address.rstrip('/') or address}/#first={first}"
        console.print(f"  your company   {link} (for an hour)", highlight=False, soft_wrap=True)
    key = demo_key(settings.data_dir)
    for user in read_demo(settings.seed_dir).users if key else ():
        name = f"{user.tenant}/{user.name}"
        console.print(f"  {name.ljust(14)} {address}/?as={name}&key={key}", highlight=False, soft_wrap=True)


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _exit(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)
