"""The desk of owners and administrators: rows of ``desk_rows`` (migration 0025), which works out what waits for the
caller, and of ``desk_items`` and ``desk_tellings``, which keep what became of it.

The function shows nothing the caller may not read, and of other people's questions no name; row security and its own
predicates say so. What somebody else was answered is in none of it.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID, uuid4

from app.domain.principal import Scope
from app.domain.record import Record
from app.storage.database import Transaction, dump

Kind = Literal["contradiction", "ending", "correction", "unanswered", "unused"]
State = Literal["open", "dismissed", "done"]
Agents = Mapping[str, Sequence[str]]
"""The departments of each agent."""


class DeskDocument(Record):
    """A document an item is about."""

    document_id: UUID
    title: str
    url: str
    department: str
    scope: Scope
    sentence: str = ""
    """What it says; of a contradiction alone."""


class DeskAnswer(Record):
    """What the caller was answered to an item's question."""

    task_id: UUID
    outcome: str | None
    """Null while the run goes on."""
    answer: str | None


class Draft(Record):
    """What an owner would answer to an item's question."""

    text: str
    department: str
    scope: Scope
    review_on: date
    """Until this day it holds; the desk tells of it 30 days before."""


class DeskItem(Record):
    """Something that waits for whoever owns a department."""

    item_id: UUID
    kind: Kind
    detail: str
    """Why it is here. Of a contradiction ``found``, or ``told`` by somebody who was shown it; ``expired``, ``expiring``
    or ``old``; ``corrected``; ``asked``; ``no_agent`` or ``not_cited``."""
    since: datetime
    departments: tuple[str, ...]
    documents: tuple[DeskDocument, ...]
    question: str | None
    """What was asked; of several people the shortest wording, or the last one's who told of a contradiction."""
    correction: str
    """What the answer should have said, by whoever asked."""
    askers: int
    """How many people asked, or told of it."""
    day: date | None
    """From when a document is outdated, or until when it holds."""
    finding_id: UUID | None
    """Of a contradiction: what ``PATCH /contradictions/{finding_id}`` decides."""
    may_act: bool
    """Whether the caller owns every department of it, and so may do something about it."""
    state: State
    assignee: UUID | None
    assigned_to: str | None
    reason: str
    """Why it was dismissed, or a note on what was done."""
    changed_at: datetime | None
    draft: Draft | None
    """An answer that waits for an administrator to bring it in, or was brought in."""
    before: DeskAnswer | None
    """What the caller was answered while it was open, with the caller's own rights; nobody else sees it."""
    after: DeskAnswer | None


class Wanted(Record):
    """Which items to list; what is None does not matter."""

    kind: Kind | None = None
    state: State = "open"
    assignee: UUID | None = None


class Counted(NamedTuple):
    """How many items of a kind and state there are."""

    kind: Kind
    state: State
    items: int


class Told(NamedTuple):
    """A sentence of a conflict, and where it stands."""

    document_id: UUID
    chunk_id: UUID
    sentence: str


_ANSWER = """(select jsonb_build_object('task_id', t.task_id, 'outcome', coalesce(t.metadata ->> 'outcome',
    t.result ->> 'outcome'), 'answer', coalesce(nullif(t.result ->> 'answer', ''), t.result ->> 'fallback_answer'))
    from tasks t where t.tenant_id = $1 and t.user_id = $2 and t.task_id = i.{run})"""
_ITEMS = f"""
select i.item_id, i.kind, i.detail, i.since, i.departments, i.documents, i.question, i.correction, i.askers, i.day,
    i.finding_id, i.may_act, i.state, i.assignee, i.reason, i.changed_at,
    (select coalesce(nullif(u.display_name, ''), u.name) from users u
        where u.tenant_id = $1 and u.user_id = i.assignee) as assigned_to,
    (select s.answer from desk_items s where s.tenant_id = $1 and s.item_id = i.item_id and app_owns(s.departments)
        and app_may_read(s.answer ->> 'scope', s.answer ->> 'department')) as draft,
    {_ANSWER.format(run="before_task")} as before, {_ANSWER.format(run="after_task")} as after
from desk_rows($3, $4) i
"""
_PAGE = f"""
with i as materialized (select * from desk_rows($3, $4)),
page as ({_ITEMS.replace("desk_rows($3, $4) i", "i")}
    where i.state = $5 and ($6::text is null or i.kind = $6) and ($7::uuid is null or i.assignee = $7)
        and ($8::timestamptz is null or (i.since, i.item_id) < ($8, $9::uuid))
    order by i.since desc, i.item_id desc limit $10),
counted as (
    select i.kind, i.state, count(*) as items from i where $7::uuid is null or i.assignee = $7 group by i.kind, i.state)
select array(select to_jsonb(page) from page order by page.since desc, page.item_id desc) as items,
    array(select to_jsonb(counted) from counted) as counts
"""
_FIND = f"{_ITEMS} where i.item_id = $5"
# One that is open is handled, one that is not is reopened; who comes second changes nothing.
_HANDLE = """
insert into desk_items as known (tenant_id, item_id, kind, departments, state, assignee, reason)
select $1, $2, $3, $4::text[], $5, $6, $7 where $8 or exists (
    select from desk_items s where s.tenant_id = $1 and s.item_id = $2)
on conflict (tenant_id, item_id) do update set departments = excluded.departments, state = excluded.state,
    assignee = excluded.assignee, reason = excluded.reason, changed_at = clock_timestamp()
where (known.state = 'open') = $8
returning true
"""
_DRAFT = """
insert into desk_items as known (tenant_id, item_id, kind, departments, answer) values ($1, $2, $3, $4::text[], $5)
on conflict (tenant_id, item_id) do update set answer = excluded.answer, changed_at = clock_timestamp()
where known.state = 'open' returning true
"""
_NOTE_RUN = """
insert into desk_items as known (tenant_id, item_id, kind, departments, asked_by, before_task, after_task)
values ($1, $3, $4, $5::text[], $2, $6, $7)
on conflict (tenant_id, item_id) do update set asked_by = $2, after_task = $7, before_task = coalesce($6,
    case when known.asked_by = $2 then known.before_task end)
"""
_KNOWN = """
select f.finding_id, f.document_id, f.sentence, f.other_sentence from document_findings f
where f.tenant_id = $1 and f.kind = 'contradiction' and f.document_id in ($2, $3) and f.other_document_id in ($2, $3)
    and may_read_both(f.document_id, f.other_document_id)
order by f.status <> 'open', f.finding_id
"""
_ADD = """
insert into document_findings (tenant_id, finding_id, kind, document_id, chunk_id, other_document_id, other_chunk_id,
    value, other_value, sentence, other_sentence, similarity, score, judge, version, other_version)
select $1, $2, 'contradiction', $3, c.chunk_id, $5, o.chunk_id, left($7, 80), left($8, 80), $7, $8, 1, 1, 'person',
    c.version, o.version
from chunks c join chunks o on o.tenant_id = c.tenant_id
where c.tenant_id = $1 and c.document_id = $3 and c.chunk_id = $4 and o.document_id = $5 and o.chunk_id = $6
"""
_TELL = """
insert into desk_tellings (tenant_id, user_id, task_id, finding_id) values ($1, $2, $3, $4) on conflict do nothing
"""


def _asked(tx: Transaction, today: date, agents: Agents) -> list[object]:
    return [*tx.whose, today, dump({name: list(departments) for name, departments in agents.items()})]


def _item(row: dict[str, Any]) -> DeskItem:
    return DeskItem.model_validate(row)


async def page(
    tx: Transaction, today: date, agents: Agents, wanted: Wanted, behind: tuple[datetime, UUID] | None, limit: int
) -> tuple[list[DeskItem], list[Counted]]:
    """Read items on the caller's desk, newest first, behind a place, and count all by kind and state; none unless an
    owner or administrator asks."""
    place = behind or (None, None)
    asked = *_asked(tx, today, agents), wanted.state, wanted.kind, wanted.assignee, *place, limit
    row = await tx.driver.fetchrow(_PAGE, *asked)
    assert row is not None
    return [_item(one) for one in row["items"]], [Counted(**one) for one in row["counts"]]


async def find(tx: Transaction, today: date, agents: Agents, item_id: UUID) -> DeskItem | None:
    """Read one item on the caller's desk."""
    row = await tx.driver.fetchrow(_FIND, *_asked(tx, today, agents), item_id)
    return None if row is None else _item(dict(row))


async def handle(tx: Transaction, item: DeskItem, state: State, assignee: UUID | None, reason: str) -> bool:
    """Write what became of an item; an open one stays or ends, any other is opened again. False when it is not so."""
    said = tx.tenant_id, item.item_id, item.kind, list(item.departments), state, assignee, reason
    return await tx.driver.fetchval(_HANDLE, *said, state != "open" or item.state == "open") is not None


async def keep_draft(tx: Transaction, item: DeskItem, draft: Draft) -> bool:
    """Keep an answer with an open item, in place of the one before. False when the item was closed meanwhile."""
    said = tx.tenant_id, item.item_id, item.kind, list(item.departments), dump(draft.model_dump(mode="json"))
    return await tx.driver.fetchval(_DRAFT, *said) is not None


async def note_run(tx: Transaction, item: DeskItem, task_id: UUID) -> None:
    """Keep that the caller asked the item's question: while it is open, or after it was closed."""
    runs = (task_id, None) if item.state == "open" else (None, task_id)
    await tx.driver.execute(_NOTE_RUN, *tx.whose, item.item_id, item.kind, list(item.departments), *runs)


async def known_findings(tx: Transaction, one: UUID, other: UUID) -> list[tuple[UUID, dict[UUID, str]]]:
    """Contradictions known of two documents the caller may read, open ones first, with the sentence of each."""
    rows = await tx.driver.fetch(_KNOWN, tx.tenant_id, one, other)
    return [
        (row["finding_id"], {
            row["document_id"]: row["sentence"],
            other if row["document_id"] == one else one: row["other_sentence"],
        })
        for row in rows
    ]  # fmt: skip


async def add_finding(tx: Transaction, one: Told, other: Told) -> UUID:
    """Keep a contradiction that a run of the caller showed and no examination found. The database refuses any other."""
    finding_id = uuid4()
    places = one.document_id, one.chunk_id, other.document_id, other.chunk_id
    await tx.driver.execute(_ADD, tx.tenant_id, finding_id, *places, one.sentence, other.sentence)
    return finding_id


async def tell(tx: Transaction, task_id: UUID, finding_id: UUID) -> None:
    """Keep that the caller told owners of a contradiction an own run showed; again, it changes nothing."""
    await tx.driver.execute(_TELL, *tx.whose, task_id, finding_id)
