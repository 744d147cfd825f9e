"""The `conclave` command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not available (database, server)."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import typer
from pydantic import ValidationError
from rich.console import Console

from app import telemetry
from app.agents.spec import ALL_QUEUES
from app.api.auth import Claims
from app.api.problem import describe_validation
from app.cli import admin, asking, documents, evaluation, logs, mcp, serving, upkeep
from app.cli.output import FAILED, OK, UNAVAILABLE, USAGE, finish, print_json
from app.errors import AppError, ErrorCode
from app.settings import Settings

_USAGE_CODES = {ErrorCode.PAYLOAD_INVALID, ErrorCode.VALIDATION_FAILED}
_UNAVAILABLE_CODES = {ErrorCode.DATABASE_UNAVAILABLE, ErrorCode.LLM_UNAVAILABLE, ErrorCode.OVERLOADED}

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
app.add_typer(admin.tenant_commands, name="tenant")
app.add_typer(admin.user_commands, name="user")
app.add_typer(upkeep.db_commands, name="db")
app.add_typer(documents.document_commands, name="documents")
app.add_typer(logs.log_commands, name="logs")
app.add_typer(mcp.mcp_commands, name="mcp")
app.add_typer(evaluation.eval_commands, name="eval")
app.command("ingest")(documents.ingest)
app.command("explain-access")(documents.explain_access)

AsUser = Annotated[str, typer.Option("--as", metavar="TENANT/USER", help="Who asks.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line; the last line is the result.")]
Server = Annotated[str, typer.Option(envvar="CONCLAVE_SERVER", help="Ask this server instead of this process.")]
AsOf = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Answer by the rules of this day.")]
Token = Annotated[str, typer.Option(envvar="CONCLAVE_TOKEN", help="Bearer token for --server.")]


def main() -> None:
    """Run the command line; every expected failure becomes one sentence and an exit code."""
    telemetry.configure("WARNING")
    as_json = "--json" in sys.argv
    try:
        app()
    except AppError as error:
        _tell(as_json, error.code, error.detail)
        raise SystemExit(_exit_code(error.code)) from None
    except ValidationError as error:
        _tell(as_json, ErrorCode.PAYLOAD_INVALID, describe_validation(error.errors()))
        raise SystemExit(USAGE) from None
    except (aiohttp.ClientError, TimeoutError) as error:
        _tell(as_json, ErrorCode.OVERLOADED, f"The server cannot be reached ({type(error).__name__}).")
        raise SystemExit(UNAVAILABLE) from None


def _exit_code(code: ErrorCode) -> int:
    if code in _UNAVAILABLE_CODES:
        return UNAVAILABLE
    return USAGE if code in _USAGE_CODES else FAILED


def _tell(as_json: bool, code: ErrorCode, detail: str) -> None:
    if as_json:
        problem = {"error": True, "error_code": code.value, "error_message": detail, "outcome": "failed"}
        print_json(Console(), problem)
    else:
        Console(stderr=True).print(f"[red]{code.value}[/] {detail}", highlight=False)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
) -> None:
    """Serve the API and the page."""
    raise typer.Exit(serving.serve(Settings(), host, port, workers))


@app.command()
def worker(
    queues: Annotated[
        str,
        typer.Option(help="Comma separated: chat, ingest, and agents whose steps are done here; all = every one."),
    ] = ALL_QUEUES,
    show: Annotated[bool, typer.Option("--list", help="Print the queues and what waits in them, and leave.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run questions, documents and steps of remote agents from their queues, on this or any other machine."""
    if show:
        finish(serving.list_queues(Settings(), as_json))
    finish(serving.work(Settings(), admin.names(queues)))


@app.command()
def ask(
    query: Annotated[str, typer.Argument(help="The question.")],
    user: AsUser = "acme/lan",
    as_json: AsJson = False,
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


@app.command()
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
                _tell(False, error.code, error.detail)
                continue
            session_id = answer.get("session_id", session_id)
    return OK


def _prompt() -> str:
    try:
        return input("? ")
    except EOFError:
        return ""


@app.command()
def token(
    tenant: Annotated[str, typer.Option()] = "acme",
    user: Annotated[str, typer.Option()] = "lan",
    department: Annotated[str, typer.Option(help="Default: the stored user's.")] = "",
    permissions: Annotated[str, typer.Option(help="Comma separated; default: the stored user's.")] = "",
    role: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds.")] = 3600,
) -> None:
    """Print a bearer token, and nothing else."""
    changes: dict[str, object] = {"roles": tuple(role)} if role else {}
    if department:
        changes |= {"department": department, "departments": (department,)}
    if permissions:
        changes |= {"permissions": admin.names(permissions)}
    if department and permissions:
        claims = Claims.model_validate({"sub": user, "tenant_id": tenant, "name": user, **changes})
        typer.echo(admin.sign_token(Settings(), claims, ttl))
        return
    finish(admin.print_stored_token(Settings(), f"{tenant}/{user}", changes, ttl))


@app.command()
def seed(as_json: AsJson = False) -> None:
    """Bring the demo tenants, users, documents and logs into the database; what is there already is skipped."""
    finish(admin.seed(Settings(), as_json))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Print the settings (secrets hidden) and check that everything works."""
    finish(admin.doctor(Settings(), as_json))


def _day(moment: datetime | None) -> date | None:
    return None if moment is None else moment.date()
