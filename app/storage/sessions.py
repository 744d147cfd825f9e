"""Rows of ``sessions``: a person sees and changes only own conversations, and what they remember.

A session id is the owner's: two people may use the same one without meeting, so ids reveal nothing. Beyond its last
turns a session remembers a vector a turn (``semantic_vectors``) and a summary. Every turn was answered under the rights
that stand in its task; a caller who has fewer now gets nothing of it, neither by nearness nor in a summary.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import numpy as np
import numpy.typing as npt

from app.domain.tasks import Message, RememberedTurn, Session
from app.storage.database import Transaction, dump


def may_read(rights: str, scopes: int, departments: int) -> str:
    """The condition that a caller still has the `rights` (a jsonb column) something was answered under; the caller's
    own are the parameters of these numbers."""
    own = {"scopes": scopes, "departments": departments}
    return " and ".join(f"{rights} -> '{name}' <@ to_jsonb(${number}::text[])" for name, number in own.items())


def columns(scopes: int, departments: int) -> str:
    """A session's columns; the summary only where the caller has the rights of every turn in it."""
    summary = f"case when {may_read('summary_rights', scopes, departments)} then summary end as summary"
    return f"session_id, title, status, active_agent, {summary}, created_at, updated_at, pinned, archived, origin"


_CLOSE = """
update sessions set status = $4, final_output = coalesce($5, final_output), active_agent = coalesce($6, active_agent),
    updated_at = clock_timestamp(), completed_at = clock_timestamp()
where tenant_id = $1 and user_id = $2 and session_id = $3
"""
# The plan's question is complete, but without the day that was asked for: such a turn is understood anew.
_HISTORY = f"""
select task_id, request ->> 'query' as question, created_at, completed_at,
       coalesce(nullif(result ->> 'answer', ''), nullif(result ->> 'fallback_answer', '')) as answer,
       case when result #> '{{execution_metadata,as_of}}' is null then plan ->> 'refined_query' end as meaning
from tasks
where tenant_id = $1 and user_id = $2 and session_id = $3 and parent_task_id is null and kind = 'chat'
    and ($7 or status in ('completed', 'failed'))
    and {may_read("principal", 5, 6)}
order by created_at desc limit $4
"""
_FIND = f"select {columns(4, 5)} from sessions where tenant_id = $1 and user_id = $2 and session_id = $3"
_SPEAKING = """
with running as (
    select task_id, attempt from tasks
    where tenant_id = $1 and user_id = $2 and session_id = $3 and parent_task_id is null and status = 'in_progress'),
told as (
    select e.root_task_id, e.seq, e.type, e.event ->> 'agent' as agent
    from events e join running r on e.root_task_id = r.task_id and e.attempt = r.attempt
    where e.tenant_id = $1 and e.user_id = $2 and e.type in ('start_process', 'end_process', 'text_delta')),
latest as (select distinct on (root_task_id, agent) * from told order by root_task_id, agent, seq desc)
select distinct agent from latest where agent is not null and type <> 'end_process' order by agent
"""
_RUNNING = """
select task_id from tasks
where tenant_id = $1 and user_id = $2 and session_id = $3 and parent_task_id is null and kind = 'chat'
    and status in ('pending', 'in_progress')
order by created_at desc limit 1
"""


async def close_turn(
    tx: Transaction, session_id: UUID, status: str, final_output: str | None, active_agent: str | None
) -> None:
    """Note how the last turn ended."""
    await tx.driver.execute(_CLOSE, *tx.whose, session_id, status, final_output, active_agent)


async def history(tx: Transaction, session_id: UUID, turns: int, *, whole: bool = False) -> tuple[Message, ...]:
    """Questions and answers of the last finished turns (`whole`: stopped and running ones too), oldest first.

    A turn that was answered with wider rights than the caller has now is left out: its answer may quote what may no
    longer be read.
    """
    rows = await tx.driver.fetch(_HISTORY, *tx.whose, session_id, turns, *tx.rights, whole)
    return tuple(message for row in reversed(rows) for message in _messages(row))


def _messages(row: asyncpg.Record, **of_both: Any) -> Iterator[Message]:
    """The question of a turn, and its answer when there is one."""
    of_both["task_id"] = row["task_id"]
    asked, meaning = row["question"] or "", row["meaning"] or ""
    yield Message(role="user", content=asked, meaning=meaning, timestamp=row["created_at"], **of_both)
    if row["answer"]:
        yield Message(role="assistant", content=row["answer"], timestamp=row["completed_at"], **of_both)


async def find(tx: Transaction, session_id: UUID) -> Session | None:
    """A session of the caller, without its messages. A summary made with wider rights than the caller has is left
    out."""
    row = await tx.driver.fetchrow(_FIND, *tx.whose, session_id, *tx.rights)
    return None if row is None else Session.model_validate(dict(row))


async def speaking(tx: Transaction, session_id: UUID) -> tuple[str, ...]:
    """The agents that have the floor in the runs that go on, by their journals."""
    return tuple(row["agent"] for row in await tx.driver.fetch(_SPEAKING, *tx.whose, session_id))


async def running(tx: Transaction, session_id: UUID) -> UUID | None:
    """The last run of a session that has not ended; None when there is none."""
    found: UUID | None = await tx.driver.fetchval(_RUNNING, *tx.whose, session_id)
    return found


async def delete(tx: Transaction, session_id: UUID) -> bool:
    """Remove a session with its tasks, journals, contexts and memory; False when the caller has no such session."""
    done = await tx.driver.execute(
        "delete from sessions where tenant_id = $1 and user_id = $2 and session_id = $3", *tx.whose, session_id
    )
    return done == "DELETE 1"


_HELD = ("sessions", "tasks", "events", "semantic_vectors", "conflicts", "feedback", "attachments")


class Erased(NamedTuple):
    """What was removed of a person, and rows with words of theirs that are left."""

    conversations: int
    files: int
    remaining: int


async def delete_all(tx: Transaction) -> Erased:
    """Remove every conversation of the caller with all that hangs on it, and every attached file; then count again."""
    conversations, files = [
        int((await tx.driver.execute(f"delete from {one} where tenant_id = $1 and user_id = $2", *tx.whose)).split()[1])
        for one in ("sessions", "attachments")
    ]
    counted = (f"(select count(*) from {one} where tenant_id = $1 and user_id = $2)" for one in _HELD)
    left: int = await tx.driver.fetchval(f"select {' + '.join(counted)}", *tx.whose)
    return Erased(conversations, files, left)


Embedding = npt.NDArray[np.float32]
"""One vector, shape (dimensions,)."""
Rights = tuple[list[str], list[str]]
"""Scopes and departments, sorted."""

_MAY_READ = may_read("t.principal", 4, 5)
_LOCK = "select 1 from sessions where tenant_id = $1 and user_id = $2 and session_id = $3 for update"
_KEEP = """
with kept as (
    insert into semantic_vectors
        (tenant_id, user_id, session_id, task_id, agent_id, content, embedding_model, embedding, metadata)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (tenant_id, task_id, user_id) do nothing
    returning true
)
delete from semantic_vectors where tenant_id = $1 and user_id = $2 and session_id = $3 and id not in (
    select id from semantic_vectors where tenant_id = $1 and user_id = $2 and session_id = $3
    order by id desc limit $10 - (select count(*) from kept))
"""
_TURNS = f"""
select v.task_id, v.agent_id, v.metadata, t.principal -> 'scopes' as scopes, t.principal -> 'departments' as departments
from semantic_vectors v join tasks t using (tenant_id, user_id, task_id)
where v.tenant_id = $1 and v.user_id = $2 and v.session_id = $3 and {_MAY_READ}
order by v.id desc limit $6
"""
_NEAREST = f"""
with latest as (
    select t.task_id from tasks t
    where t.tenant_id = $1 and t.user_id = $2 and t.session_id = $3 and t.parent_task_id is null and t.kind = 'chat'
        and t.status in ('completed', 'failed') and {_MAY_READ}
    order by t.created_at desc limit $6)
select null::uuid as task_id, t.request ->> 'query' as question, v.metadata ->> 'question' as meaning,
       v.metadata ->> 'gist' as answer, t.created_at, t.completed_at
from semantic_vectors v join tasks t using (tenant_id, user_id, task_id)
where v.tenant_id = $1 and v.user_id = $2 and v.session_id = $3 and v.embedding_model = $7 and {_MAY_READ}
    and v.task_id not in (select task_id from latest)
order by v.embedding <=> $8 limit $9
"""
_SUMMARISE = """
update sessions set summary = $4, summary_rights = $5
where tenant_id = $1 and user_id = $2 and session_id = $3
"""


async def lock_session(tx: Transaction, session_id: UUID) -> bool:
    """Hold a session until the transaction ends, so that two turns do not summarise at once; False = it is gone."""
    return await tx.driver.fetchval(_LOCK, *tx.whose, session_id) is not None


async def store_turn(
    tx: Transaction, session_id: UUID, turn: RememberedTurn, content: str, embedding_model: str, embedding: Embedding,
    *, max_turns: int,
) -> None:  # fmt: skip
    """Remember a turn by the vector of `content`; of a session the last `max_turns` are kept."""
    told = dump({"question": turn.question, "gist": turn.gist})
    known = turn.task_id, turn.agent, content, embedding_model, embedding, told
    await tx.driver.execute(_KEEP, *tx.whose, session_id, *known, max_turns)


async def turns(tx: Transaction, session_id: UUID, limit: int) -> list[tuple[RememberedTurn, Rights]]:
    """The last remembered turns the caller may still read, oldest first, each with its rights."""
    rows = await tx.driver.fetch(_TURNS, *tx.whose, session_id, *tx.rights, limit)
    return [
        (RememberedTurn(task_id=run, agent=agent, **told), (scopes, departments))
        for run, agent, told, scopes, departments in reversed(rows)
    ]


async def summarise(tx: Transaction, session_id: UUID, summary: str, rights: Rights) -> None:
    """Replace a session's summary; `rights` are those of all turns in it."""
    told = dump({"scopes": rights[0], "departments": rights[1]})
    await tx.driver.execute(_SUMMARISE, *tx.whose, session_id, summary or None, told if summary else None)


async def nearest(
    tx: Transaction, session_id: UUID, embedding_model: str, embedding: Embedding, *, beyond: int, limit: int
) -> tuple[Message, ...]:
    """The turns before the last `beyond` ones that lie nearest to a question, oldest first, as recalled messages."""
    rows = await tx.driver.fetch(_NEAREST, *tx.whose, session_id, *tx.rights, beyond, embedding_model, embedding, limit)
    ordered = sorted(rows, key=lambda row: row["created_at"])
    return tuple(message for row in ordered for message in _messages(row, is_recalled=True))
