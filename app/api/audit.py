"""The audit of a company: for administrators, and for people with the role auditor, who see nothing else of its
administration."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.deps import Caller, Services
from app.api.schemas import Label, Moment, Problem, View
from app.domain.principal import user_id_of
from app.storage.audit import AuditEntry, Wanted
from app.trust.chain import Verified, verify
from app.trust.reading import demand_auditor, read_page

router = APIRouter(tags=["administration"], responses={403: {"model": Problem}})


class AuditPage(View):
    """Acts, newest first."""

    entries: tuple[AuditEntry, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


@router.get("/audit", summary="Who did what")
async def read(
    caller: Caller,
    services: Services,
    action: Annotated[Label | None, Query(description="For example read_task")] = None,
    user: Annotated[Label | None, Query(description="Name or id of who acted")] = None,
    since: Annotated[Moment | None, Query(alias="from", description="Acts at this time or later")] = None,
    until: Annotated[Moment | None, Query(alias="to", description="Acts before this time")] = None,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> AuditPage:
    """Of the own company, newest first: questions with the ids of the documents their answers cite, reading somebody
    else's run, stopping and repeating runs, decisions, documents that came, changed and went, rights that changed,
    sign-ins that were refused. Ids and rights, never text. Nobody changes a row; `conclave audit verify` shows it."""
    user_id = None if user is None else user_id_of(caller.tenant_id, user)
    wanted = Wanted(action=action, user_id=user_id, since=since, until=until)
    entries, further = await read_page(services.database, caller, wanted, cursor, limit)
    return AuditPage(entries=entries, next_cursor=further)


@router.get("/audit/chain", summary="Whether nobody changed the audit")
async def check_chain(caller: Caller, services: Services) -> Verified:
    """Computes the chain of the own company anew, as `conclave audit verify` does, and names the first row that was
    changed, removed or added. Reads all of it: seconds for a million rows. Only a copy kept elsewhere shows a chain
    that was made anew from some row on."""
    demand_auditor(caller)
    return await verify(services.database, caller)
