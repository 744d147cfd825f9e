"""Indexes of a large tenant's own: an approximate one over its vectors in one space, and two over its words.

They are partial indexes of the shared tables: no row moves when a tenant grows or shrinks, nothing is locked, and no
other tenant's rows are ever in them. Until one is ready the tenant is searched exactly. A process that dies on the way
leaves at most an index nobody uses, which the next one removes.

Everything here runs on a connection of the owner role, outside a transaction, and sees one tenant at a time.
"""

import hashlib
import json
from collections.abc import Sequence
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
_SPACES = """
select n.space, n.chunks, (select vector_dims(v.embedding) from chunk_vectors v
    where v.tenant_id = $1 and v.embedding_model = n.space limit 1) as dimensions
from (select embedding_model as space, count(*) as chunks from chunk_vectors where tenant_id = $1 group by 1) n
"""
_OTHERS = """
select count(distinct substr(relname, 5, 32)) from pg_class
where relkind = 'i' and relname like 'own\\_%\\_v%' and relname not like $1
"""
_OWN = """
select relname from pg_class
where relkind = 'i' and relnamespace = current_schema()::regnamespace and relname like $1
"""
_USE = "update tenants set own_indexes = own_indexes || jsonb_build_object($2::text, $3::bigint) where tenant_id = $1"
_LEAVE = "update tenants set own_indexes = own_indexes - $2::text where tenant_id = $1"
# One worker: the others would need shared memory that containers seldom have, and the service needs its cores.
_BUILD_ALONE = """
select set_config('maintenance_work_mem', $1, false), set_config('max_parallel_maintenance_workers', '0', false)
"""


class Change(NamedTuple):
    """What was done for one tenant and one space."""

    tenant_id: UUID
    space: str
    action: Literal["promoted", "demoted"]
    chunks: int


async def balance(
    owner_url: str, tenant_ids: Sequence[UUID], *, large: int = LARGE_CHUNKS, small: int = SMALL_CHUNKS
) -> list[Change]:
    """Give each of the tenants that grew beyond `large` chunks its own indexes, and take them from those below `small`.

    Safe to call at any time and often: what is in order is left alone. Does nothing while another process is at it.
    Building takes about half a minute for 70,000 chunks and slows nobody but by the CPU it uses.
    """
    owner = await open_driver(owner_url)
    try:
        if not await owner.fetchval("select pg_try_advisory_lock($1)", _ADVISORY_KEY):
            return []
        return [change for one in tenant_ids for change in await _balance_one(owner, one, large, small)]
    finally:
        await owner.close()


async def _balance_one(owner: Connection, tenant_id: UUID, large: int, small: int) -> list[Change]:
    await owner.execute("select set_config('app.tenant_id', $1, false)", str(tenant_id))
    spaces = {space: (chunks, size) for space, chunks, size in await owner.fetch(_SPACES, tenant_id)}
    kept: str | None = await owner.fetchval("select own_indexes::text from tenants where tenant_id = $1", tenant_id)
    known: set[str] = set(json.loads(kept)) if kept else set()
    changes: list[Change] = []
    for space in sorted({*spaces, *known}):
        chunks, dimensions = spaces.get(space, (0, 0))
        wanted = chunks >= (small if space in known else large) and 0 < dimensions <= _MAX_DIMENSIONS
        others = 0 if space in known else await owner.fetchval(_OTHERS, f"own\\_{tenant_id.hex}\\_%")
        if wanted and others < MOST_LARGE_TENANTS:
            known.add(space)
            if await _promote(owner, tenant_id, space, chunks, dimensions):
                changes.append(Change(tenant_id, space, "promoted", chunks))
        elif space in known:
            known.remove(space)
            await owner.execute(_LEAVE, tenant_id, space)
            changes.append(Change(tenant_id, space, "demoted", chunks))
    used = {_vector_index(tenant_id, space) for space in known} | set(_word_indexes(tenant_id) if known else ())
    for row in await owner.fetch(_OWN, f"own\\_{tenant_id.hex}\\_%"):
        if row["relname"] not in used:
            await owner.execute(f"drop index concurrently {row['relname']}")
    return changes


async def _promote(owner: Connection, tenant_id: UUID, space: str, chunks: int, dimensions: int) -> bool:
    """Build what is missing, then let searches use it; False when all was there."""
    # Enough that the whole graph is built in memory, a gigabyte at most.
    kilobytes = min(max(chunks * (2 * dimensions + 1_024) // 1_024 * 5 // 4, 65_536), 1_048_576)
    await owner.execute(_BUILD_ALONE, f"{kilobytes}kB")
    where = f"where tenant_id = '{tenant_id}'"
    built = [
        await _build(owner, name, f"on chunks using gin ({column}) with (gin_pending_list_limit = 256) {where}")
        for name, column in _word_indexes(tenant_id).items()
    ]
    # What an index holds stands in its definition and cannot be a bound parameter; the server quotes it.
    where += f" and embedding_model = {await owner.fetchval('select quote_literal($1)', space)}"
    method = (
        f"on chunk_vectors using hnsw (({indexed_vector('embedding', dimensions)}) halfvec_ip_ops)"
        f" with (m = {_NEIGHBOURS}, ef_construction = {_EF_CONSTRUCTION}) {where}"
    )
    built.append(await _build(owner, _vector_index(tenant_id, space), method))
    await owner.execute(_USE, tenant_id, space, chunks)
    return any(built)


async def _build(owner: Connection, name: str, definition: str) -> bool:
    is_valid = await owner.fetchval("select indisvalid from pg_index where indexrelid = to_regclass($1)", name)
    if is_valid is False:  # a process died while it was building it
        await owner.execute(f"drop index concurrently {name}")
    if not is_valid:
        await owner.execute(f"create index concurrently {name} {definition}")
    return not is_valid


def _word_indexes(tenant_id: UUID) -> dict[str, str]:
    """The column of each, by name."""
    return {f"own_{tenant_id.hex}_{column}": column for column in ("tsv", "tsv_folded")}


def _vector_index(tenant_id: UUID, space: str) -> str:
    return f"own_{tenant_id.hex}_v{hashlib.sha256(space.encode()).hexdigest()[:12]}"
