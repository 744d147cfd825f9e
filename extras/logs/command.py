"""`conclave logs`: bring log lines in, look at them, remove old ones."""

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console

from app.cli.connecting import Server, Target, Tenant, Token, connected, opened_storage
from app.cli.output import FAILED, OK, AsJson, DocumentBar, print_json, run_async
from app.client.connection import Connection
from app.errors import AppError, ErrorCode
from app.storage.logs import make_months
from app.text.dates import Period, period_in, read_moment
from extras.logs.book import JSON_LINES, Delivery, LogPage, RefusedLine, words_of
from extras.logs.reading import count_older, prune_logs

log_commands = typer.Typer(no_args_is_help=True, help="System logs.")
_BATCH_LINES, _BATCH_BYTES = 2_000, 200_000
"""What is sent at a time; small enough for every server."""
_AGE = re.compile(r"(\d{1,5})\s?d(?:ays?)?")


@log_commands.command("ingest")
@run_async
async def ingest(
    files: Annotated[list[str], typer.Argument(help="Files of JSON lines; - is the standard input.")],
    tenant: Tenant = "",
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> int:
    """Bring log lines in; lines that are there already are kept once."""
    target = Target(f"{tenant}/", server, token)
    out, console, whole = Console(), Console(stderr=True), Delivery()
    paths = [None if name == "-" else _readable(Path(name)) for name in files]
    async with connected(target, console, as_json=as_json, work=False) as logs:
        for name, path in zip(files, paths, strict=True):
            delivery = await _bring_in(logs, path, console)
            whole = whole.and_then(delivery)
            _tell_refused(name, delivery, console)
            if as_json:
                print_json(out, {"file": name, **delivery.model_dump(mode="json")})
    if not as_json:
        out.print(f"{whole.stored} lines stored, {whole.repeated} were there, {whole.refused_lines} refused")
    return FAILED if whole.refused_lines else OK


async def _bring_in(logs: Connection, path: Path | None, console: Console) -> Delivery:
    delivery, number, sent = Delivery(), 1, 0
    size = _size_of(path)
    with path.open("rb") if path else sys.stdin.buffer as source, DocumentBar(console, "bytes") as bar:
        for lines in _batches(source):
            delivery = delivery.and_then(await _deliver(logs, lines, number))
            number, sent = number + len(lines), sent + sum(map(len, lines))
            bar(sent, size, path.name if path else "stdin")
    return delivery


@log_commands.command("search")
@run_async
async def search(
    words: Annotated[str, typer.Argument(help="Beginnings of words of the messages.")] = "",
    tenant: Tenant = "",
    regex: Annotated[str, typer.Option(help="RE2, in either case.")] = "",
    level: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    source: Annotated[str, typer.Option(help="Beginning of a source's name.")] = "",
    since: Annotated[str, typer.Option(help="ISO, or words: yesterday, 'last 3 days', 'hôm qua'.")] = "",
    until: Annotated[str, typer.Option(help="ISO date (that day included) or time.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 50,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> int:
    """Show log lines, newest first; secrets in them are hidden."""
    period = _period(since, until, datetime.now(UTC))
    params = {
        "q": " ".join(words_of(words)), "regex": regex, "source": source.strip(),
        "since": period.since and period.since.isoformat(), "until": period.until and period.until.isoformat(),
    }  # fmt: skip
    asked = [(name, value) for name, value in params.items() if value]
    asked += [("level", name.strip().upper()) for name in level or ()]
    out, cursor, left, target = Console(), "", limit, Target(f"{tenant}/", server, token)
    async with connected(target, Console(stderr=True), as_json=as_json, work=False) as logs:
        while left > 0:
            page = await _page(logs, asked, cursor, min(left, 500))
            for line in page.lines:
                if as_json:
                    print_json(out, line.model_dump(mode="json"))
                else:
                    moment = f"{line.logged_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
                    out.print(
                        f"{moment} {line.source} {line.level} {line.message}",
                        highlight=False,
                        markup=False,
                        soft_wrap=True,
                    )
            left, cursor = left - len(page.lines), page.next_cursor or ""
            if not cursor:
                break
    return OK


@log_commands.command("prune")
@run_async
async def prune(
    older_than: Annotated[str, typer.Option(help="Days: 180d.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> int:
    """Remove the lines of all tenants that are older; whole months are dropped at once."""
    age = _AGE.fullmatch(older_than.strip())
    if age is None or int(age[1]) < 1:
        raise typer.BadParameter("say how many days, for example 180d")
    before = datetime.now(UTC) - timedelta(days=int(age[1]))
    async with opened_storage() as storage:
        operator = await storage.open_operator()
        async with operator.operator_scope() as tx:
            await make_months(tx, datetime.now(UTC), datetime.now(UTC) + timedelta(days=31))
        async with operator.operator_scope() as tx:
            count = await count_older(tx, before)
        if count and not yes:
            typer.confirm(f"Remove {count} lines from before {before:%Y-%m-%d} of all tenants?", abort=True, err=True)
        removed = 0
        if count:
            async with operator.operator_scope() as tx:
                removed = await prune_logs(tx, before)
    if as_json:
        print_json(Console(), {"removed": removed, "before": before.isoformat()})
    else:
        Console().print(f"{removed} lines removed")
    return OK


async def _deliver(logs: Connection, lines: list[bytes], first: int) -> Delivery:
    """Send lines, of which the first has the number `first` in its file."""
    told = await logs.send("POST", "/logs", lines=b"".join(lines), content_type=JSON_LINES)
    delivery = Delivery.model_validate(told)
    refused = (RefusedLine(line=one.line + first - 1, problem=one.problem) for one in delivery.refused)
    return delivery.model_copy(update={"refused": tuple(refused)})


async def _page(logs: Connection, asked: list[tuple[str, str]], cursor: str, limit: int) -> LogPage:
    place = [("limit", str(limit)), *([("cursor", cursor)] if cursor else [])]
    return LogPage.model_validate(await logs.send("GET", "/logs", params=[*asked, *place]))


def _batches(source: BinaryIO) -> Iterator[list[bytes]]:
    """Lines, as many as are sent at once."""
    lines = iter(source)
    while first := list(islice(lines, 1)):
        batch, size = first, len(first[0])
        for line in islice(lines, _BATCH_LINES - 1):
            batch.append(line)
            size += len(line)
            if size >= _BATCH_BYTES:
                break
        yield batch


def _size_of(path: Path | None) -> int | None:
    return path.stat().st_size if path else None


def _readable(path: Path) -> Path:
    if not path.is_file():
        raise AppError(ErrorCode.NOT_FOUND, f"There is no file {path}.", status=404)
    return path


def _tell_refused(name: str, delivery: Delivery, console: Console) -> None:
    for one in delivery.refused:
        console.print(f"{name}:{one.line}: {one.problem}", highlight=False, markup=False, soft_wrap=True)
    if (more := delivery.refused_lines - len(delivery.refused)) > 0:
        console.print(f"{name}: and {more} more", highlight=False, markup=False, soft_wrap=True)


def _period(since: str, until: str, now: datetime) -> Period:
    """The span the options name; words are understood in both languages. Raises `typer.BadParameter`."""
    first, last = read_moment(since, "en"), read_moment(until, "en", end=True)
    if until and last is None:
        raise typer.BadParameter("--until: an ISO date or time, for example 2026-11-12")
    if first is not None or not since:
        return Period(first, last)
    found = period_in(since, now, "en") or period_in(since, now, "vi")
    if found is None:
        raise typer.BadParameter("--since: an ISO date or time, or words such as yesterday or 'last 3 days'")
    return Period(found.since, last or found.until)
