"""`conclave logs`: bring log lines in, remove old ones."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, BinaryIO

import typer
from rich.console import Console

from app.cli.connecting import Server, Target, Tenant, Token, connected, opened_storage
from app.cli.output import FAILED, OK, AsJson, DocumentBar, print_json, run_async
from app.client.connection import Connection
from extras.logs.book import JSON_LINES, Delivery, RefusedLine
from extras.logs.lines import make_months
from extras.logs.reading import count_older, prune_logs

log_commands = typer.Typer(no_args_is_help=True, help="System logs.")
_BATCH_LINES, _BATCH_BYTES = 2_000, 200_000
"""What is sent at a time; small enough for every server."""
_AGE = re.compile(r"(\d{1,5})\s?d(?:ays?)?")


@log_commands.command("ingest")
@run_async
async def ingest(
    files: Annotated[list[typer.FileBinaryRead], typer.Argument(help="Files of JSON lines; - is the standard input.")],
    tenant: Tenant = "",
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> int:
    """Bring log lines in; lines that are there already are kept once."""
    target = Target(f"{tenant}/", server, token)
    out, console, whole = Console(), Console(stderr=True), Delivery()
    async with connected(target, console, as_json=as_json, work=False) as logs:
        for file in files:
            delivery = await _bring_in(logs, file, console)
            whole = whole.and_then(delivery)
            _tell_refused(file.name, delivery, console)
            if as_json:
                print_json(out, {"file": file.name, **delivery.model_dump(mode="json")})
    if not as_json:
        out.print(f"{whole.stored} lines stored, {whole.repeated} were there, {whole.refused_lines} refused")
    return FAILED if whole.refused_lines else OK


async def _bring_in(logs: Connection, source: typer.FileBinaryRead, console: Console) -> Delivery:
    delivery, number, sent = Delivery(), 1, 0
    with DocumentBar(console, "bytes") as bar:
        for lines in _batches(source):
            delivery = delivery.and_then(await _deliver(logs, lines, number))
            number, sent = number + len(lines), sent + sum(map(len, lines))
            bar(sent, None, source.name)
    return delivery


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


def _tell_refused(name: str, delivery: Delivery, console: Console) -> None:
    for one in delivery.refused:
        console.print(f"{name}:{one.line}: {one.problem}", highlight=False, markup=False, soft_wrap=True)
    if (more := delivery.refused_lines - len(delivery.refused)) > 0:
        console.print(f"{name}: and {more} more", highlight=False, markup=False, soft_wrap=True)
