"""Searching log lines: the tool's storage call under row policies against bare SQL that comes to the same answer.

Run ``python -m bench.logs``. A million lines of one tenant and as many of others, over 90 days, in a server of its own;
medians of rounds taken in turn.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
from rich.console import Console
from rich.table import Table

from app.domain.principal import Principal, tenant_id_of, user_id_of
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade
from extras.logs.reading import SUMMARISE, LogCounts, LogFilter, filter_arguments, summarise_logs
from extras.logs.regex import compile_regex
from extras.logs.search import summarise_by_regex
from tests.databases import create_database

END = datetime(2026, 11, 20, tzinfo=UTC)
BEGIN = END - timedelta(days=90)
READER = Principal(
    tenant_id=tenant_id_of("large"),
    user_id=user_id_of(tenant_id_of("large"), "reader"),
    department="it",
    departments=frozenset({"it", "general"}),
    scopes=frozenset({"public", "internal", "private"}),
)
ALL = {"since": BEGIN, "until": END}
WEEK = {"since": END - timedelta(days=10), "until": END - timedelta(days=3)}
QUESTIONS: dict[str, LogFilter] = {
    "words + time + level": LogFilter(**ALL, terms=("failed", "login"), levels=("WARN", "ERROR")),
    "words + a week + level": LogFilter(**WEEK, terms=("failed", "login"), levels=("WARN", "ERROR")),
    "words + time": LogFilter(**ALL, terms=("failed", "login")),
    "time alone": LogFilter(**ALL),
}
_FILL = """
insert into system_logs (tenant_id, logged_at, level, source, department, scope, message)
select case when i % 2 = 0 then $1::uuid else ($2::uuid[])[1 + (i / 2) % cardinality($2::uuid[])] end,
       $3::timestamptz + i * (interval '90 days' / $4::bigint),
       case when i * 7919 % 100 < 4 then 'ERROR' when i * 7919 % 100 < 14 then 'WARN' else 'INFO' end,
       (array['vpn-gw-01', 'auth-01', 'mail-01', 'db-01', 'erp-01', 'fw-01', 'gitlab-01'])[1 + (i * 31) % 7],
       (array['it', 'general', 'hr'])[1 + (i * 17) % 3], (array['public', 'internal', 'private'])[1 + (i * 13) % 3],
       case (i * 104729 / 11) % 8
           when 0 then 'failed login for user u' || i % 977 || ' from 203.0.113.' || i % 250 || ': wrong password'
           when 1 then 'VPN session opened for user u' || i % 977 || ' from 10.0.' || i % 250 || '.7'
           when 2 then 'slow query: ' || i % 9000 || ' ms, ' || i % 77 || ' rows'
           when 3 then 'HTTP 503 for GET /orders/' || i || ': no database connection'
           when 4 then 'backup job erp-db finished in ' || i % 300 || ' min, 310 GB'
           when 5 then 'disk usage ' || i % 100 || ' % on /var/lib/postgresql'
           when 6 then 'connection to db-01 timed out after ' || i % 60 || ' s, retry ' || i % 3
           else 'pipeline ' || i || ' passed for project acme/web' end
from generate_series(1::bigint, $4::bigint) as i
"""
# As somebody would write it who need not think of rights held by the database: the asker's rights as constants, the
# words as patterns, one pass, the newest line of each kind by its time.
_BARE = """
with g as materialized (
    select source, level, kind, count(*) as n, min(logged_at) as first, max(logged_at) as last
    from system_logs where {where} group by 1, 2, 3
), k as (
    select level, kind, sum(n) as n, max(last) as last from g group by 1, 2 order by 3 desc, 4 desc limit 200
)
select 'all' as part, null as name, sum(n)::bigint as lines, min(first) as first, max(last) as last, null as message
from g
union all select 'source', source, sum(n)::bigint, null, null, null from g group by source
union all select 'level', level, sum(n)::bigint, null, null, null from g group by level
union all select 'kind', null, k.n::bigint, null, k.last, l.message from k cross join lateral (
    select message from system_logs s where {where} and logged_at = k.last and s.level = k.level and s.kind = k.kind
    limit 1) as l
"""


def bare(wanted: LogFilter) -> str:
    """The question as plain SQL."""
    where = (
        f"tenant_id = '{READER.tenant_id}' and scope in ('public', 'internal', 'private')"
        " and (scope <> 'private' or department in ('it', 'general'))"
        f" and logged_at >= '{wanted.since}' and logged_at < '{wanted.until}'"
    )
    if wanted.levels:
        where += f" and level in ({', '.join(repr(level) for level in wanted.levels)})"
    # A word's beginning is asked for by a pattern; the pieces before it only spare time, and they do here as well.
    where += "".join(f" and lower(message) like '%{word}%'" for word in wanted.terms)
    where += "".join(f" and lower(message) ~ '(^|[^[:alnum:]]){word}'" for word in wanted.terms)
    return _BARE.format(where=where)


async def prepare(server: EmbeddedServer, lines: int) -> tuple[Database, "asyncpg.Connection[asyncpg.Record]"]:
    """A database with the lines; the service's door to it, and a superuser's, whom no policy binds."""
    create_database(server, "logs")
    await asyncio.to_thread(upgrade, server.url("conclave_owner", "logs"))
    superuser = await asyncpg.connect(server.url("postgres", "logs"))
    await superuser.execute("select set_config('app.roles', '{admin}', false)")
    await superuser.fetchval("select make_log_months($1, $2)", BEGIN, END)
    others = [tenant_id_of(f"other-{number}") for number in range(9)]
    await superuser.execute(_FILL, READER.tenant_id, others, BEGIN, lines * 2, timeout=600)
    await superuser.execute("vacuum analyze")
    await superuser.execute("set plan_cache_mode = force_custom_plan; set jit = off")
    return await Database.connect(server.url("conclave_app", "logs"), pool_size=2), superuser


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    """Milliseconds and what came of it."""
    began = time.perf_counter()
    result = await work()
    return (time.perf_counter() - began) * 1000, result


async def compare(database: Database, superuser: "asyncpg.Connection[asyncpg.Record]", rounds: int) -> Table:
    """Each question both ways, in turn."""
    table = Table("question", "lines", "bare SQL ms", "under policies ms", "ratio")
    for name, wanted in QUESTIONS.items():
        statement, times = bare(wanted), {"bare": list[float](), "service": list[float]()}

        async def service(wanted: LogFilter = wanted) -> LogCounts:
            async with database.principal_scope(READER, durable=False) as tx:
                return (await summarise_logs(tx, wanted)).counts

        async def plain(statement: str = statement) -> int:
            rows = await superuser.fetch(statement)
            return next(int(row["lines"] or 0) for row in rows if row["part"] == "all")

        for number in range(rounds + 1):
            spent, found = await timed(plain)
            taken, counts = await timed(service)
            assert counts.total == found, (counts.total, found)
            if number:  # the first round only warms up
                times["bare"].append(spent)
                times["service"].append(taken)
        ratio = statistics.median(one / other for one, other in zip(times["service"], times["bare"], strict=True))
        table.add_row(
            name, f"{found:,}", *(f"{statistics.median(each):.0f}" for each in times.values()), f"{ratio:.2f}"
        )
    return table


async def regexes(database: Database, rounds: int) -> Table:
    """Expressions, matched outside the database."""
    table = Table("expression", "piece looked for first", "matches", "looked through", "ms")
    for text in ("time(d )?out after [5-9]\\d s", "wrong|refused", "orders/\\d+7: no"):
        regex, spent = compile_regex(text), list[float]()

        async def search(regex: Any = regex) -> Any:
            until = asyncio.get_running_loop().time() + 60
            async with database.principal_scope(READER, durable=False) as tx:
                return await summarise_by_regex(tx, LogFilter(**ALL), regex, until=until)

        for _ in range(rounds):
            took, (summary, looked) = await timed(search)
            spent.append(took)
        told = f"{looked.lines:,} of {looked.of:,}"
        table.add_row(text, regex.literal, f"{summary.counts.total:,}", told, f"{statistics.median(spent):.0f}")
    return table


async def essentials(database: Database) -> list[str]:
    """How the first question is read: scans, what they are bound by, rows and time."""
    async with database.principal_scope(READER, durable=False) as tx:
        wanted = next(iter(QUESTIONS.values()))
        rows = await tx.driver.fetch(f"explain (analyze, costs off) {SUMMARISE}", *filter_arguments(tx, wanted), 200)
    marks = ("Scan using", "Seq Scan", "Aggregate", "Append", "Execution", "Planning Time", "Rows Removed")
    return [row[0][:150] for row in rows if any(mark in row[0] for mark in marks)][:24]


async def run(given: argparse.Namespace, server: EmbeddedServer) -> None:
    """Everything, printed."""
    out = Console(width=150)
    database, superuser = await prepare(server, given.lines)
    try:
        out.print(await compare(database, superuser, given.rounds))
        out.print(await regexes(database, min(given.rounds, 3)))
        out.print("\n".join(await essentials(database)), markup=False, highlight=False)
    finally:
        await database.dispose()
        await superuser.close()


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m bench.logs", description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000, help="of the tenant that is asked about")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        server = start_embedded(Path(folder), durable=False)
        try:
            asyncio.run(run(given, server))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
