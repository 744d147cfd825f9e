"""Rows of ``sessions``: a person sees and changes only own conversations.

A session id is the owner's: two people may use the same one without meeting, so ids reveal nothing.
"""

from datetime import datetime
from uuid import UUID

from app.domain.tasks import Message, Session
from app.storage.database import Transaction


def may_read(rights: str, scopes: int, departments: int) -> str:
    """The condition that a caller still has the `rights` (a jsonb column) something was answered under; the caller's
    own are the parameters of these numbers."""
    own = {"scopes": scopes, "departments": departments}
    return " and ".join(f"{rights} -> '{name}' <@ to_jsonb(${number}::text[])" for name, number in own.items())


def _columns(scopes: int, departments: int) -> str:
    """A session's columns; the summary only where the caller has the rights of every turn in it."""
    summary = f"case when {may_read('summary_rights', scopes, departments)} then summary end as summary"
    return f"session_id, title, status, active_agent, {summary}, created_at, updated_at"


_OPEN = """
insert into sessions (tenant_id, user_id, session_id, title, user_input, metadata)
values ($1, $2, $3, $4, $5, case when $6 = '' then '{}' else jsonb_build_object('kind', $6::text) end)
on conflict (tenant_id, user_id, session_id) do update
    set user_input = excluded.user_input, status = 'running', completed_at = null, updated_at = clock_timestamp()
"""
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
    and status in ('completed', 'failed')
    and {may_read("principal", 5, 6)}
order by created_at desc limit $4
"""
_PAGE = f"""
select {_columns(6, 7)} from sessions
where tenant_id = $1 and user_id = $2 and not metadata ? 'kind'
    and ($3::timestamptz is null or (updated_at, session_id) < ($3::timestamptz, $4::uuid))
order by updated_at desc, session_id desc limit $5
"""
_FIND = f"select {_columns(4, 5)} from sessions where tenant_id = $1 and user_id = $2 and session_id = $3"
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


async def open_session(tx: Transaction, session_id: UUID, question: str, kind: str = "") -> None:
    """Make the session or note its next question; the first question, cut to 200 characters, names it.

    A session with a `kind` is no conversation and is not listed.
    """
    await tx.driver.execute(_OPEN, *_whose(tx), session_id, question[:200], question, kind)


async def close_turn(
    tx: Transaction, session_id: UUID, status: str, final_output: str | None, active_agent: str | None
) -> None:
    """Note how the last turn ended."""
    await tx.driver.execute(_CLOSE, *_whose(tx), session_id, status, final_output, active_agent)


async def history(tx: Transaction, session_id: UUID, turns: int) -> tuple[Message, ...]:
    """Questions and answers of the last finished turns, oldest first; empty for an unknown session.

    A turn that was answered with wider rights than the caller has now is left out: its answer may quote what may no
    longer be read.
    """
    rows = await tx.driver.fetch(_HISTORY, *_whose(tx), session_id, turns, *_rights(tx))
    messages: list[Message] = []
    for row in reversed(rows):
        asked, meaning, run = row["question"] or "", row["meaning"] or "", row["task_id"]
        messages.append(Message(role="user", content=asked, meaning=meaning, timestamp=row["created_at"], task_id=run))
        if row["answer"] is not None:
            answer, ended_at = row["answer"], row["completed_at"]
            messages.append(Message(role="assistant", content=answer, timestamp=ended_at, task_id=run))
    return tuple(messages)


async def find(tx: Transaction, session_id: UUID) -> Session | None:
    """A session of the caller, without its messages. A summary made with wider rights than the caller has is left
    out."""
    row = await tx.driver.fetchrow(_FIND, *_whose(tx), session_id, *_rights(tx))
    return None if row is None else Session.model_validate(dict(row))


async def speaking(tx: Transaction, session_id: UUID) -> tuple[str, ...]:
    """The agents that have the floor in the runs that go on, by their journals."""
    return tuple(row["agent"] for row in await tx.driver.fetch(_SPEAKING, *_whose(tx), session_id))


async def running(tx: Transaction, session_id: UUID) -> UUID | None:
    """The last run of a session that has not ended; None when there is none."""
    found: UUID | None = await tx.driver.fetchval(_RUNNING, *_whose(tx), session_id)
    return found


async def page(tx: Transaction, behind: tuple[datetime, UUID] | None, limit: int) -> list[Session]:
    """The caller's sessions, last used first, behind the given (updated_at, session_id)."""
    since, session_id = behind or (None, None)
    rows = await tx.driver.fetch(_PAGE, *_whose(tx), since, session_id, limit, *_rights(tx))
    return [Session.model_validate(dict(row)) for row in rows]


async def delete(tx: Transaction, session_id: UUID) -> bool:
    """Remove a session with its tasks, journals, contexts and memory; False when the caller has no such session."""
    done = await tx.driver.execute(
        "delete from sessions where tenant_id = $1 and user_id = $2 and session_id = $3", *_whose(tx), session_id
    )
    return done == "DELETE 1"


def _whose(tx: Transaction) -> tuple[UUID, UUID]:
    return tx.principal.tenant_id, tx.principal.user_id


def _rights(tx: Transaction) -> tuple[list[str], list[str]]:
    return sorted(tx.principal.scopes), sorted(tx.principal.departments)
