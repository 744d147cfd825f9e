"""The health of a tenant's documents: findings about pairs of them, and what is wrong with single ones.

A finding is seen only by whoever may read both of its passages: the row policies say so, and every statement again.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple
from uuid import UUID

from app.storage.database import Transaction
from app.storage.neighbours import at_one_time, in_force, readable


class FindingRow(NamedTuple):
    """Two passages that contradict or repeat each other; field names are columns."""

    finding_id: UUID
    kind: Literal["contradiction", "duplicate"]
    document_id: UUID
    chunk_id: UUID
    other_document_id: UUID
    other_chunk_id: UUID
    unit: str
    value: str
    other_value: str
    sentence: str
    other_sentence: str
    similarity: float
    score: float


ItemRow = Mapping[str, Any]
"""A finding, or something wrong with one document, by the columns of `_PAGE`."""
Place = tuple[int, float, UUID]
"""(rank, weight, key) of the last item of a page."""


_SOON_DAYS, _OLD_MONTHS = 30, 18
"""Before its last day, and after its first, a document counts as stale."""
_FINDINGS_ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('findings ' || $1::uuid::text, 0))"
_VERSION = "select current_version from documents where tenant_id = $1 and document_id = $2"
_CLEAR = "delete from document_findings where tenant_id = $1 and (document_id = $2 or other_document_id = $2)"
_COLUMNS = ", ".join(FindingRow._fields)
# A passage that went away meanwhile is not written of; one that is there stays until the commit.
_ADD = f"""
insert into document_findings (tenant_id, {_COLUMNS})
select $1, {", ".join(f"f.{name}" for name in FindingRow._fields)}
from unnest($2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::real[], $14::real[]) as f ({_COLUMNS})
join chunks c on c.tenant_id = $1 and c.chunk_id = f.chunk_id
join chunks o on o.tenant_id = $1 and o.chunk_id = f.other_chunk_id
for key share of c, o
on conflict do nothing
"""
_EXAMINED = """
insert into document_examinations (tenant_id, document_id, version, scopes, departments)
select d.tenant_id, d.document_id, $3, $4, $5 from documents d where d.tenant_id = $1 and d.document_id = $2
on conflict (tenant_id, document_id) do update set version = excluded.version, scopes = excluded.scopes,
    departments = excluded.departments, examined_at = now()
"""
_SUCCEEDED = """exists (select from documents s
        where s.tenant_id = d.tenant_id and s.supersedes = d.external_id and s.current_version > 0)"""
_NOT_COMPARED = f"""d.is_current and d.current_version > 0 and coalesce(d.effective_to, 'infinity') >= $4::date
        and {readable("d")} and not exists (select from document_examinations e
            where e.tenant_id = d.tenant_id and e.document_id = d.document_id and e.version = d.current_version
                and e.scopes @> $2::text[] and e.departments @> $3::text[] and e.examined_at >= d.updated_at)"""
_PENDING = f"select d.document_id from documents d where {_NOT_COMPARED} order by d.updated_at, d.document_id limit $5"
_AGE = "$4::date - greatest(least({}, '9999-12-30'), '0001-01-02')"
"""Days since; the first and the last day of all are kept as infinite ones."""
_ITEMS = f"""
with items as materialized (
    select f.kind, case f.kind when 'contradiction' then 0 else 1 end as rank, f.score::float8 as weight,
        f.finding_id as key, f.document_id, f.chunk_id, c.section, f.value, f.sentence, f.other_document_id,
        f.other_chunk_id, o.section as other_section, f.other_value, f.other_sentence, f.unit,
        f.score::float8 as score, '' as detail, null::date as day
    from document_findings f
    join chunks c on c.tenant_id = f.tenant_id and c.chunk_id = f.chunk_id
    join chunks o on o.tenant_id = f.tenant_id and o.chunk_id = f.other_chunk_id
    where f.tenant_id = $1 and {readable("c")} and {in_force("c")} and {readable("o")} and {in_force("o")}
        and {at_one_time("c", "o")}
        and not exists (select from documents a join documents b on b.tenant_id = a.tenant_id
            where a.tenant_id = $1 and a.document_id in (f.document_id, f.other_document_id)
                and b.document_id in (f.document_id, f.other_document_id) and a.supersedes = b.external_id)
    union all
    select k.kind, k.rank, k.weight::float8, d.document_id, d.document_id, null, null, '', '', null, null, null, '', '',
        '', 1, case when k.rank < 4 then d.status_detail else '' end, k.day
    from documents d cross join lateral (values
        ('failed', 2, 0, d.status = 'failed', null::date),
        ('partial', 3, 0, d.status = 'partial', null),
        ('empty', 4, 0, d.status in ('ready', 'partial') and {readable("d")} and not exists (select from chunks c
            where c.tenant_id = d.tenant_id and c.document_id = d.document_id), null),
        ('expired', 5, {_AGE.format("d.effective_to")}, d.effective_to < $4::date, d.effective_to),
        ('expiring', 6, {_AGE.format("d.effective_to")},
            d.effective_to >= $4::date and d.effective_to <= $4::date + $5::integer, d.effective_to),
        ('old', 7, {_AGE.format("coalesce(d.effective_from, d.created_at::date)")},
            coalesce(d.effective_to, 'infinity') >= $4::date
            and coalesce(d.effective_from, d.created_at::date) < $4::date - make_interval(months => $6),
            coalesce(d.effective_from, d.created_at::date)),
        ('not_compared', 8, 0, {_NOT_COMPARED}, null)
    ) k (kind, rank, weight, holds, day)
    where d.tenant_id = $1 and k.holds
        and (k.rank not between 5 and 7 or d.is_current and d.current_version > 0 and not {_SUCCEEDED})
)"""
_PAGE = f"""{_ITEMS}
select i.*, d.external_id, d.title, d.url, d.department, d.scope, p.external_id as other_external_id,
    p.title as other_title, p.url as other_url, p.department as other_department, p.scope as other_scope
from items i
join documents d on d.tenant_id = $1 and d.document_id = i.document_id
left join documents p on p.tenant_id = $1 and p.document_id = i.other_document_id
where $7::integer is null or (i.rank, -i.weight, i.key) > ($7::integer, -$8::float8, $9::uuid)
order by i.rank, -i.weight, i.key limit $10
"""
_COUNTS = f"{_ITEMS}\nselect kind, count(*) as items from items group by kind"


async def current_version(tx: Transaction, document_id: UUID) -> int | None:
    """The version of a document that is found; None when there is no such document."""
    version: int | None = await tx.driver.fetchval(_VERSION, tx.tenant_id, document_id)
    return version


async def replace_findings(tx: Transaction, document_id: UUID, version: int, findings: Sequence[FindingRow]) -> bool:
    """Put `findings` in the place of those the caller may see of the document, and note who compared.

    False, and nothing is written, when `version` is not what is found any more.
    """
    tenant = tx.tenant_id
    await tx.driver.execute(_FINDINGS_ONE_AT_A_TIME, tenant)
    if await current_version(tx, document_id) != version:
        return False
    await tx.driver.execute(_CLEAR, tenant, document_id)
    if findings:
        await tx.driver.execute(_ADD, tenant, *map(list, zip(*findings, strict=True)))
    _, scopes, departments = tx.reader
    await tx.driver.execute(_EXAMINED, tenant, document_id, version, scopes, departments)
    return True


async def pending(tx: Transaction, today: date, limit: int) -> list[UUID]:
    """Documents in force that nobody with the caller's rights has compared as they are now, longest waiting first."""
    rows = await tx.driver.fetch(_PENDING, *tx.reader, today, limit)
    return [row["document_id"] for row in rows]


async def page(tx: Transaction, today: date, behind: Place | None, limit: int) -> tuple[list[ItemRow], dict[str, int]]:
    """(items behind the given place, how many there are of each kind). The caller must be an administrator."""
    rank, weight, key = behind or (None, None, None)
    asked = (*tx.reader, today, _SOON_DAYS, _OLD_MONTHS)
    rows = await tx.driver.fetch(_PAGE, *asked, rank, weight, key, limit)
    counts = await tx.driver.fetch(_COUNTS, *asked)
    return [dict(row) for row in rows], {row["kind"]: row["items"] for row in counts}
