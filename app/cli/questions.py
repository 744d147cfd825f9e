"""`conclave ask` and `conclave chat`."""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from app.cli import asking
from app.cli.output import FAILED, OK, AsJsonResult, finish, tell_problem
from app.errors import AppError
from app.settings import Settings

AsUser = Annotated[str, typer.Option("--as", metavar="TENANT/USER", help="Who asks.")]
Server = Annotated[str, typer.Option(envvar="CONCLAVE_SERVER", help="Ask this server instead of this process.")]
Token = Annotated[str, typer.Option(envvar="CONCLAVE_TOKEN", help="Bearer token for --server.")]


def ask(
    query: Annotated[str, typer.Argument(help="The question.")],
    user: AsUser = "acme/lan",
    as_json: AsJsonResult = False,
    deep: Annotated[bool, typer.Option("--deep", help="The deep flow, for hard questions.")] = False,
    approve: Annotated[bool, typer.Option("--approve", help="Ask me before a deep plan runs.")] = False,
    as_of: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Answer by the rules of this day.")
    ] = None,
    file: Annotated[list[Path] | None, typer.Option(help="Attach a file; may be given several times.")] = None,
    server: Server = "",
    token: Token = "",
) -> None:
    """Ask one question and print the answer with its evidence."""
    body = asking.body_of(query, deep=deep, approve=approve, as_of=_day(as_of))
    finish(_ask(body, file or [], asking.Target(user, server, token), as_json))


async def _ask(body: dict[str, Any], files: Sequence[Path], target: asking.Target, as_json: bool) -> int:
    out, progress = Console(), Console(stderr=True)
    async with asking.open_line(target, Settings(), progress) as line:
        body = await asking.with_files(line, body, files)
        if as_json:
            answer = await asking.ask_as_json(line, body, out, progress)
        else:
            answer = await asking.ask_and_show(line, body, out, progress)
    return FAILED if answer.get("error", True) and answer.get("outcome") in (None, "failed") else OK


def chat(user: AsUser = "acme/lan", server: Server = "", token: Token = "") -> None:
    """Ask one question after another in one conversation; an empty line ends it."""
    finish(_chat(asking.Target(user, server, token)))


async def _chat(target: asking.Target) -> int:
    out, progress = Console(), Console(stderr=True)
    session_id: str | None = None
    async with asking.open_line(target, Settings(), progress) as line:
        while query := (await asyncio.to_thread(_prompt)).strip():
            try:
                answer = await asking.ask_and_show(line, asking.body_of(query, session_id=session_id), out, progress)
            except AppError as error:
                tell_problem(False, error.code, error.detail)
                continue
            session_id = answer.get("session_id", session_id)
    return OK


def _prompt() -> str:
    try:
        return input("? ")
    except EOFError:
        return ""


def _day(moment: datetime | None) -> date | None:
    return None if moment is None else moment.date()
