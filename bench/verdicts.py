"""``python -m bench.verdicts``: what it costs an answer to look up what is known to contradict its quotes.

One tenant with many findings, a third of them decided, and answers with eight passages each. Looked up as an answer
does it (a pooled connection, the asker's rights, row policies, the other passages whole), next to bare asyncpg on the
same rows without any rights, turn by turn in one run. Ends with 1 when the median is above two milliseconds.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from uuid import UUID

import asyncpg
from rich.console import Console
from rich.table import Table

from app.domain.principal import Principal
from app.retrieval.cache import Corpus
from app.storage.database import Database, open_driver
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade
from bench.corpora import reader

TODAY, LIMIT_MS = date(2026, 11, 21), 2.0
_CHUNKS_EACH, _QUOTES = 20, 8
_SETUP = """
create function made(what text, number bigint) returns uuid language sql immutable return md5(what || number)::uuid;
insert into tenants (tenant_id, name) values ('{tenant}', 'bench');
insert into documents (tenant_id, document_id, external_id, title, url, department, scope, lang, authority, created_at,
    status, current_version, latest_version, is_current)
select '{tenant}', made('d', d), 'd' || d, 'Document ' || d, 'https://bench.example/' || d, 'hr',
    (array['public', 'internal', 'private'])[1 + d % 3], 'en', 'policy', '2026-01-01', 'ready', 1, 1, true
from generate_series(0, {documents} - 1) d;
insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope, created_by,
    published_at)
select tenant_id, document_id, 1, '', '', department, scope, tenant_id, now() from documents;
insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded, department, scope,
    is_current)
select d.tenant_id, made('c', n), d.document_id, 1, n % {each}, repeat('Employees get ' || n || ' days. ', 30), '', '',
    d.department, d.scope, true
from generate_series(0, {documents}::bigint * {each} - 1) n
join documents d on d.document_id = made('d', n / {each});
insert into document_findings (tenant_id, finding_id, kind, document_id, chunk_id, other_document_id, other_chunk_id,
    unit, sentence, other_sentence, similarity, score, version, other_version, status, verdict, holds, judge,
    decided_by, decided_at)
select '{tenant}', made('f', n), 'contradiction', made('d', a / {each}), made('c', a), made('d', b / {each}),
    made('c', b), 'day', 'Employees get ' || a || ' days.', 'Employees get ' || b || ' days.', 0.8, 0.9, 1, 1,
    case when n % 3 = 0 then 'decided' else 'open' end, case when n % 3 = 0 then 'holds' end,
    case when n % 3 = 0 then made('d', a / {each}) end, case when n % 3 = 0 then 'person' else 'rule' end,
    case when n % 3 = 0 then '{tenant}'::uuid end, case when n % 3 = 0 then now() end
from generate_series(0, {rows}::bigint - 1) n cross join lateral (
    select (n * 7919) % ({documents}::bigint * {each}) as a) x cross join lateral (
    select (a + {each} + n * 104729 % (({documents}::bigint - 2) * {each})) % ({documents}::bigint * {each}) as b) y;
analyze
"""
_BARE = """
select f.*, c.*, d.title from document_findings f
join chunks c on c.tenant_id = f.tenant_id
    and c.chunk_id = case when f.chunk_id = any($2::uuid[]) then f.other_chunk_id else f.chunk_id end
join documents d on d.tenant_id = f.tenant_id and d.document_id = c.document_id
where f.tenant_id = $1 and (f.chunk_id = any($2::uuid[]) or f.other_chunk_id = any($2::uuid[]))
"""
Look = Callable[[list[UUID]], Awaitable[int]]
"""Looks up what is known of some chunks; how much that is."""


async def fill(superuser: asyncpg.Connection, tenant: UUID, rows: int) -> list[UUID]:
    """Write the rows; gives the ids of the chunks."""
    documents = max(10, rows // _CHUNKS_EACH)
    for statement in _SETUP.format(tenant=tenant, documents=documents, each=_CHUNKS_EACH, rows=rows).split(";\n"):
        await superuser.execute(statement)
    return [row["chunk_id"] for row in await superuser.fetch("select chunk_id from chunks order by chunk_id")]


async def measure(server: EmbeddedServer, rows: int, rounds: int, out: Console) -> float:
    """Print the table; gives the median of what an answer pays, in milliseconds."""
    who: Principal = reader("bench")
    superuser = await open_driver(server.url("postgres"))
    database = await Database.connect(server.app_url)
    began = time.perf_counter()
    chunks = await fill(superuser, who.tenant_id, rows)
    out.print(f"{rows} findings about {len(chunks)} passages written in {time.perf_counter() - began:.0f} s")
    corpus = Corpus(database, "s")

    async def answer(ids: list[UUID]) -> int:
        return len(await corpus.known(who, ids, TODAY, None))

    async def bare(ids: list[UUID]) -> int:
        return len(await superuser.fetch(_BARE, who.tenant_id, ids))

    async def nothing(_ids: list[UUID]) -> int:
        return int(await superuser.fetchval("select 0"))

    looks: dict[str, Look] = {"an answer": answer, "bare asyncpg, no rights": bare, "a round trip": nothing}
    times, found = {name: list[float]() for name in looks}, dict.fromkeys(looks, 0)
    rng = random.Random(5)
    for number in range(rounds + 20):
        ids = rng.sample(chunks, min(_QUOTES, len(chunks)))
        for name, look in looks.items():
            started = time.perf_counter()
            known = await look(ids)
            if number >= 20:
                times[name].append((time.perf_counter() - started) * 1000)
                found[name] += known
    await database.dispose()
    await superuser.close()
    return report(times, {name: count / rounds for name, count in found.items()}, rows, out)


def report(times: dict[str, list[float]], found: dict[str, float], rows: int, out: Console) -> float:
    """A table of medians, and the ratio to the bare statement; gives the first median."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    table = Table(title=f"known contradictions of {_QUOTES} passages · {rows} findings", title_justify="left")
    for heading in ("who looks", "p50 ms", "p95 ms", "known", "p50 / bare"):
        table.add_column(heading, justify="left" if heading == "who looks" else "right")
    bare = medians["bare asyncpg, no rights"]
    for name, median in medians.items():
        p95 = sorted(times[name])[int(0.95 * len(times[name]))]
        table.add_row(name, f"{median:.2f}", f"{p95:.2f}", f"{found[name]:.1f}", f"{median / bare:.1f}")
    out.print(table)
    return medians["an answer"]


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=400)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        server = start_embedded(Path(folder))
        try:
            upgrade(server.owner_url)
            median = asyncio.run(measure(server, given.rows, given.rounds, Console()))
        finally:
            server.stop()
    sys.exit(median > LIMIT_MS)


if __name__ == "__main__":
    main()
