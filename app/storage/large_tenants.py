"""Indexes of a large tenant's own: an approximate one over its vectors in one space, and two over its words.

They are partial indexes of the shared tables. No row moves when a tenant grows or shrinks, nothing is locked, and no
other tenant's rows are ever in them. They are built while everybody reads and writes; until one is ready the tenant is
searched exactly. A process that dies on the way leaves at most an index nobody uses, which the next one removes.

Everything here runs on a connection of the owner role, outside a transaction, and sees one tenant at a time.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

import asyncpg

from app.storage.database import open_driver
from app.storage.search.statements import indexed_vector

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

LARGE_CHUNKS, SMALL_CHUNKS = 10_000, 7_000
"""From so many chunks in one space a tenant gets indexes of its own; below the second number it loses them."""
MOST_LARGE_TENANTS = 20
"""Every index of the shared tables costs the planning of every search about 10 µs, so only few tenants get one."""
_MAX_DIMENSIONS = 4_000
"""Longer vectors cannot be indexed; they are compared one by one."""
_NEIGHBOURS, _EF_CONSTRUCTION = 24, 128
_ADVISORY_KEY = 7_202_611_22
"""Only one process at a time builds or removes indexes."""
_WORDS = ("tsv", "tsv_folded")

Action = Literal["promoted", "demoted"]


class Change(NamedTuple):
    """What was done for one tenant and one space."""

    tenant_id: UUID
    space: str
    action: Action
    chunks: int


class _Space(NamedTuple):
    """Vectors of one tenant in one space."""

    chunks: int
    dimensions: int


async def balance(
    owner_url: str, tenant_ids: Sequence[UUID], *, large: int = LARGE_CHUNKS, small: int = SMALL_CHUNKS
) -> list[Change]:
    """Give each of the tenants that grew beyond `large` chunks its own indexes, and take them from those below `small`.

    Safe to call at any time and often: what is in order is left alone. Does nothing while another process is at it.
    Building takes about half a minute for 70,000 chunks and slows nobody but by the CPU it uses.
    """
    changes: list[Change] = []
    async with _alone(owner_url) as owner:
        if owner is not None:
            for tenant_id in tenant_ids:
                changes += await _balance_one(owner, tenant_id, large, small)
    return changes


@asynccontextmanager
async def _alone(owner_url: str) -> "AsyncIterator[Connection | None]":
    """A connection of the owner, or None while another process holds the lock."""
    owner = await open_driver(owner_url)
    try:
        is_alone = await owner.fetchval("select pg_try_advisory_lock($1)", _ADVISORY_KEY)
        yield owner if is_alone else None
    finally:
        await owner.close()


async def _balance_one(owner: Connection, tenant_id: UUID, large: int, small: int) -> list[Change]:
    await owner.execute("select set_config('app.tenant_id', $1, false)", str(tenant_id))
    spaces = await _spaces(owner, tenant_id)
    known = await _known(owner, tenant_id)
    changes = []
    for space in sorted({*spaces, *known}):
        found = spaces.get(space, _Space(0, 0))
        wanted = found.chunks >= (small if space in known else large) and 0 < found.dimensions <= _MAX_DIMENSIONS
        if wanted and (space in known or await _count_large(owner, tenant_id) < MOST_LARGE_TENANTS):
            done = await _promote(owner, tenant_id, space, found)
            changes += [Change(tenant_id, space, "promoted", found.chunks)] if done else []
        elif space in known:
            await _demote(owner, tenant_id, space)
            changes.append(Change(tenant_id, space, "demoted", found.chunks))
    await _clear(owner, tenant_id)
    return changes


async def _spaces(owner: Connection, tenant_id: UUID) -> dict[str, _Space]:
    rows = await owner.fetch(
        "select n.space, n.chunks, (select vector_dims(v.embedding) from chunk_vectors v"
        " where v.tenant_id = $1 and v.embedding_model = n.space limit 1) as dimensions from ("
        " select embedding_model as space, count(*) as chunks from chunk_vectors where tenant_id = $1 group by 1) n",
        tenant_id,
    )
    return {row["space"]: _Space(row["chunks"], row["dimensions"]) for row in rows}


async def _known(owner: Connection, tenant_id: UUID) -> dict[str, int]:
    """The spaces searches may walk an index of."""
    kept: str | None = await owner.fetchval("select own_indexes::text from tenants where tenant_id = $1", tenant_id)
    known: dict[str, int] = json.loads(kept) if kept else {}
    return known


async def _promote(owner: Connection, tenant_id: UUID, space: str, found: _Space) -> bool:
    """Build what is missing, then let searches use it; False when all was there."""
    built = [
        await _build(owner, tenant_id, name, f"on chunks using gin ({column}) with (gin_pending_list_limit = 256)")
        for column, name in _word_indexes(tenant_id)
    ]
    vector = indexed_vector("embedding", found.dimensions)
    # One worker: the others would need shared memory that containers seldom have, and the service needs its cores.
    await owner.execute(
        "select set_config('maintenance_work_mem', $1, false),"
        " set_config('max_parallel_maintenance_workers', '0', false)",
        _memory(found),
    )
    method = (
        f"on chunk_vectors using hnsw (({vector}) halfvec_ip_ops)"
        f" with (m = {_NEIGHBOURS}, ef_construction = {_EF_CONSTRUCTION})"
    )
    built.append(await _build(owner, tenant_id, _vector_index(tenant_id, space), method, space=space))
    await owner.execute(
        "update tenants set own_indexes = own_indexes || jsonb_build_object($2::text, $3::bigint) where tenant_id = $1",
        tenant_id,
        space,
        found.chunks,
    )
    return any(built)


async def _build(owner: Connection, tenant_id: UUID, name: str, method: str, *, space: str | None = None) -> bool:
    is_valid = await owner.fetchval("select indisvalid from pg_index where indexrelid = to_regclass($1)", name)
    if is_valid:
        return False
    if is_valid is not None:  # a process died while it was building it
        await owner.execute(f"drop index concurrently {name}")
    where = f"tenant_id = '{tenant_id}'"
    if space is not None:
        # What an index holds stands in its definition and cannot be a bound parameter; the server quotes it.
        where += f" and embedding_model = {await owner.fetchval('select quote_literal($1)', space)}"
    await owner.execute(f"create index concurrently {name} {method} where {where}")
    return True


async def _demote(owner: Connection, tenant_id: UUID, space: str) -> None:
    await owner.execute(
        "update tenants set own_indexes = own_indexes - $2::text where tenant_id = $1", tenant_id, space
    )


async def _clear(owner: Connection, tenant_id: UUID) -> None:
    """Remove the indexes of the tenant that no search may use (any more)."""
    known = await _known(owner, tenant_id)
    kept = {_vector_index(tenant_id, space) for space in known}
    if known:
        kept |= {name for _, name in _word_indexes(tenant_id)}
    there = await owner.fetch(
        "select relname from pg_class where relkind = 'i' and relnamespace = current_schema()::regnamespace"
        " and relname like $1",
        f"own\\_{tenant_id.hex}\\_%",
    )
    for row in there:
        if row["relname"] not in kept:
            await owner.execute(f"drop index concurrently {row['relname']}")


async def _count_large(owner: Connection, tenant_id: UUID) -> int:
    """How many other tenants have indexes of their own."""
    count: int = await owner.fetchval(
        "select count(distinct substr(relname, 5, 32)) from pg_class where relkind = 'i'"
        " and relname like 'own\\_%\\_v%' and relname not like $1",
        f"own\\_{tenant_id.hex}\\_%",
    )
    return count


def _word_indexes(tenant_id: UUID) -> list[tuple[str, str]]:
    """(column, name) of each."""
    return [(column, f"own_{tenant_id.hex}_{column}") for column in _WORDS]


def _vector_index(tenant_id: UUID, space: str) -> str:
    return f"own_{tenant_id.hex}_v{hashlib.sha256(space.encode()).hexdigest()[:12]}"


def _memory(found: _Space) -> str:
    """Enough that the whole graph is built in memory, a gigabyte at most."""
    kilobytes = found.chunks * (2 * found.dimensions + 1_024) // 1_024
    return f"{min(max(kilobytes * 5 // 4, 65_536), 1_048_576)}kB"
