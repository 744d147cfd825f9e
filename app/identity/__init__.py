"""Who there is and how programs come in: people and keys of a tenant."""

from collections.abc import Awaitable, Callable

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.storage.keys import KeyRights
from app.storage.sign_ins import SignedIn

RightsToday = Callable[[Principal], Awaitable[Principal | None]]
"""What a user may do now; None or a refusal = nothing."""


async def speaking_as(grant: KeyRights | SignedIn, rights_today: RightsToday) -> Principal | None:
    """The user of a key or sign-in with what it gives of the rights that user has now; None for who is gone or shut
    out. Raises `AppError` (503) when the database is away."""
    try:
        today = await rights_today(Principal.without_rights(grant.tenant_id, grant.user_id))
    except AppError as refused:
        if refused.code in (ErrorCode.PERMISSION_DENIED, ErrorCode.UNAUTHENTICATED):
            return None
        raise
    return None if today is None else grant.principal(today)
