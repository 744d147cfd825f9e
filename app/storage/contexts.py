"""Rows of ``agent_contexts``: what the agents of a session were given to work with, by the hash of each piece.

A person's own, like the session they belong to; they go when the session goes.
"""

from collections.abc import Mapping
from uuid import UUID

from app.domain.tasks import PrivateContext
from app.storage.database import Transaction
from app.storage.json_text import dump

_KEPT = 20
"""Contexts of one agent in one session; the oldest go first."""
_KEEP = """
insert into agent_contexts as known (tenant_id, user_id, session_id, agent_id, context_data)
select $1, $2, $3, * from unnest($4::text[], $5::jsonb[])
on conflict (tenant_id, user_id, session_id, agent_id) do update set
    updated_at = clock_timestamp(),
    context_data = excluded.context_data || coalesce((
        select jsonb_object_agg(kept.key, kept.value) from (
            select key, value from jsonb_each(known.context_data) order by value ->> 'at' desc limit $6
        ) kept where not excluded.context_data ? kept.key
    ), '{}')
"""


async def keep(tx: Transaction, session_id: UUID, contexts: Mapping[str, list[PrivateContext]], at: str) -> None:
    """Remember what each agent will need; one statement. `at` is an ISO time in UTC."""
    rows = {
        agent: {one.context_hash: {"at": at, "context": one.model_dump(mode="json")} for one in given}
        for agent, given in sorted(contexts.items())
    }
    if rows:
        await tx.driver.execute(
            _KEEP, tx.principal.tenant_id, tx.principal.user_id, session_id, list(rows),
            [dump(one) for one in rows.values()], _KEPT,
        )  # fmt: skip
