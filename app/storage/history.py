"""Rows of ``sessions`` as their owner lists, finds and marks them.

Words are compared folded, by `words_said` of migration 0017 on both sides: without case, accents and punctuation. A
turn that was answered with wider rights than the caller has now is not found, as it is not shown either.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.tasks import Origin, Session
from app.storage.database import Transaction
from app.storage.search import words_are_indexed
from app.storage.sessions import columns, may_read

_OWN = "tenant_id = $1 and user_id = $2"
_LISTED = f"""s.{_OWN.replace(" and ", " and s.")} and not s.metadata ? 'kind'
    and s.archived = $3 and ($4::text is null or s.origin = $4)
    and ($5::boolean is null or (s.pinned, s.updated_at, s.session_id) < ($5, $6::timestamptz, $7::uuid))"""
_ORDER = "order by s.pinned desc, s.updated_at desc, s.session_id desc limit $8"
_PAGE = f"select {columns(9, 10)} from sessions s where {_LISTED} {_ORDER}"


def _search(said: str, title_said: str) -> str:
    """Conversations whose title, or one of whose turns, has all words; with the last such turn."""
    return f"""
with spoken as (
    select session_id, task_id, created_at from tasks
    where {_OWN} and parent_task_id is null and kind = 'chat' and status in ('completed', 'failed')
        and said is not null and {said} @@ $11::text::tsquery and {may_read("principal", 9, 10)}
), named as (
    select session_id from sessions where {_OWN} and {title_said} @@ $11::text::tsquery
), found as materialized (
    select distinct on (session_id) session_id, task_id
    from (select * from spoken union all select session_id, null, null from named) as either
    order by session_id, created_at desc nulls last
), page as materialized (
    select {columns(9, 10)}, task_id from found join sessions s using (session_id) where {_LISTED} {_ORDER}
)
select page.*, t.request ->> 'query' as question,
    coalesce(nullif(t.result ->> 'answer', ''), t.result ->> 'fallback_answer') as answer
from page left join tasks t on t.tenant_id = $1 and t.user_id = $2 and t.task_id = page.task_id
order by page.pinned desc, page.updated_at desc, page.session_id desc"""


_BY_INDEX = _search("word_lookup.of_tenant(user_id, said)", "word_lookup.of_tenant(user_id, title_said)")
_BY_ROWS = _search("said", "title_said")
_CHANGE = f"""
update sessions set title = coalesce($4, title), pinned = coalesce($5, pinned), archived = coalesce($6, archived)
where {_OWN} and session_id = $3 and not metadata ? 'kind'
returning {columns(7, 8)}
"""


class Place(NamedTuple):
    """Behind which conversation a page begins."""

    pinned: bool
    updated_at: datetime
    session_id: UUID


class Found(NamedTuple):
    """A conversation, with the turn in which the words stand; no texts where they stand in the title alone."""

    session: Session
    question: str = ""
    answer: str = ""


class Shelf(NamedTuple):
    """Which conversations are meant."""

    archived: bool = False
    """Those that were put away instead of those that were not."""
    origin: Origin | None = None


async def list_sessions(tx: Transaction, shelf: Shelf, behind: Place | None, limit: int) -> list[Found]:
    """The caller's conversations, pinned ones first, then last used first."""
    rows = await tx.driver.fetch(_PAGE, *_listed(tx, shelf, behind, limit))
    return [Found(Session.model_validate(dict(row))) for row in rows]


async def search_sessions(
    tx: Transaction, words: Sequence[str], shelf: Shelf, behind: Place | None, limit: int
) -> list[Found]:
    """Those of the list that hold all words (see `folded_words`), the last one also as the beginning of a word."""
    is_indexed = await words_are_indexed(tx)
    prefix = str(tx.principal.user_id)[:8] if is_indexed else ""
    query = " & ".join(f"'{prefix}{word}'" for word in words) + ":*"
    listed = _listed(tx, shelf, behind, limit)
    found = []
    for row in await tx.driver.fetch(_BY_INDEX if is_indexed else _BY_ROWS, *listed, query):
        told = dict(row)
        texts = [told.pop(name) or "" for name in ("question", "answer", "task_id")]
        found.append(Found(Session.model_validate(told), *texts[:2]))
    return found


def _listed(tx: Transaction, shelf: Shelf, behind: Place | None, limit: int) -> list[object]:
    return [*tx.whose, *shelf, *(behind or (None, None, None)), limit, *tx.rights]


async def folded_words(tx: Transaction, text: str) -> list[str]:
    """The words of `text` in order, as those of titles and turns are kept."""
    return list(await tx.driver.fetchval("select words_said($1)", text))


async def change_session(
    tx: Transaction, session_id: UUID, *, title: str | None, pinned: bool | None, archived: bool | None
) -> Session | None:
    """Change what is not None, without making the conversation the last used one; None when the caller has no such
    conversation."""
    row = await tx.driver.fetchrow(_CHANGE, *tx.whose, session_id, title, pinned, archived, *tx.rights)
    return None if row is None else Session.model_validate(dict(row))
