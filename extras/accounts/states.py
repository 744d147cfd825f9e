"""Who of a company has an account, or a link for one; no secret is in it."""

from datetime import datetime
from uuid import UUID

from app.domain.principal import Principal
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.storage.database import Database

_MOST = 10_000
_STATES = f"""
select coalesce(a.user_id, i.user_id) as user_id, a.set_at, coalesce(a.has_totp, false) as has_codes,
    case when i.used_at is null and i.expires_at > now() then i.expires_at end as invited_until
from (select user_id, set_at, has_totp from accounts where tenant_id = $1) a
full join (select user_id, expires_at, used_at from invitations where tenant_id = $1) i on i.user_id = a.user_id
order by 1 limit {_MOST}
"""


class AccountState(Record):
    """What is known of somebody's account."""

    user_id: UUID
    set_at: datetime | None
    """When the password was set last; null without one."""
    has_codes: bool
    invited_until: datetime | None
    """Until when a link holds that was not used yet; null without one."""


async def states(database: Database, caller: Principal) -> list[AccountState]:
    """Those of the caller's company that have or had a link, for administrators and auditors. Raises `AppError`
    (403)."""
    if not caller.roles & {"admin", "auditor"}:
        detail = "Only administrators and auditors of the company see who has an account: ask one of them for the role."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
    async with database.principal_scope(caller, durable=False) as tx:
        return [AccountState.model_validate(dict(row)) for row in await tx.driver.fetch(_STATES, caller.tenant_id)]
