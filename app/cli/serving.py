"""`conclave serve`: prepare the database, say where the page is, then hand over to uvicorn."""

import asyncio
import signal
import socket
import sys
from types import FrameType
from typing import NoReturn

import uvicorn
from rich.console import Console

from app import telemetry
from app.cli.output import OK, UNAVAILABLE, opened
from app.settings import Settings

_GRACEFUL_SECONDS = 8
"""For requests still running at shutdown; the worker gets its own time after that (15 s in all)."""


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


async def work(settings: Settings) -> int:
    """Run tasks from the queue until told to stop; the service may run as many such processes as it likes."""
    stopping = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    telemetry.configure(settings.log_level)
    console = Console(stderr=True)
    async with opened(settings, console, work=True) as services:
        console.print(f"worker {services.worker.worker_id}", highlight=False)
        await stopping.wait()
    return OK


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
