"""Rows of ``conflicts``, the ledger of what runs weighed, written in the commit that ends a run and erased with it; and
of ``feedback``, what a person thought of an own answer, which nobody else reads.

A person sees own conflicts whose sources both may be read now; of any other not even that it is there. Administrators
see figures of the whole tenant's, without a word of any document or question.
"""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.conflicts import Conflict, Known
from app.domain.record import Record
from app.storage.database import Transaction, dump
from app.storage.sessions import may_read

Place = tuple[datetime, UUID, int]
"""Where a conflict stands in a listing: when its run ended, the run, and its number within the run."""


def _is_readable(side: str) -> str:
    """The condition that the caller may read a side's source now: the document as it is filed today, or an own file."""
    source = f"(c.details #>> '{{{side},document_id}}')::uuid"
    return f"""case c.details #>> '{{{side},kind}}'
        when 'document' then exists (
            select from documents d where d.tenant_id = c.tenant_id and d.document_id = {source}
                and d.current_version > 0 and app_may_read(d.scope, d.department))
        when 'attachment' then exists (
            select from attachments a
            where a.tenant_id = c.tenant_id and a.user_id = c.user_id and a.file_id = {source})
        else c.details #>> '{{{side},kind}}' = 'web' end"""


_OWN = f"""
select c.root_task_id, (c.details ->> 'number')::integer as number, c.created_at, c.details
from conflicts c join tasks t on t.tenant_id = c.tenant_id and t.user_id = c.user_id and t.task_id = c.root_task_id
where c.tenant_id = $1 and c.user_id = $2 and {may_read("t.principal", 3, 4)}
    and {_is_readable("winner")} and {_is_readable("loser")}
"""
_OF_RUN = f"{_OWN} and c.root_task_id = $5 order by number"
_PAGE = f"""{_OWN}
    and ($5::timestamptz is null
        or (c.created_at, c.root_task_id, (c.details ->> 'number')::integer) < ($5::timestamptz, $6::uuid, $7::integer))
order by c.created_at desc, c.root_task_id desc, number desc limit $8
"""
_PUT = """
insert into feedback (tenant_id, user_id, task_id, rating, correction)
select tenant_id, user_id, task_id, $4, $5 from tasks
where tenant_id = $1 and user_id = $2 and task_id = $3 and parent_task_id is null and kind = 'chat'
    and principal -> 'scopes' <@ to_jsonb($6::text[]) and principal -> 'departments' <@ to_jsonb($7::text[])
on conflict (tenant_id, user_id, task_id) do update
    set rating = excluded.rating, correction = excluded.correction,
        updated_at = case when (feedback.rating, feedback.correction) = (excluded.rating, excluded.correction)
            then feedback.updated_at else clock_timestamp() end
returning rating, correction, created_at, updated_at
"""
_FIGURES = "select task_id, number, created_at, details from conflict_figures($1, $2, $3, $4)"


class Entry(NamedTuple):
    """An entry of the ledger, with its place."""

    place: Place
    details: dict[str, Any]
    """See `Conflict.entry`; as figures without subject, claims, titles and addresses."""


class Feedback(Record):
    """What somebody thought of an answer."""

    rating: int
    """-1 bad, 0 neither, 1 good."""
    correction: str
    """What the answer should have said; empty = nothing was said."""
    created_at: datetime
    updated_at: datetime
    """When it last changed."""


def columns(conflicts: Sequence[Conflict]) -> tuple[list[str], list[str]]:
    """Topics and details (JSON) of what a run weighed, in the order it was told, as they are stored."""
    details = [dump({"number": number, **conflict.entry()}) for number, conflict in enumerate(conflicts, 1)]
    return [conflict.subject.replace("\x00", "") for conflict in conflicts], details


async def of_run(tx: Transaction, root_task_id: UUID) -> list[Conflict]:
    """What an own run weighed, as far as both sources may be read now; rights are looked at in the same query."""
    rows = await tx.driver.fetch(_OF_RUN, *tx.whose, *tx.rights, root_task_id)
    return [Conflict.of_entry(row["details"]) for row in rows]


async def page(tx: Transaction, behind: Place | None, limit: int) -> list[Entry]:
    """The caller's conflicts, newest first, behind a place; as far as both sources may be read now."""
    rows = await tx.driver.fetch(_PAGE, *tx.whose, *tx.rights, *(behind or (None, None, None)), limit)
    return [Entry((row["created_at"], row["root_task_id"], row["number"]), row["details"]) for row in rows]


async def figures(tx: Transaction, behind: Place | None, limit: int) -> list[Entry]:
    """The tenant's conflicts without their texts, newest first, behind a place; empty unless an administrator asks."""
    rows = await tx.driver.fetch(_FIGURES, *(behind or (None, None, None)), limit)
    return [Entry((row["created_at"], row["task_id"], row["number"]), row["details"]) for row in rows]


async def known_contradictions(tx: Transaction, of: Collection[UUID], today: date, as_of: date | None) -> list[Known]:
    """What is known to differ from these chunks, of what the caller may read and is found today, or on another day."""
    asked = list(of), as_of or today, as_of is not None
    rows = await tx.driver.fetch("select * from known_contradictions($1, $2, $3)", *asked)
    return [Known.model_validate(dict(row)) for row in rows]


async def put_feedback(tx: Transaction, task_id: UUID, rating: int, correction: str) -> Feedback | None:
    """Keep the caller's feedback on an own run; the same again changes nothing.

    None when the caller has no such run, or asked it with rights that are lost by now.
    """
    row = await tx.driver.fetchrow(_PUT, *tx.whose, task_id, rating, correction, *tx.rights)
    return None if row is None else Feedback.model_validate(dict(row))
