"""A conversation of 1,000 messages: one answered question, written as many times as it takes."""

from uuid import UUID, uuid4

from app.main import Services

TURNS = 500
LAID_OUT = """() => [...document.querySelectorAll(".turn .answer")]
  .filter((answer) => answer.checkVisibility({ contentVisibilityAuto: true })).length"""
ELEMENTS = "document.querySelectorAll('#turns *').length"
LAST_TASK = """async () => {
  const { call } = await import("/web/client.js");
  return (await call("GET", `/sessions/${location.hash.slice(1)}`)).messages.at(-1).task_id;
}"""
_COPIES = """
insert into tasks (tenant_id, task_id, user_id, session_id, root_task_id, kind, title, request, principal, created_at)
select tenant_id, made.id, user_id, $2, made.id, kind, title,
    jsonb_set(request, '{query}', to_jsonb(made.number || '. ' || (request ->> 'query'))), principal,
    created_at + made.number * interval '1 millisecond'
from tasks, (select gen_random_uuid() as id, number from generate_series(1, $3) as number) as made
where task_id = $1
returning task_id
"""
_ANSWERED = """
update tasks t set status = 'completed', plan = f.plan, result = f.result, flow_action = f.flow_action,
    metadata = f.metadata, completed_at = t.created_at
from tasks f where f.task_id = $1 and t.task_id = any($2::uuid[])
"""
_JOURNALS = """
insert into events (tenant_id, user_id, root_task_id, seq, attempt, type, event)
select tenant_id, user_id, made.id, seq, attempt, type, event
from events, unnest($2::uuid[]) as made (id) where root_task_id = $1
"""


async def write_long_talk(house: Services, user: str, task_id: UUID, turns: int = TURNS) -> UUID:
    """A session of `user` with `turns` finished turns, each with the answer and the journal of this run; its id."""
    session_id = uuid4()
    principal = (await house.claims_of(user)).principal()
    async with house.database.principal_scope(principal) as tx:
        await tx.driver.execute(
            "insert into sessions (tenant_id, user_id, session_id, title, user_input, status)"
            " values ($1, $2, $3, 'long talk', 'long talk', 'completed')",
            principal.tenant_id, principal.user_id, session_id,
        )  # fmt: skip
        made = [row["task_id"] for row in await tx.driver.fetch(_COPIES, task_id, session_id, turns)]
        await tx.driver.execute(
            "update tasks set status = 'in_progress', attempt = 1 where task_id = any($1::uuid[])", made
        )
        await tx.driver.execute(_ANSWERED, task_id, made)
        await tx.driver.execute(_JOURNALS, task_id, made)
    return session_id
