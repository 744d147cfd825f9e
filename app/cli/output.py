"""What every command needs: JSON lines, tables, plain text, progress, leaving with an exit code."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import date
from functools import wraps
from typing import Annotated, Any, ParamSpec, Self

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from app.errors import AppError, ErrorCode, describe_validation
from app.text.language import clean

P = ParamSpec("P")
OK, FAILED, USAGE, UNAVAILABLE = 0, 1, 2, 3
_EXIT_CODES = {
    ErrorCode.PAYLOAD_INVALID: USAGE, ErrorCode.VALIDATION_FAILED: USAGE,
    ErrorCode.DATABASE_UNAVAILABLE: UNAVAILABLE, ErrorCode.LLM_UNAVAILABLE: UNAVAILABLE,
    ErrorCode.DATABASE_UNSAFE: UNAVAILABLE, ErrorCode.OVERLOADED: UNAVAILABLE,
}  # fmt: skip
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
AsJsonResult = Annotated[bool, typer.Option("--json", help="One JSON object a line; the last line is the result.")]


def run_async(command: Callable[P, Coroutine[Any, Any, int]]) -> Callable[P, None]:
    """Make a command of a coroutine function, which gives the exit code to leave with."""

    @wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        raise typer.Exit(asyncio.run(command(*args, **options)))

    return run


def print_json(out: Console, value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line, never wrapped or coloured."""
    out.file.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    out.file.flush()


def print_failure(error: Exception, *, as_json: bool) -> int | None:
    """Print why a command failed; its exit code, or None for what nobody expected."""
    match error:
        case AppError():
            code, detail = error.code, error.detail
        case ValidationError():
            code, detail = ErrorCode.PAYLOAD_INVALID, describe_validation(error.errors())
        case _ if isinstance(error, (TimeoutError, _client_error())):
            code, detail = ErrorCode.OVERLOADED, f"The server cannot be reached ({type(error).__name__})."
        case _:
            return None
    print_problem(as_json, code, detail)
    return _EXIT_CODES.get(code, FAILED)


def _client_error() -> type[Exception]:
    """What the client's library raises; where nobody imported that (half a second), nobody raised it."""
    library = sys.modules.get("aiohttp")
    return TimeoutError if library is None else library.ClientError


def print_problem(as_json: bool, code: ErrorCode, detail: str) -> None:
    """Print an expected failure, as a JSON line or a sentence for a person."""
    if as_json:
        problem = {"error": True, "error_code": code.value, "error_message": detail, "outcome": "failed"}
        print_json(Console(), problem)
    else:
        Console(stderr=True).print(f"[red]{code.value}[/] {detail}", highlight=False)


def print_table(out: Console, columns: Iterable[str], rows: Iterable[Iterable[str | Text]], title: str = "") -> None:
    """Print a plain table, with a title one of figures, which stand on the right; nothing when there is no row."""
    table = Table(title=title or None, title_justify="left", box=None, header_style="dim", pad_edge=bool(title))
    for place, column in enumerate(columns):
        is_figure, is_name = bool(title and place), bool(title and not place)
        table.add_column(column, overflow="fold", justify="right" if is_figure else "left", no_wrap=is_name)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else text(cell) for cell in row))
    if table.row_count:
        out.print(table)


def print_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    """Print records, as JSON lines or as a table."""
    if as_json:
        for row in rows:
            print_json(Console(), row)
        return
    cells = ([", ".join(map(str, one)) if isinstance(one, list) else str(one) for one in row.values()] for row in rows)
    print_table(Console(), rows[0] if rows else (), cells)


def text(value: object, style: str = "") -> Text:
    """Text as it is: no markup in it is obeyed, and no control character reaches the terminal."""
    return Text(clean(str(value)), style=style)


def names(listed: str) -> tuple[str, ...]:
    """The names in a comma-separated option."""
    return tuple(part for part in (piece.strip() for piece in listed.split(",")) if part)


def period(begins: date | None, ends: date | None) -> str:
    """``2026-01-01 to …``, or ``always``."""
    return "always" if begins is None and ends is None else f"{begins or '…'} to {ends or '…'}"


class StageLines:
    """Prints what opening the services is at, a line a stage; counts at most twice a second."""

    def __init__(self, console: Console, only: str = ""):
        """`only`: stages that begin so."""
        self._console, self._only, self._printed_at = console, only, float("-inf")

    def __call__(self, stage: str) -> None:
        """Print a stage: ``database``, ``documents 12/37``."""
        done, slash, total = stage.rpartition(" ")[2].partition("/")
        is_due = not slash or done == total or time.monotonic() - self._printed_at > 0.5
        if is_due and stage.startswith(self._only):
            self._console.print(stage, style="dim", highlight=False)
            self._printed_at = time.monotonic()


class DocumentBar:
    """A progress bar that appears with the first call."""

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

    def __call__(self, done: int, total: int | None, title: str) -> None:
        """Show that `done` of `total` are in; None = nobody knows how many there are."""
        if not self._bar.live.is_started:
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total, description=title[:60])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar.live.is_started:
            self._bar.stop()
