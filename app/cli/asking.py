"""Asking from the terminal, in this process or through a server: the same events, shown the same way."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live

from app.cli.deciding import decide
from app.cli.display import RunView, show_answer
from app.cli.output import print_json
from app.cli.reading import content_of
from app.client.connection import Connection, Told
from app.client.uploads import file_form
from app.domain.answer import in_seed_order
from app.settings import Settings


class Line(Protocol):
    """A way to ask: in process, or a server."""

    async def attach(self, path: Path) -> str:
        """Upload a file; its id. Raises `AppError`."""

    def ask(self, body: Mapping[str, Any]) -> AsyncIterator[Told]:
        """The run's events up to its end."""

    async def decide(self, task_id: str, decision: Mapping[str, Any]) -> None:
        """Approve or refuse the plan of a run that waits. Raises `AppError`."""


@dataclass(frozen=True)
class RemoteLine:
    """Asks a server."""

    remote: Connection

    async def attach(self, path: Path) -> str:
        """Upload the file."""
        content = await asyncio.to_thread(content_of, path, None)
        form = partial(file_form, content, path.name)
        return str((await self.remote.send("POST", "/files", form=form))["file_id"])

    def ask(self, body: Mapping[str, Any]) -> AsyncIterator[Told]:
        """The run's events."""
        return self.remote.ask(body)

    async def decide(self, task_id: str, decision: Mapping[str, Any]) -> None:
        """Send the decision."""
        await self.remote.send("POST", f"/tasks/{task_id}/approve", body=decision)


@dataclass(frozen=True)
class Target:
    """Where a question goes: a server when one is named, else this process."""

    user: str
    server: str = ""
    token: str = ""


@asynccontextmanager
async def open_line(target: Target, settings: Settings, console: Console) -> AsyncIterator[Line]:
    """A line to `target`. Without a token a server is asked for a demo user's, which only works on its own machine."""
    async with AsyncExitStack() as stack:
        if target.server:
            remote = await stack.enter_async_context(Connection(target.server, target.token))
            if not target.token:
                await remote.sign_in(target.user)
            yield RemoteLine(remote)
        else:
            # Only here: with it comes the whole house, which takes seconds to import.
            from app.cli.asking_here import open_local  # noqa: PLC0415

            yield await stack.enter_async_context(open_local(target.user, settings, console))


def body_of(
    query: str,
    *,
    session_id: str | None = None,
    deep: bool = False,
    approve: bool = False,
    as_of: date | None = None,
) -> dict[str, Any]:
    """The request body of a question."""
    body: dict[str, Any] = {"query": query, "mode": "deep" if deep else "auto"}
    if approve:
        body["approve_plan"] = True
    if session_id is not None:
        body["session_id"] = session_id
    if as_of is not None:
        body["as_of"] = as_of.isoformat()
    return body


async def with_files(line: Line, body: Mapping[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    """The body of a question with these files attached, in order. Raises `AppError`."""
    return {**body, "files": [await line.attach(path) for path in paths]} if paths else dict(body)


async def ask_as_json(line: Line, body: Mapping[str, Any], out: Console, progress: Console) -> dict[str, Any]:
    """Print every event as one JSON line, then the answer alone; a plan is asked about on `progress`. Returns the
    answer."""
    view, answer = RunView(str(body["query"])), dict[str, Any]()
    async for seq, kind, event in line.ask(body):
        print_json(out, {"seq": seq, "event": kind, "data": event})
        view.take(kind, event)
        if kind == "interrupt":
            await line.decide(view.task_id, await decide(progress, view.plan_table(), event))
        answer = ending_of(kind, event) or answer
    print_json(out, answer)
    return answer


async def ask_and_show(line: Line, body: Mapping[str, Any], out: Console, progress: Console) -> dict[str, Any]:
    """Show the run while it goes on `progress`, then the answer on `out`. Returns the answer."""
    view, answer = RunView(str(body["query"])), dict[str, Any]()
    with Live(view, console=progress, transient=True, refresh_per_second=12) as live:
        async for _, kind, event in line.ask(body):
            view.take(kind, event)
            if kind == "interrupt":
                live.stop()
                await line.decide(view.task_id, await decide(progress, view.plan_table(), event))
                live.start()
            answer = ending_of(kind, event) or answer
    show_answer(out, answer, view)
    return answer


def ending_of(kind: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """The answer inside a terminal event; empty for every other event."""
    match kind:
        case "final_report" | "task_failed":
            return in_seed_order(event["answer"])
        case "task_cancelled":
            return {
                "error": True,
                "error_code": "TASK_CANCELLED",
                "error_message": event["reason"],
                "outcome": "failed",
            }
        case _:
            return {}
