"""The audit of a company: for administrators, and for people with the role auditor, who see nothing else of its
administration."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime, Field

from app.api.deps import Caller, Services
from app.api.schemas import Label, Problem, View
from app.domain.principal import Principal, user_id_of
from app.storage.audit import AuditEntry, Wanted
from app.trust.reading import demand_auditor, read_page

router = APIRouter(tags=["administration"], responses={403: {"model": Problem}})
Moment = Annotated[AwareDatetime, Field(ge=datetime(2000, 1, 1, tzinfo=UTC), lt=datetime(3000, 1, 1, tzinfo=UTC))]


class AuditPage(View):
    """Acts, newest first."""

    entries: tuple[AuditEntry, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


def auditor_of(caller: Caller) -> Principal:
    """The caller, who may read the audit. Raises `AppError` (403)."""
    demand_auditor(caller)
    return caller


@router.get("/audit", summary="Who did what")
async def read(
    caller: Annotated[Principal, Depends(auditor_of)],
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
