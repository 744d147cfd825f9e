"""What every command needs: opening the services with a progress bar, JSON lines, leaving with an exit code."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app import main
from app.errors import ErrorCode
from app.settings import Settings

if TYPE_CHECKING:
    from app.main import Services

OK, FAILED, USAGE, UNAVAILABLE = 0, 1, 2, 3
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
AsJsonResult = Annotated[bool, typer.Option("--json", help="One JSON object a line; the last line is the result.")]


def finish(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a command's work and leave with its exit code."""
    raise typer.Exit(asyncio.run(work))


def print_json(out: Console, value: Mapping[str, Any]) -> None:
    """One JSON object on one line, never wrapped or coloured."""
    out.file.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    out.file.flush()


def tell_problem(as_json: bool, code: ErrorCode, detail: str) -> None:
    """An expected failure, as a JSON line or a sentence for a person."""
    if as_json:
        problem = {"error": True, "error_code": code.value, "error_message": detail, "outcome": "failed"}
        print_json(Console(), problem)
    else:
        Console(stderr=True).print(f"[red]{code.value}[/] {detail}", highlight=False)


def names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated option."""
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


class DocumentBar:
    """A progress bar of documents that appears with the first one."""

    def __init__(self, console: Console, label: str):
        self._bar = Progress(
            TextColumn(f"{label} [progress.percentage]{{task.percentage:>3.0f}} %"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", style="dim", markup=False),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def __call__(self, done: int, total: int, title: str) -> None:
        """Show that `done` of `total` documents are in."""
        if not self._bar.live.is_started:
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total, description=title[:60])

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar.live.is_started:
            self._bar.stop()


@asynccontextmanager
async def opened(
    settings: Settings, console: Console, *, work: bool = False, queues: Collection[str] | None = None
) -> AsyncIterator["Services"]:
    """The services of this process; shows the first loading of the demo data. `queues` = those its worker serves;
    None = those of a server."""
    bar = DocumentBar(console, "loading the demo data")
    try:
        served = {} if queues is None else {"queues": queues}
        # Imported by this use: a command that only talks to a server needs nothing of the house.
        services = await main.Services.open(settings, work=work, on_seed=bar, **served)
    finally:
        bar.stop()
    try:
        yield services
    finally:
        await services.aclose()
