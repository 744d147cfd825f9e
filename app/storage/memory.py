"""What a session remembers beyond its last turns: rows of ``semantic_vectors``, one a turn, and ``sessions.summary``.

Like the session a person's own. Every turn was answered under the rights that stand in its task; a caller who has fewer
now gets nothing of it, neither by nearness nor in a summary.
"""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt

from app.domain.tasks import Message, RememberedTurn
from app.storage.database import Transaction
from app.storage.encoding import dump
from app.storage.sessions import may_read

Embedding = npt.NDArray[np.float32]
"""One vector, shape (dimensions,)."""
Rights = tuple[list[str], list[str]]
"""Scopes and departments, sorted."""

_MAY_READ = may_read("t.principal", 4, 5)
_LOCK = "select 1 from sessions where tenant_id = $1 and user_id = $2 and session_id = $3 for update"
_KEEP = """
insert into semantic_vectors (tenant_id, user_id, session_id, task_id, agent_id, content, embedding_model, embedding,
                              metadata)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (tenant_id, task_id, user_id) do nothing
"""
_TRIM = """
delete from semantic_vectors where tenant_id = $1 and user_id = $2 and session_id = $3 and id not in (
    select id from semantic_vectors where tenant_id = $1 and user_id = $2 and session_id = $3
    order by id desc limit $4)
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
select t.request ->> 'query' as question, v.metadata ->> 'question' as meaning, v.metadata ->> 'gist' as gist,
       t.created_at, t.completed_at
from semantic_vectors v join tasks t using (tenant_id, user_id, task_id)
where v.tenant_id = $1 and v.user_id = $2 and v.session_id = $3 and v.embedding_model = $7 and {_MAY_READ}
    and v.task_id not in (select task_id from latest)
order by v.embedding <=> $8 limit $9
"""
_SUMMARISE = """
update sessions set summary = $4, summary_rights = $5
where tenant_id = $1 and user_id = $2 and session_id = $3
"""


async def lock(tx: Transaction, session_id: UUID) -> bool:
    """Hold a session until the transaction ends, so that two turns do not summarise at once; False = it is gone."""
    return await tx.driver.fetchval(_LOCK, *_whose(tx), session_id) is not None


async def keep(
    tx: Transaction, session_id: UUID, turn: RememberedTurn, content: str, embedding_model: str, embedding: Embedding,
    *, max_turns: int,
) -> None:  # fmt: skip
    """Remember a turn by the vector of `content`; of a session the last `max_turns` are kept."""
    told = dump({"question": turn.question, "gist": turn.gist})
    await tx.driver.execute(
        _KEEP, *_whose(tx), session_id, turn.task_id, turn.agent, content, embedding_model, embedding, told
    )
    await tx.driver.execute(_TRIM, *_whose(tx), session_id, max_turns)


async def turns(tx: Transaction, session_id: UUID, limit: int) -> list[tuple[RememberedTurn, Rights]]:
    """The last remembered turns the caller may still read, oldest first, each with its rights."""
    rows = await tx.driver.fetch(_TURNS, *_whose(tx), session_id, *_rights(tx), limit)
    return [
        (
            RememberedTurn(task_id=row["task_id"], agent=row["agent_id"], **row["metadata"]),
            (row["scopes"], row["departments"]),
        )
        for row in reversed(rows)
    ]


async def summarise(tx: Transaction, session_id: UUID, summary: str, rights: Rights) -> None:
    """Replace a session's summary; `rights` are those of all turns in it."""
    told = dump({"scopes": rights[0], "departments": rights[1]})
    await tx.driver.execute(_SUMMARISE, *_whose(tx), session_id, summary or None, told if summary else None)


async def nearest(
    tx: Transaction, session_id: UUID, embedding_model: str, embedding: Embedding, *, beyond: int, limit: int
) -> tuple[Message, ...]:
    """The turns before the last `beyond` ones that lie nearest to a question, oldest first, as recalled messages."""
    rows = await tx.driver.fetch(
        _NEAREST, *_whose(tx), session_id, *_rights(tx), beyond, embedding_model, embedding, limit
    )
    messages: list[Message] = []
    for row in sorted(rows, key=lambda row: row["created_at"]):
        asked, meaning = row["question"] or "", row["meaning"] or ""
        messages.append(
            Message(role="user", content=asked, meaning=meaning, timestamp=row["created_at"], is_recalled=True)
        )
        if row["gist"]:
            messages.append(
                Message(role="assistant", content=row["gist"], timestamp=row["completed_at"], is_recalled=True)
            )
    return tuple(messages)


def _whose(tx: Transaction) -> tuple[UUID, UUID]:
    return tx.principal.tenant_id, tx.principal.user_id


def _rights(tx: Transaction) -> tuple[Sequence[str], Sequence[str]]:
    return sorted(tx.principal.scopes), sorted(tx.principal.departments)
