"""`conclave serve` and `conclave worker`."""

from typing import Annotated

import typer

from app.agents.spec import ALL_QUEUES
from app.cli import serving
from app.cli.output import AsJsonResult, finish, names
from app.settings import Settings


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
) -> None:
    """Serve the API and the page."""
    raise typer.Exit(serving.serve(Settings(), host, port, workers))


def worker(
    queues: Annotated[
        str,
        typer.Option(help="Comma separated: chat, ingest, and agents whose steps are done here; all = every one."),
    ] = ALL_QUEUES,
    show: Annotated[bool, typer.Option("--list", help="Print the queues and what waits in them, and leave.")] = False,
    as_json: AsJsonResult = False,
) -> None:
    """Run questions, documents and steps of remote agents from their queues, on this or any other machine."""
    if show:
        finish(serving.list_queues(Settings(), as_json))
    finish(serving.work(Settings(), names(queues)))
