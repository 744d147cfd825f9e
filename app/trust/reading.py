"""Who may read the audit, and a page of it."""

from pydantic import TypeAdapter

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.storage import audit
from app.storage.audit import AuditEntry, Wanted
from app.storage.database import Database
from app.storage.paging import cut_page, read_cursor

AUDITOR = "auditor"
"""The role that reads the audit of its company, and nothing else of its administration."""
_PLACE: TypeAdapter[int] = TypeAdapter(int)


def demand_auditor(caller: Principal) -> None:
    """Refuse whoever is neither administrator nor auditor. Raises `AppError` (403), before anything is looked up."""
    if not (caller.is_admin or AUDITOR in caller.roles):
        detail = "Only administrators and auditors of the company may do this: ask with a token of one of these roles."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)


async def read_page(
    database: Database, caller: Principal, wanted: Wanted, cursor: str | None, limit: int
) -> tuple[tuple[AuditEntry, ...], str | None]:
    """List what was done in the caller's company, newest first, with the cursor of the next page. Raises `AppError`:
    403 without the role, 422 for a foreign cursor."""
    demand_auditor(caller)
    behind = read_cursor(_PLACE, cursor)
    async with database.principal_scope(caller) as tx:
        found = await audit.page(tx, wanted, behind, limit + 1)
    return cut_page(_PLACE, found, limit, lambda last: last.seq)
