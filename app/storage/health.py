"""The health of a tenant's documents: findings about pairs of them, and what is wrong with single ones.

A finding is seen only by whoever may read both of its documents: the row policies say so, and the functions of
migration 0015, which these statements call, again. What a person said of it stays as long as both sentences stand.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple
from uuid import UUID

from app.domain.health import FindingStatus, Handling, HealthFilter, Ruling
from app.storage.database import Transaction, dump


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
_VERSION = "select current_version from documents where tenant_id = $1 and document_id = $2"
_LOCK = """
select f.document_id, f.other_document_id, finding_handling(f) from document_findings f
where f.tenant_id = $1 and f.finding_id = $2 and may_read_both(f.document_id, f.other_document_id) for update
"""
_PENDING = """
select d.document_id from documents d where d.tenant_id = $1 and waits_for_comparison(d, $2)
order by d.updated_at, d.document_id limit $3
"""
_LISTED = """
from document_health($1, $2, $3) h
where ($4::uuid is null or $4 in (h.document_id, h.other_document_id))
    and ($5::text is null or $5 in (h.department, h.other_department))
    and ($6::uuid is null or (h.handling ->> 'assignee')::uuid = $6)
"""
_PAGE = f"""
select h.* {_LISTED} and h.state = $7 and ($8::text is null or h.kind = $8)
    and ($9::integer is null or (h.rank, -h.weight, h.key) > ($9::integer, -$10::float8, $11::uuid))
order by h.rank, -h.weight, h.key limit $12
"""
_COUNTS = f"select h.kind, h.state, count(*)::integer as items {_LISTED} group by h.kind, h.state order by min(h.rank)"


async def current_version(tx: Transaction, document_id: UUID) -> int | None:
    """The version of a document that is found; None when there is no such document."""
    version: int | None = await tx.driver.fetchval(_VERSION, tx.tenant_id, document_id)
    return version


async def replace_findings(
    tx: Transaction, document_id: UUID, version: int, findings: Sequence[FindingRow], said: Mapping[str, UUID]
) -> bool:
    """Put `findings` in the place of those the caller may see of the document, and note who compared.

    What a person said of a finding stays with it; of one that is not among `findings`, as long as the document's
    sentence is in `said` (sentence: chunk). Else it lapses, and what takes its place names it. False, and nothing is
    written, when `version` is not what is found any more.
    """
    told = [one._asdict() for one in {one.finding_id: one for one in findings}.values()]
    is_done: bool = await tx.driver.fetchval(
        "select replace_findings($1, $2, $3, $4)", document_id, version, dump(told), dump(dict(said))
    )
    return is_done


async def lock(tx: Transaction, finding_id: UUID) -> tuple[UUID, UUID, Handling] | None:
    """The two documents of a finding the caller may see, and how far people are; nobody changes it until the commit."""
    row = await tx.driver.fetchrow(_LOCK, tx.tenant_id, finding_id)
    return None if row is None else (row[0], row[1], Handling.model_validate(row[2]))


async def handle(tx: Transaction, finding_id: UUID, status: FindingStatus, ruling: Ruling) -> Handling:
    """Write what an administrator says of a locked finding; what was said before becomes the earlier verdict."""
    said = ruling.verdict, ruling.holds, ruling.note, ruling.assignee
    told = await tx.driver.fetchval("select handle_finding($1, $2, $3, $4, $5, $6)", finding_id, status, *said)
    return Handling.model_validate(told)


async def pending(tx: Transaction, today: date, limit: int) -> list[UUID]:
    """Documents in force that nobody with the caller's rights has compared as they are now, longest waiting first."""
    rows = await tx.driver.fetch(_PENDING, tx.tenant_id, today, limit)
    return [row["document_id"] for row in rows]


async def page(
    tx: Transaction, wanted: HealthFilter, today: date, behind: Place | None, limit: int
) -> tuple[list[ItemRow], list[tuple[str, FindingStatus, int]]]:
    """(items behind the given place; kind, status and number of all, whatever their kind and status, gravest first).
    The caller must be an administrator."""
    asked = today, _SOON_DAYS, _OLD_MONTHS, wanted.document_id, wanted.department, wanted.assignee
    place = behind or (None, None, None)
    rows = await tx.driver.fetch(_PAGE, *asked, wanted.status, wanted.kind, *place, limit)
    counts = await tx.driver.fetch(_COUNTS, *asked)
    return [dict(row) for row in rows], [(row["kind"], row["state"], row["items"]) for row in counts]
