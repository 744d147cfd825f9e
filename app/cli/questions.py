"""`conclave ask` and `conclave chat`: the events of a run, shown as they come, then the answer."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.live import Live

from app.cli.connecting import AsUser, Server, Target, Token, connected
from app.cli.display import RunView, show_answer
from app.cli.output import FAILED, OK, AsJsonResult, print_json, print_problem, run_async
from app.client.connection import Connection, question_body
from app.errors import AppError

_PROMPT = "Carry out this plan? y, n, or what to plan differently: "
_YES = frozenset({"y", "yes", "c", "có"})
_NO = frozenset({"n", "no", "k", "không"})


@run_async
async def ask(
    query: Annotated[str, typer.Argument(help="The question.")],
    user: AsUser = "",
    as_json: AsJsonResult = False,
    deep: Annotated[bool, typer.Option("--deep", help="The deep flow, for hard questions.")] = False,
    approve: Annotated[bool, typer.Option("--approve", help="Ask me before a deep plan runs.")] = False,
    as_of: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Answer by the rules of this day.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, readable=True, help="Attach a file; may be given several times."),
    ] = None,
    server: Server = "",
    token: Token = "",
) -> int:
    """Ask one question and print the answer with its evidence."""
    out, progress = Console(), Console(stderr=True)
    async with connected(Target(user, server, token), progress, as_json=as_json) as connection:
        body = question_body(
            query, "deep" if deep else "auto", approve_plan=approve, as_of=as_of.date() if as_of else None,
            files=[str(await connection.attach(path)) for path in file or ()],
        )  # fmt: skip
        answer = await (ask_as_json if as_json else ask_and_show)(connection, body, out, progress)
    return FAILED if answer.get("error", True) and answer.get("outcome") in (None, "failed") else OK


@run_async
async def chat(user: AsUser = "", server: Server = "", token: Token = "") -> int:
    """Ask one question after another in one conversation; an empty line ends it."""
    out, progress = Console(), Console(stderr=True)
    session_id: str | None = None
    async with connected(Target(user, server, token), progress) as connection:
        while query := (await asyncio.to_thread(_read_line, input, "? ", "")).strip():
            try:
                body = question_body(query, session_id=session_id)
                answer = await ask_and_show(connection, body, out, progress)
            except AppError as error:
                print_problem(False, error.code, error.detail)
                continue
            session_id = answer.get("session_id", session_id)
    return OK


async def ask_as_json(
    connection: Connection, body: Mapping[str, Any], out: Console, progress: Console
) -> dict[str, Any]:
    """Print every event as one JSON line, then the answer alone; a plan is asked about on `progress`. Returns the
    answer."""
    view, answer = RunView(str(body["query"])), dict[str, Any]()
    async for told in connection.run(body):
        print_json(out, {"seq": told.seq, "event": told.type, "data": told.data})
        view.take(told.type, told.data)
        if told.type == "interrupt":
            await _decide(connection, view, told.data, progress)
        answer = told.ending or answer
    print_json(out, answer)
    return answer


async def ask_and_show(
    connection: Connection, body: Mapping[str, Any], out: Console, progress: Console
) -> dict[str, Any]:
    """Show the run while it goes on `progress`, then the answer on `out`. Returns the answer."""
    view, answer = RunView(str(body["query"])), dict[str, Any]()
    with Live(view, console=progress, transient=True, refresh_per_second=12) as live:
        async for told in connection.run(body):
            view.take(told.type, told.data)
            if told.type == "interrupt":
                live.stop()
                await _decide(connection, view, told.data, progress)
                live.start()
            answer = told.ending or answer
    show_answer(out, answer, view)
    return answer


async def _decide(connection: Connection, view: RunView, waiting: Mapping[str, Any], console: Console) -> None:
    """Ask a person about a plan that waits, and send the decision."""
    decision = await decide(console, view.plan_table(), waiting)
    await connection.send("POST", f"/tasks/{view.task_id}/approve", body=decision)


async def decide(console: Console, plan: RenderableType, waiting: Mapping[str, Any]) -> dict[str, Any]:
    """Show the plan of an `interrupt` event and ask until something is said; where nobody can be asked it is refused.
    Blocks no other work of this process."""
    console.print(plan)
    decision = None
    while decision is None:
        decision = decision_of(await asyncio.to_thread(_read_line, console.input, _PROMPT, "n"))
    return {**decision, "attempt": waiting["attempt"]}


def decision_of(typed: str) -> dict[str, Any] | None:
    """What was typed, as the body of a decision; None when nothing was. Whatever is neither yes nor no is feedback."""
    said = typed.strip()
    match said.casefold():
        case "":
            return None
        case one if one in _YES:
            return {"approved": True}
        case one if one in _NO:
            return {"approved": False}
        case _:
            return {"approved": False, "feedback": said}


def _read_line(read: Callable[[str], str], prompt: str, at_the_end: str) -> str:
    """A typed line; `at_the_end` where nobody types any more."""
    try:
        return read(prompt)
    except EOFError:
        return at_the_end
