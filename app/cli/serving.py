"""`conclave serve`: prepare the database, say where the page is, then hand over to uvicorn."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import uvicorn
from rich.console import Console
from rich.table import Table

from app import telemetry
from app.cli.output import FAILED, OK, UNAVAILABLE, opened, print_json
from app.settings import Settings
from app.storage.delivery import line_sizes
from app.tasks.queue import IN_PROCESS, queue_of

_GRACEFUL_SECONDS = 8
"""For requests still running at shutdown; the worker gets its own time after that (15 s in all)."""
_LAST_SECONDS = 10.0
"""For a worker that hangs to put everything away."""


def serve(settings: Settings, host: str, port: int, workers: int) -> int:
    """Serve until told to stop; returns the exit code. 3 when the port is taken."""
    console = Console(stderr=True)
    if not _is_free(host, port):
        console.print(f"[red]Port {port} on {host} is taken.[/] Choose another with --port.")
        return UNAVAILABLE
    # SIGTERM ends the process through the usual exits, so that the embedded database is let go of properly.
    signal.signal(signal.SIGTERM, _exit)
    asyncio.run(_prepare(settings, console, host, port))
    uvicorn.run(
        "app.main:serve_app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACEFUL_SECONDS,
        ws="none",
    )
    return OK


async def work(settings: Settings, queues: Sequence[str]) -> int:
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


async def list_queues(settings: Settings, as_json: bool) -> int:
    """Print every queue with the jobs that wait and those that are with workers."""
    async with opened(settings, Console(stderr=True)) as services:
        agents = services.rooms.agents
        async with services.database.operator_scope() as tx:
            sizes = {queue_of(size.line): size for size in await line_sizes(tx)}
    table = Table("queue", "waiting", "running", box=None, header_style="dim")
    for name in dict.fromkeys((*IN_PROCESS, *agents.remote, *sizes)):
        waiting, running = (sizes[name].waiting, sizes[name].running) if name in sizes else (0, 0)
        table.add_row(name, str(waiting), str(running))
        if as_json:
            print_json(Console(), {"queue": name, "waiting": waiting, "running": running})
    if not as_json:
        Console().print(table)
    return OK


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


async def _prepare(settings: Settings, console: Console, host: str, port: int) -> None:
    """Migrate and seed with a progress bar before the first request, and print the sign-in links."""
    async with opened(settings, console) as services:
        address = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
        console.print(f"[bold]Conclave[/] {address} · API documentation {address}/docs")
        for user in services.demo_users:
            console.print(f"  {user.ljust(14)} {address}/?as={user}", highlight=False)


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
